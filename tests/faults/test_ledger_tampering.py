"""The ledger's files are cut, overwritten, replaced or taken away under those who write to them.

Nothing runs that nobody could find a record of; the refusal names the file; one command ends it, and nothing that was
acknowledged before is lost. Seen to fail on a ledger that does not look: it went on writing to files without a name.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.build import open_ledger
from interpose.engine.engine import Engine
from interpose.record.ledger import verify_directory
from interpose.record.store import open_store
from tests.e2e.processes import ServerProcess, clean_environment
from tests.support.hosts.hooked import until
from tests.support.ledgers import all_records, guarded, run, shell_call
from tests.support.timing.patience import PATIENCE

Harm = Callable[[Path], None]


def _journal(ledger: Path) -> Path:
    (found,) = ledger.glob("journals/*/*.journal")
    return found


def _truncate_journal(ledger: Path) -> None:
    _journal(ledger).write_bytes(b"")  # in place, as `: > FILE` does


def _shorten_journal(ledger: Path) -> None:
    os.truncate(_journal(ledger), _journal(ledger).stat().st_size - 5)


def _add_to_journal(ledger: Path) -> None:
    with _journal(ledger).open("ab") as file:
        file.write(b"something")


def _overwrite_header(ledger: Path) -> None:
    with _journal(ledger).open("r+b") as file:
        file.write(b"\0" * 16)


def _remove_journal(ledger: Path) -> None:
    _journal(ledger).unlink()


def _move_journal(ledger: Path) -> None:
    _journal(ledger).rename(ledger / "elsewhere")


def _copy_over_journal(ledger: Path) -> None:
    copy = ledger / "copy"
    shutil.copy(_journal(ledger), copy)
    copy.replace(_journal(ledger))


def _remove_everything(ledger: Path) -> None:
    while (ledger / "journals").exists():  # a head may be written meanwhile
        shutil.rmtree(ledger, ignore_errors=True)


def _move_everything(ledger: Path) -> None:
    ledger.rename(ledger.with_name("moved"))


def _remove_database(ledger: Path) -> None:
    (ledger / "ledger.db").unlink()


def _replace_database(ledger: Path) -> None:
    """An older copy, as it was before anything was recorded."""
    shutil.copy(ledger / "older.db", ledger / "copy.db")
    (ledger / "copy.db").replace(ledger / "ledger.db")


def _overwrite_database(ledger: Path) -> None:
    with (ledger / "ledger.db").open("r+b") as file:
        file.write(b"\0" * 100)


def _empty_database(ledger: Path) -> None:
    os.truncate(ledger / "ledger.db", 0)


def _remove_wal(ledger: Path) -> None:
    (ledger / "ledger.db-wal").unlink()


def _empty_wal(ledger: Path) -> None:
    os.truncate(ledger / "ledger.db-wal", 0)


def _overwrite_wal(ledger: Path) -> None:
    with (ledger / "ledger.db-wal").open("r+b") as file:
        file.write(b"\0" * 32)


HARMS: list[tuple[str, Harm, str]] = [
    # It has 0 bytes, or what was on its way when it was cut.
    ("journal truncated in place", _truncate_journal, ".journal has"),
    ("journal cut short", _shorten_journal, ".journal has"),
    ("journal written to by somebody else", _add_to_journal, ".journal has"),
    ("journal's header overwritten", _overwrite_header, ".journal was overwritten"),
    ("journal removed", _remove_journal, ".journal was removed"),
    ("journal moved", _move_journal, ".journal was removed"),
    ("journal replaced by a copy", _copy_over_journal, ".journal was replaced"),
    # Its journal or its database, whichever somebody looked for first when it was gone.
    ("rm -rf of the ledger", _remove_everything, "was removed or moved away"),
    ("mv of the ledger", _move_everything, "was removed or moved away"),
    ("ledger.db removed", _remove_database, "ledger.db was removed"),
    ("ledger.db replaced by an older one", _replace_database, "ledger.db was replaced"),
    ("ledger.db's header overwritten", _overwrite_database, "ledger.db was overwritten"),
    ("ledger.db truncated in place", _empty_database, "ledger.db was"),
    ("write-ahead log removed", _remove_wal, "ledger.db-wal was removed"),
    # It has 0 bytes, or a beginning of zeros if SQLite wrote on where it was before anybody looked.
    ("write-ahead log truncated", _empty_wal, "ledger.db-wal "),
    ("write-ahead log overwritten", _overwrite_wal, "ledger.db-wal was overwritten"),
]
NOTES = [harm[0] for harm in HARMS]


class Load:
    """Threads that run calls until they are told to stop, and what was answered."""

    def __init__(self, engine: Engine) -> None:
        self.acknowledged: list[str] = []
        self._end = False
        self._pace = threading.Event()
        self._engine = engine
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(2)]
        for thread in self._threads:
            thread.start()

    def _work(self, number: int) -> None:
        count = 0
        while not self._end:
            self._pace.wait(0.002)
            count += 1
            call_id = f"{number}-{count}"
            if run(self._engine, f"echo {count}", call_id=call_id) == "done":
                self.acknowledged.append(call_id)

    def end(self) -> list[str]:
        self._end = True
        for thread in self._threads:
            thread.join()
        return self.acknowledged


def _reason(engine: Engine, ran: list[Any]) -> str:
    """What is said about a call now; empty if it ran."""
    answer = engine.run_tool(shell_call("echo x"), ran.append)
    return str(answer["reason"]) if isinstance(answer, dict) else ""


def _cli(ledger: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "interpose", "audit", *words, "--ledger", str(ledger / "ledger.db")]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=clean_environment(ledger.parent)
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "ledger"
    place.mkdir()
    open_store(place / "ledger.db").close()
    shutil.copy(place / "ledger.db", place / "older.db")
    return place


@pytest.mark.parametrize(("note", "harm", "said"), HARMS, ids=NOTES)
def test_under_load_nothing_runs_unrecorded_and_one_command_ends_it(
    note: str, harm: Harm, said: str, directory: Path
) -> None:
    ran: list[Any] = []
    with open_ledger(directory) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        load = Load(engine)
        until(lambda: len(load.acknowledged) > 100)
        ledger.flush()
        harm(directory)
        until(lambda: bool(_reason(engine, [])))  # the store is looked at every ten milliseconds
        acknowledged = load.end()
        for _ in range(3):
            reason = _reason(engine, ran)
            assert reason.startswith("audit_unavailable: "), note
            assert said in reason, note
            assert "interpose audit recover" in reason
        assert not ran
        assert said in ledger.status().problem
        done = _cli(directory, "recover")
        assert done.returncode == 0, done.stderr
        until(lambda: not _reason(engine, ran))
        assert ledger.flush()
        known = {record.call_id for record in all_records(ledger.store)}
        assert not set(acknowledged) - known, (note, sorted(set(acknowledged) - known)[:5], len(acknowledged))
        found = verify_directory(directory, ledger.store)
        assert found.ok, found.broken
        assert any(said in broken.why for broken in found.known), found.known
    verified = _cli(directory, "verify")
    assert (verified.returncode, verified.stdout.split()[0]) == (0, "RECOVERED"), verified.stdout
    assert said in verified.stdout


@pytest.mark.parametrize(
    ("note", "harm", "said"),
    [
        ("journal truncated in place", _truncate_journal, ".journal has 0 bytes"),
        ("rm -rf of the ledger", _remove_everything, "was removed or moved away"),
        ("ledger.db removed", _remove_database, "ledger.db was removed"),
    ],
)
def test_a_server_refuses_reports_and_goes_on(note: str, harm: Harm, said: str, tmp_path: Path) -> None:
    place = tmp_path / ".local" / "state" / "interpose" / "ledger"
    environment = clean_environment(tmp_path)

    def interpose(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "interpose", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, env=environment)

    with ServerProcess(tmp_path) as server:

        def said_now() -> str:
            return json.dumps(server.intercept("ls"))

        assert "audit_unavailable" not in said_now()
        harm(place)
        until(lambda: "audit_unavailable" in said_now())
        assert said in interpose("status").stdout
        doctor = interpose("doctor")
        assert (doctor.returncode, said in doctor.stdout) == (1, True)
        assert interpose("audit", "recover").returncode == 0
        until(lambda: "audit_unavailable" not in said_now())
        assert said not in interpose("status").stdout
