"""Mixed calls of many threads while storage, store and process come and go. For tests and scripts/mix-ledger.

    python -m tests.faults.ledger_mixed [CALLS]

The calls are made by a process of its own that says how each ended, and that is killed now and then; the next one goes
on where it was. Its journal's disk is full, fails or hangs in between, and the PostgreSQL under it is restarted.
"""

from __future__ import annotations

import errno
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from interpose.core.types import ToolCall
from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings, verify_directory
from interpose.record.store import open_store
from tests.support.ledgers import Faulty, all_records, guarded, shell_call
from tests.support.servers.postgres import Server

ROOT = Path(__file__).parents[2]
THREADS = 8
DEADLINE = 0.3
_FAULTS = ("none", "none", "full", "broken", "hangs")
_CALLS_PER_FAULT = 300


class Mixed(Struct, frozen=True):
    """`wrong` are the calls whose record is not what their callers were told; `outcomes` counts those that are right.

    `unrecorded` counts refusals because the storage failed: they were recorded when it was back.
    """

    calls: int
    outcomes: dict[str, int]
    wrong: tuple[str, ...]
    unrecorded: int
    kills: int
    restarts: int
    repairs: int
    verified: bool


def _failing(_arguments: dict[str, Any]) -> Any:
    raise ValueError("the tool failed")


def _call(call_id: str) -> tuple[ToolCall, Any]:
    kind = random.Random(call_id).randrange(4)
    command = "rm -rf /" if kind == 0 else f"echo {call_id}"
    return shell_call(command, call_id=call_id), _failing if kind == 1 else lambda _arguments: {"exit_code": 0}


def _word(answer: Any) -> str:
    match answer:
        case {"status": "blocked", "reason": str(reason)} if reason.startswith("audit_unavailable"):
            return "unrecorded"
        case {"status": "blocked"}:
            return "denied"
        case {"status": "error"}:
            return "error"
        case _:
            return "success"


class Caller:
    """The process that makes the calls."""

    def __init__(self, ledger: Ledger, faulty: Faulty) -> None:
        self._ledger, self._faulty = ledger, faulty
        self._engine = Engine(guarded(), recorder=ledger.recorder)
        self._chance = random.Random()
        self._lock, self._settling = threading.Lock(), threading.Lock()
        self._made = self._changes = 0
        self._sound = True

    def work(self, thread: int, numbers: range) -> None:
        for number in numbers:
            call, tool = _call(f"{thread}-{number}")
            was_sound, changes = self._sound, self._changes
            word = _word(self._engine.run_tool(call, tool))
            if word == "unrecorded":
                self._faulty.gate.set()  # what hangs, hangs until somebody was refused for it
            with self._lock:
                self._made += 1
                change = self._made % _CALLS_PER_FAULT == 0
                # While storage fails, refusals and outcomes are answered before they are recorded.
                sure = was_sound and changes == self._changes
                self._say(f"{thread} {number} {word} {'sure' if sure else 'unsure'}")
            if change:
                self._next_fault()

    def _next_fault(self) -> None:
        with self._settling:
            fault = self._chance.choice(_FAULTS)
            if fault == "none":
                self.end_faults()
                self._settle()
                return
            self._sound = False
            self._changes += 1
            self._faulty.error = {"full": errno.ENOSPC, "broken": errno.EIO}.get(fault, 0)
            self._faulty.partial = bool(self._faulty.error) and self._chance.random() < 0.5
            if fault == "hangs":
                self._faulty.gate.clear()

    def _settle(self) -> None:
        """Say which answers are safe now: all that were said before the ledger was asked to write everything."""
        with self._lock:
            self._say("asked")
        if self._ledger.flush(60):
            with self._lock:
                self._sound = True
                self._say("settled")

    def end(self) -> None:
        self.end_faults()
        self._settle()

    def end_faults(self) -> None:
        self._faulty.error, self._faulty.partial = 0, False
        self._faulty.gate.set()

    def _say(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def make_calls(directory: Path, url: str, calls: int, starts: list[int]) -> None:
    """The calls that are left, of all threads."""
    faulty, store = Faulty(), open_store(url or directory / "ledger.db")
    settings = LedgerSettings(checkpoint_every=200, deadline=DEADLINE)
    with Ledger(directory, store, settings, journals=faulty.folder, segment_bytes=1 << 20, owns_store=True) as ledger:
        caller = Caller(ledger, faulty)
        numbers = [range(start, calls // THREADS) for start in starts]
        threads = [threading.Thread(target=caller.work, args=work) for work in enumerate(numbers)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        caller.end()


class Told:
    """What callers were told so far. What they were told while storage failed counts when it is recorded."""

    def __init__(self) -> None:
        self.answers: dict[str, str] = {}
        self.next = [0] * THREADS
        self.unrecorded = 0
        self._unsure: list[tuple[int, int]] = []
        self._asked = 0

    def hear(self, line: str) -> None:
        if line == "asked":
            self._asked = len(self._unsure)
        elif line == "settled":
            del self._unsure[: self._asked]
            self._asked = 0
        else:
            thread, number, word, sure = line.split()
            self.next[int(thread)] = int(number) + 1
            self.unrecorded += word == "unrecorded"
            if sure == "unsure":
                self._unsure.append((int(thread), int(number)))
            self.answers[f"{thread}-{number}"] = "denied" if word == "unrecorded" else word

    def killed(self) -> None:
        """Nobody knows whether what was not written yet is: those calls are made again."""
        for thread, number in self._unsure:
            self.next[thread] = min(self.next[thread], number)
        self._unsure, self._asked = [], 0


def mixed(directory: Path, calls: int, *, kills: int, server: Server | None = None, restarts: int = 0) -> Mixed:
    """Make this many calls, over SQLite or over a database of the server."""
    url = server.new_database() if server else ""
    chance, told = random.Random(calls), Told()
    planned = sorted(
        [(chance.randrange(calls // 10, calls), "kill") for _ in range(kills)]
        + [(chance.randrange(calls // 10, calls), "restart") for _ in range(restarts)]
    )
    ended = False
    while not ended:
        with _caller(directory, url, calls, told.next) as child:
            assert child.stdout is not None
            for line in _whole_lines(child.stdout):
                told.hear(line)
                if planned and len(told.answers) >= planned[0][0]:
                    match planned.pop(0)[1]:
                        case "kill":
                            child.kill()
                        case _:
                            assert server is not None
                            server.restart("immediate")
        ended = child.returncode == 0
        assert ended or child.returncode == -9, f"the process ended with {child.returncode}"
        if not ended:
            told.killed()
    store = open_store(url or directory / "ledger.db")
    try:
        found = {record.call_id: record.outcome for record in all_records(store)}
        verified = verify_directory(directory, store)
    finally:
        store.close()
    made = {f"{thread}-{number}" for thread in range(THREADS) for number in range(calls // THREADS)}
    wrong = tuple(sorted(call for call in made | found.keys() if found.get(call) != told.answers.get(call)))
    outcomes = Counter[str](outcome for call, outcome in found.items() if call not in wrong)
    return Mixed(
        len(made),
        dict(outcomes),
        wrong,
        told.unrecorded,
        kills,
        restarts,
        verified.repairs,
        verified.ok and not planned,
    )


def _caller(directory: Path, url: str, calls: int, starts: list[int]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.faults.ledger_mixed", "calls", str(directory), url, str(calls)]
    return subprocess.Popen([*command, *map(str, starts)], stdout=subprocess.PIPE, cwd=ROOT)


def _whole_lines(stream: IO[bytes]) -> Iterator[str]:
    """What a killed process said; its last line may be half a line."""
    for line in stream:
        if line.endswith(b"\n"):
            yield line.decode().strip()


def main() -> None:
    """As many calls as the first argument says."""
    if sys.argv[1:2] == ["calls"]:
        make_calls(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), [int(text) for text in sys.argv[5:]])
        return
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    failed = False
    with Server() as server:
        for store in (None, server):
            with tempfile.TemporaryDirectory() as place:
                result = mixed(
                    Path(place), calls // 2, kills=calls // 5000, server=store, restarts=calls // 20_000 if store else 0
                )
            sys.stdout.write(f"{'PostgreSQL' if store else 'SQLite'}: {result}\n")
            failed = failed or bool(result.wrong) or not result.verified
    sys.exit(failed)


if __name__ == "__main__":
    main()
