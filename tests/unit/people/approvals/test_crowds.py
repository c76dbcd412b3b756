"""More questions than anybody can answer, and more callers than can wait."""

from __future__ import annotations

import asyncio

import pytest

from interpose.core.answers import Pending
from interpose.core.types import Context, Deny
from interpose.people.approvals import desk as desk_module
from interpose.record.store.protocols import Store
from tests.support.timing.patience import PATIENCE
from tests.unit.people.approvals.test_desk import Clock, ask, made, queued, request

OTHER = Context(session_id="s2", principal="user:bob", cwd="/work")


def test_a_session_that_asks_without_end_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "MOST_OF_A_SESSION", 2)
    clock = Clock()
    desk = made(store, clock)
    first = queued(desk, request("git push 1"))
    queued(desk, request("git push 2"))
    refused = ask(desk, request("git push 3"))
    assert isinstance(refused, Deny), refused
    assert refused.rule == "approval-queue-full"
    assert "2 questions of this session wait" in refused.reason
    assert queued(desk, request("git push 1")) == first, "what was asked already is no new question"
    queued(desk, request("git push 3", OTHER))
    assert len(desk.asked()) == 3

    desk.deny(first, "ann")
    queued(desk, request("git push 3"))
    assert isinstance(ask(desk, request("git push 4")), Deny)
    clock.pass_by(301)
    queued(desk, request("git push 4"))


def test_many_sessions_do_not_get_past_the_limit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "MOST_WAITING", 3)
    desk = made(store, Clock())
    for number in range(3):
        queued(desk, request("git push", Context(session_id=f"s{number}")))
    refused = ask(desk, request("git push", Context(session_id="one more")))
    assert isinstance(refused, Deny), refused
    assert refused.rule == "approval-queue-full"
    assert refused.reason.startswith("3 questions wait for an answer already")


def test_only_so_many_wait(store: Store) -> None:
    """Each who waits holds a connection: who finds no room is told of the question at once, and may come again."""
    desk = made(store, Clock(), waiters=2)

    async def crowd() -> None:
        waiting = [asyncio.create_task(desk.waiting(60).confirm(request(f"git push {number}"))) for number in range(2)]
        while not desk.crowded:
            await asyncio.sleep(0)
        turned_away = await asyncio.wait_for(desk.waiting(60).confirm(request("git push 3")), PATIENCE)
        assert isinstance(turned_away, Pending)
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert not desk.crowded, "who is gone makes room"

    asyncio.run(crowd())
