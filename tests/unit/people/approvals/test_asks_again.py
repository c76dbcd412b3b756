"""Why a question is asked again: which argument, effect or place differs from what was granted."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interpose.core.types import Context, PermissionRequest, ToolCall
from interpose.people.approvals.asks_again import AsksAgain, asks_again
from interpose.people.approvals.desk import Desk
from interpose.people.approvals.scopes import SESSION, scope
from interpose.record.store.protocols import Store
from tests.unit.people.approvals.test_desk import HERE, Clock, ask, made, queued
from tests.unit.people.approvals.test_kind_grants import request


def why(desk: Desk, id: str) -> AsksAgain | None:
    kept, _ = desk.kept(id)
    return asks_again(desk.question(id), desk.recent(), desk.kinds_granted(kept))


def of_tool(tool: str, context: Context = HERE, **arguments: Any) -> PermissionRequest:
    return replace(request(), subject=ToolCall(tool, arguments, context=context))


def test_nothing_was_ever_granted(store: Store) -> None:
    desk = made(store, Clock())
    assert why(desk, queued(desk, request())) is None


def test_the_argument_and_the_effect_that_differ(store: Store) -> None:
    desk = made(store, Clock())
    first = queued(desk, request("git push origin topic"))
    desk.approve(first, "ann", SESSION)
    found = why(desk, queued(desk, request("git push origin main")))
    assert found is not None
    assert (found.question, found.by) == (first, "ann")
    assert [(one.what, one.was, one.now) for one in found.differs] == [
        ("argument command", "git push origin topic", "git push origin main"),
        ("effect", "", "publishes to origin main"),
    ]
    assert found.text == "ann approved a call like this one, for this session. What differs: argument command, effect"


def test_only_what_the_agent_says_about_it_differs(store: Store) -> None:
    desk = made(store, Clock())
    desk.approve(queued(desk, request(description="push it")), "ann", SESSION)
    found = why(desk, queued(desk, request(description="push it again")))
    assert found is not None
    assert [one.what for one in found.differs] == ["argument description"]


def test_the_same_call_that_was_used_up(store: Store) -> None:
    clock = Clock()
    desk = made(store, clock)
    first = queued(desk, request())
    desk.approve(first, "ann")
    ask(desk, request())
    clock.pass_by(1)
    found = why(desk, queued(desk, request()))
    assert found is not None
    assert (found.question, found.differs) == (first, ())
    assert "used up, is over, or was revoked" in found.text


def test_another_session_and_another_directory(store: Store) -> None:
    desk = made(store, Clock())
    desk.approve(queued(desk, request()), "ann", SESSION)
    found = why(desk, queued(desk, request(context=replace(HERE, session_id="s2", cwd="/other"))))
    assert found is not None
    assert [(one.what, one.was, one.now) for one in found.differs] == [
        ("session", "s1", "s2"), ("directory", "/work", "/other"),
    ]  # fmt: skip


def test_a_kind_that_was_granted_says_what_is_outside(store: Store) -> None:
    desk = made(store, Clock())
    first = queued(desk, request())
    desk.approve(first, "ann", scope("kind"), kind="W1")
    found = why(desk, queued(desk, request("git push origin main")))
    assert found is not None
    assert found.question == first
    assert found.text.startswith("ann granted: the same command for other branches: publish to origin, feature/*.")
    assert found.text.endswith("command differs in more than the one place")


def test_the_nearest_of_several(store: Store) -> None:
    desk = made(store, Clock())
    for repo, issue in (("a", 1), ("b", 2)):
        desk.approve(queued(desk, of_tool("mcp__x__close", repo=repo, issue=issue, note="x")), "ann")
    found = why(desk, queued(desk, of_tool("mcp__x__close", repo="b", issue=3, note="x")))
    assert found is not None
    assert [(one.what, one.was, one.now) for one in found.differs] == [("argument issue", "2", "3")]


def test_what_is_not_alike(store: Store) -> None:
    desk = made(store, Clock())
    desk.approve(queued(desk, request("git push origin topic")), "ann")
    desk.deny(queued(desk, request("npm publish")), "ann")
    for other in (
        request("docker push x"),
        request("npm publish --tag x"),
        request("git push origin topic", replace(HERE, principal="user:bob")),
        of_tool("write", path="x"),
    ):
        assert why(desk, queued(desk, other)) is None


def test_a_kind_that_was_granted_after_it_was_asked_is_not_said_to_lack_it(store: Store) -> None:
    desk = made(store, Clock())
    first, second = queued(desk, request()), queued(desk, request("git push origin feature/y"))
    desk.approve(first, "ann", scope("kind"), kind="W1")
    found = why(desk, second)
    assert found is not None
    assert found.text.endswith("This is of that kind: made again, it is not asked about")


def test_another_name_of_the_tool_differs(store: Store) -> None:
    """The same text means something else to another shell, so it is not this very call."""
    desk = made(store, Clock())
    desk.approve(queued(desk, request()), "ann", SESSION)
    other = replace(request(), subject=replace_said(request().subject, "PowerShell"))
    found = why(desk, queued(desk, other))
    assert found is not None
    assert [(one.what, one.was, one.now) for one in found.differs] == [("name of the tool", "Bash", "PowerShell")]


def replace_said(call: object, said: str) -> ToolCall:
    assert isinstance(call, ToolCall)
    return ToolCall(call.name, call.arguments, context=call.context, original_name=said)
