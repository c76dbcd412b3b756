"""Kill a process that records calls, again and again, and see what is left. For tests and scripts/kill-ledger."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from interpose.composition.build import open_ledger
from interpose.record.ledger import verify_directory
from interpose.record.ledger.record import records
from interpose.record.store.protocols import EntryStore

ROOT = Path(__file__).parents[2]


class Killed(Struct, frozen=True):
    """What a kill left behind: calls that were acknowledged, those of them without a whole record, and the repairs."""

    acknowledged: int
    lost: int
    verified: bool
    repairs: int


def acknowledged_by(directory: Path, level: str, *options: str, kill_after: int) -> list[str]:
    """Start a process over this ledger, kill it after so many acknowledgements, and say what they were."""
    command = [sys.executable, "-m", "tests.faults.ledger_child", str(directory), level, *options]
    acknowledged: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        for line in child.stdout:
            acknowledged.append(line.decode().strip())
            if len(acknowledged) >= kill_after:
                child.kill()
                break
        # What it said before it died counts too; the last line may be half a line.
        acknowledged += [line.decode().strip() for line in child.stdout if line.endswith(b"\n")]
    assert child.returncode == -9, "the process ended by itself"
    return acknowledged


def without_record(store: EntryStore, acknowledged: Iterable[str]) -> set[str]:
    """Acknowledged calls that have no whole record."""
    calls = list(acknowledged)
    return set(calls) - {record.call_id for record in records(store.of_calls(calls)) if record.outcome == "success"}


def kill_once(directory: Path, seed: int, level: str = "written", *options: str) -> Killed:
    """Kill a process after a random number of acknowledgements, and open its ledger again."""
    wanted = random.Random(seed).randrange(1, 800)
    acknowledged = acknowledged_by(directory, level, *options, kill_after=wanted)
    with open_ledger(directory) as ledger:
        found = verify_directory(directory, ledger.store)
        lost = without_record(ledger.store, acknowledged)
    return Killed(len(acknowledged), len(lost), found.ok, found.repairs)


def main() -> None:
    """Kill as often as the first argument says."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    acknowledged = lost = broken = repairs = 0
    for number in range(times):
        if number % 25 == 0:
            directory = Path(tempfile.mkdtemp(prefix="kill-ledger-"))
            repairs_before = 0
        killed = kill_once(directory, number, "written" if number % 2 else "durable")
        acknowledged += killed.acknowledged
        lost += killed.lost
        broken += not killed.verified
        repairs += killed.repairs - repairs_before
        repairs_before = killed.repairs
    counts = f"{acknowledged} acknowledged, {lost} lost, {broken} broken chains, {repairs} torn ends repaired"
    sys.stdout.write(f"{times} kills, {counts}\n")
    sys.exit(bool(lost or broken))


if __name__ == "__main__":
    main()
