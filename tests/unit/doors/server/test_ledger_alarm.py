"""Problems of the ledger in the server's log."""

from __future__ import annotations

import asyncio
import logging

import pytest

from interpose.doors.server import ledger_alarm as alarms
from interpose.doors.server.ledger_alarm import LedgerAlarm
from interpose.record.ledger.ledger import LedgerStatus
from tests.support.timing.patience import PATIENCE


def status(problem: str = "", log_problem: str = "") -> LedgerStatus:
    return LedgerStatus(
        recorded=1, late=0, lost=0, problem=problem, log_lost=0, log_problem=log_problem, retention_problem=""
    )


def test_a_problem_is_said_when_it_begins_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    gone = status("", "gone")
    looks = iter([status(), status("No space left"), status("No space left here"), gone, gone, status(), status()])
    alarm = LedgerAlarm(lambda: next(looks))
    with caplog.at_level(logging.INFO, "interpose.ledger"):
        for _ in range(7):
            alarm.look()
    assert [(found.levelname, found.getMessage()) for found in caplog.records] == [
        ("ERROR", "the ledger fails: No space left"),
        ("WARNING", "the ledger works again"),
        ("ERROR", "the log of decisions fails: gone"),
        ("WARNING", "the log of decisions works again"),
    ]


def test_it_looks_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarms, "EVERY", 0.0)

    async def main() -> None:
        enough = asyncio.Event()
        seen: list[int] = []

        def look() -> LedgerStatus:
            seen.append(1)
            if len(seen) == 3:
                enough.set()
            return status()

        watching = asyncio.create_task(LedgerAlarm(look).watch())
        await asyncio.wait_for(enough.wait(), PATIENCE)
        watching.cancel()

    asyncio.run(main())
