"""Time that does not go back, for questions and grants."""

from __future__ import annotations

import asyncio
from pathlib import Path

from interpose.core.answers import Approved, Edited, Pending
from interpose.core.types import Context, Deny, PermissionRequest, ToolCall
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.latest_time import LatestTime, keep_time, kept_time
from interpose.people.approvals.scopes import scope
from interpose.people.approvals.seal import new_seal
from interpose.record.store import open_store

SECOND = 1_000_000_000
HOUR = 3600 * SECOND
NOON = 1_790_000_000 * SECOND


class Clocks:
    """The clock that can be set, and the one that can't."""

    def __init__(self) -> None:
        self.wall, self.steady = NOON, 5 * SECOND

    def pass_by(self, time_ns: int) -> None:
        self.wall += time_ns
        self.steady += time_ns

    def time(self) -> LatestTime:
        return LatestTime(lambda: self.wall, lambda: self.steady)


def test_time_goes_on_when_the_clock_is_set_back() -> None:
    clocks = Clocks()
    now = clocks.time()
    clocks.wall -= 10 * HOUR
    assert now() == NOON
    clocks.pass_by(HOUR)
    assert now() == NOON + HOUR, "else nothing would end until the clock is right again"
    clocks.wall = NOON + 2 * HOUR
    assert now() == NOON + 2 * HOUR


def test_what_was_learned_holds_unless_no_grant_lasts_so_long(tmp_path: Path) -> None:
    clocks = Clocks()
    now = clocks.time()
    now.learn(NOON + HOUR)
    assert now() == NOON + HOUR
    now.learn(NOON)
    now.learn(NOON + 24 * 365 * HOUR)
    assert now() == NOON + HOUR
    keep_time(tmp_path / "deep" / "time", now())
    assert kept_time(tmp_path / "deep" / "time") == NOON + HOUR
    assert kept_time(tmp_path / "none") == 0


def test_a_clock_that_goes_back_revives_neither_grants_nor_questions(tmp_path: Path) -> None:
    clocks, seal, store = Clocks(), new_seal(), open_store(tmp_path / "ledger.db")

    def desk(known_ns: int = 0) -> Desk:
        """A server that was just started."""
        now = clocks.time()
        now.learn(known_ns)
        return Desk(store, timeout=300, key=b"k", seal=seal, clock=now)

    def ask(at: Desk, command: str = "push") -> Approved | Deny | Pending | Edited:
        call = ToolCall("exec", {"command": command}, context=Context(session_id="s"))
        return asyncio.run(at.waiting().confirm(PermissionRequest("?", call)))

    first = desk()
    pending, late = ask(first), ask(first, "other")
    assert isinstance(pending, Pending)
    assert isinstance(late, Pending)
    first.approve(pending.approval, "ann", scope("uses", uses=5))
    assert isinstance(ask(first), Approved)
    clocks.pass_by(25 * HOUR)
    assert isinstance(ask(first), Pending), "it is over"
    seen = clocks.wall
    clocks.wall -= 25 * HOUR
    for again in (first, desk(seen)):
        assert isinstance(ask(again), Pending), "and stays so"
        assert again.grants() == []
        assert late.approval not in [question.id for question in again.asked()]
    store.close()


def test_a_grant_from_a_time_to_come_is_none(tmp_path: Path) -> None:
    """As it is when the clock was set back by more than grants last, and nothing tells how late it was."""
    clocks, seal, store = Clocks(), new_seal(), open_store(tmp_path / "ledger.db")
    first = Desk(store, timeout=300, key=b"k", seal=seal, clock=clocks.time())
    call = ToolCall("exec", {"command": "push"}, context=Context(session_id="s"))
    asked = PermissionRequest("?", call)
    pending = asyncio.run(first.waiting().confirm(asked))
    assert isinstance(pending, Pending)
    first.approve(pending.approval, "ann", scope("uses", uses=5))
    clocks.wall -= 24 * 365 * HOUR
    after = Desk(store, timeout=300, key=b"k", seal=seal, clock=clocks.time())
    assert isinstance(asyncio.run(after.waiting().confirm(asked)), Pending)
    assert "has not come yet" in after.grants()[0].problem
    assert len(after.alarms.texts()) == 1
    store.close()
