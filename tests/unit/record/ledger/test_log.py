"""The log has a line for each decision and each outcome, and a log that fails stops nobody unless it was told to."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path
from typing import Any, Literal

import pytest

from interpose.composition.build import open_ledger
from interpose.core.formats.log_file import LogFile
from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings, LogSettings
from tests.support.ledgers import all_records, guarded, run, shell_call

KEY = "AKIA" + "QWERTYUIOPASDFGH"


def logged(path: str = "audit.log", **settings: Any) -> LedgerSettings:
    return LedgerSettings(log=LogSettings(path=path, **settings), deadline=1)


def engine(ledger: Ledger) -> Engine:
    return Engine(guarded(), recorder=ledger.recorder)


def test_calls_and_outcomes_have_a_line_without_secrets(tmp_path: Path) -> None:
    with open_ledger(tmp_path, logged()) as ledger:
        run(engine(ledger), f"echo {KEY}", call_id="one")
        run(engine(ledger), "rm -rf /\nforged line", call_id="two")
    lines = (tmp_path / "audit.log").read_text().splitlines()
    assert [line.split()[2] for line in lines] == ["allow", "success", "deny", "denied"]
    assert KEY not in "".join(lines)
    assert "no-rm" in lines[2]
    assert all(line.endswith(("[one]", "[two]")) for line in lines)


def test_it_rotates_as_it_is_told(tmp_path: Path) -> None:
    with open_ledger(tmp_path, logged("logs.d/a.log", max_bytes=300, archives=2)) as ledger:
        assert ledger.status().log_problem == ""
        for number in range(20):
            run(engine(ledger), f"echo {number}")
    assert sorted(path.name for path in (tmp_path / "logs.d").iterdir()) == ["a.log", "a.log.1", "a.log.2"]


class Unwritable(LogFile):
    """A log on storage that is full, or hangs."""

    full = True
    free = threading.Event()

    def write(self, line: str) -> None:
        if not self.free.wait(10) or self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(line)


@pytest.fixture
def unwritable(monkeypatch: pytest.MonkeyPatch) -> type[Unwritable]:
    monkeypatch.setattr("interpose.record.ledger.log.LogFile", Unwritable)
    monkeypatch.setattr(Unwritable, "full", True)
    monkeypatch.setattr(Unwritable, "free", threading.Event())
    Unwritable.free.set()
    return Unwritable


def test_a_log_that_fails_is_said_and_stops_nobody(tmp_path: Path, unwritable: type[Unwritable]) -> None:
    ledger = open_ledger(tmp_path, logged())
    assert run(engine(ledger), "ls") == "done"
    ledger.close()
    assert "audit.log: the disk is full" in ledger.status().log_problem
    assert (ledger.status().log_lost, ledger.status().problem) == (2, "")


@pytest.mark.parametrize("on_failure", ["deny", "allow"])
def test_a_log_that_hangs(tmp_path: Path, unwritable: type[Unwritable], on_failure: Literal["deny", "allow"]) -> None:
    """Whoever must have the line waits for it, no longer than the deadline; nobody else does."""
    unwritable.full = False
    unwritable.free.clear()
    settings = LedgerSettings(log=LogSettings(path="a.log", on_failure=on_failure), deadline=0.2)
    with open_ledger(tmp_path, settings) as ledger:
        answer = run(engine(ledger), "ls")
        assert (answer == "done") == (on_failure == "allow")
        unwritable.free.set()


def test_a_log_that_must_be_written_refuses_and_recovers(tmp_path: Path, unwritable: type[Unwritable]) -> None:
    with open_ledger(tmp_path, logged(on_failure="deny")) as ledger:
        assert run(engine(ledger), "ls", call_id="refused")["reason"].startswith("audit_unavailable: ")
        unwritable.full = False
        assert run(engine(ledger), "ls", call_id="ran") == "done"
        ledger.flush()
        assert {one.call_id: (one.decision, one.outcome) for one in all_records(ledger.store)} == {
            "refused": ("deny", "denied"),
            "ran": ("allow", "success"),
        }
    assert ledger.status().log_problem == ""


def test_async_callers_wait_for_record_and_line(tmp_path: Path) -> None:
    async def all_at_once(running: Engine) -> list[Any]:
        return await asyncio.gather(
            *[running.arun_tool(shell_call(f"echo {number}"), lambda _arguments: "done") for number in range(20)]
        )

    with open_ledger(tmp_path, LedgerSettings(log=LogSettings(path="a.log", on_failure="deny"), deadline=30)) as ledger:
        assert asyncio.run(all_at_once(engine(ledger))) == ["done"] * 20
        assert len((tmp_path / "a.log").read_text().splitlines()) == 40
