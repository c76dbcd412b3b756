"""A clock that jumps removes nothing; one that goes on from there is believed after a day."""

from __future__ import annotations

from pathlib import Path
from time import time_ns

import pytest

import interpose.record.ledger.retention as retention
from interpose.engine.engine import Engine
from interpose.record.ledger import Ledger, LedgerSettings, retain
from interpose.record.ledger.steady_clock import DAY_NS, SteadyClock
from tests.support.ledgers import ListStore, all_records, guarded, run

YEAR = 365 * DAY_NS
HOUR = DAY_NS // 24


def test_a_jump_is_not_believed_until_the_clock_has_gone_on_for_a_day(tmp_path: Path) -> None:
    start = 50 * YEAR
    assert SteadyClock(tmp_path).now(start + HOUR, start) == start + HOUR
    jumped = start + 10 * YEAR
    for hours in range(24):
        clock = SteadyClock(tmp_path)  # another process each time
        assert clock.now(jumped + hours * HOUR, jumped) == start + HOUR
        assert "jumped" in clock.problem
    clock = SteadyClock(tmp_path)
    assert clock.now(jumped + 24 * HOUR, jumped) == jumped + 24 * HOUR
    assert clock.problem == ""


def test_a_jump_that_is_taken_back_leaves_nothing_behind(tmp_path: Path) -> None:
    start = 50 * YEAR
    clock = SteadyClock(tmp_path)
    clock.now(start, start)
    assert clock.now(start + YEAR, start) == start
    assert clock.now(start + HOUR, start) == start
    for hours in range(1, 26):
        now = clock.now(start + hours * HOUR, start)
    assert now == start + 25 * HOUR


def test_a_first_look_long_after_the_last_record_waits(tmp_path: Path) -> None:
    assert SteadyClock(tmp_path).now(51 * YEAR, 50 * YEAR) == 50 * YEAR


def test_no_record_goes_when_the_clock_jumps_by_years(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ListStore()
    with Ledger(tmp_path, store) as ledger:
        engine = Engine(guarded(), recorder=ledger.recorder)
        for number in range(20):
            run(engine, f"echo {number}")
        ledger.flush()
        ledger.settings = LedgerSettings(max_age_days=30)
        assert retain(ledger) == 0
        now = time_ns()
        monkeypatch.setattr(retention, "time_ns", lambda: now + 10 * YEAR)
        monkeypatch.setattr("interpose.record.ledger.bodies.time_ns", lambda: now + 10 * YEAR)
        run(engine, "echo after the jump")
        ledger.flush()
        assert retain(ledger) == 0
        assert len(all_records(store)) == 21
        size = store.size()
        ledger.settings = LedgerSettings(max_bytes=int(size * 0.95))
        retain(ledger)
        assert len(all_records(store)) >= 12, "what is too much goes in the order in which it came"
