"""Outcomes find the decisions that they belong to."""

from __future__ import annotations

from typing import Any

import pytest

from interpose import Allow, Context, ToolCall, Verdict
from interpose.flow.pending_calls import ALIKE, PendingCalls

HERE = Context(session_id="s", source="hook:x", cwd="/w", agent_id="a")
ELSEWHERE = Context(session_id="t", source="hook:x")


def call(command: str = "ls", context: Context = HERE) -> ToolCall:
    return ToolCall("exec", {"command": command, "n": [1, {"a": None}]}, context=context, original_name="Bash")


def made(command: str = "ls") -> ToolCall:
    """The call as the host makes it."""
    return ToolCall("Bash", call(command).arguments)


def opened(calls: PendingCalls, one: ToolCall, key: str = "") -> None:
    came = ToolCall(one.original_name or one.name, one.arguments)
    calls.open(came, Verdict(outcome="allow", decision=Allow(), payload=one), key)


def ended(calls: PendingCalls, context: Context, name: str, arguments: dict[str, Any], key: str = "") -> str:
    return calls.close(context, came := ToolCall(name, arguments), came, key)[0]


def test_a_call_is_found_by_what_it_is_and_only_once() -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one)
    arguments = {"n": [1, {"a": None}], "command": "ls"}
    assert ended(calls, ELSEWHERE, "Bash", arguments) == ""
    assert ended(calls, HERE, "Bash", {"command": "ls -l"}) == ""
    assert ended(calls, HERE, "Bash", arguments) == one.call_id
    assert ended(calls, HERE, "Bash", arguments) == ""


def test_the_hosts_own_name_wins_over_the_arguments() -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one, "toolu_1")
    assert ended(calls, HERE, "Bash", {"command": "rewritten"}, "toolu_1") == one.call_id


@pytest.mark.parametrize(
    ("note", "ran", "as_decided"),
    [
        ("what was decided", {"command": "ls", "n": [1, {"a": None}]}, True),
        ("something else", {"command": "rm -rf /srv"}, False),
        ("a host that does not say", {}, True),
    ],
)
def test_what_ran_is_compared_with_what_was_decided(note: str, ran: dict[str, Any], as_decided: bool) -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one, "toolu_1")
    came = ToolCall("Bash", ran)
    assert calls.close(HERE, came, came, "toolu_1") == (one.call_id, as_decided)


def test_of_calls_that_are_alike_each_is_given_once() -> None:
    calls, some = PendingCalls(), [call() for _ in range(3)]
    for one in some:
        opened(calls, one)
    found = {ended(calls, HERE, "Bash", some[0].arguments) for _ in range(4)}
    assert found == {one.call_id for one in some} | {""}


def test_memory_is_bounded() -> None:
    calls = PendingCalls(limit=2)
    for name in ("a", "b", "c"):
        opened(calls, call(name))
    assert ended(calls, HERE, "Bash", call("a").arguments) == ""
    for _ in range(ALIKE * 2):
        opened(calls, call("c"))
    assert sum(ended(calls, HERE, "Bash", call("c").arguments) != "" for _ in range(ALIKE * 3)) == ALIKE


def test_arguments_without_a_json_form_are_found_too() -> None:
    calls, one = PendingCalls(), ToolCall("exec", {"\ud800": b"x"}, context=HERE)
    opened(calls, one)
    assert ended(calls, HERE, "exec", one.arguments) == one.call_id


GATEWAY = Context(session_id="s", source="gateway")


def test_a_call_that_two_surfaces_see_is_one_call() -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one, "toolu_1")
    found = calls.seen_before(ToolCall("Bash", one.arguments), GATEWAY, "toolu_1")
    assert found is not None
    assert found.payload.call_id == one.call_id
    assert ended(calls, GATEWAY, "Bash", one.arguments, "toolu_1") == one.call_id
    assert ended(calls, HERE, "Bash", one.arguments, "toolu_1") == one.call_id, "both say how it ended"
    assert ended(calls, HERE, "Bash", one.arguments, "toolu_1") == ""


@pytest.mark.parametrize(
    ("note", "seen", "context", "key"),
    [
        ("another command", made("rm -rf /"), GATEWAY, "toolu_1"),
        ("another shell", ToolCall("PowerShell", made().arguments), GATEWAY, "toolu_1"),
        ("another session", made(), Context(session_id="t", source="gateway"), "toolu_1"),
        ("another directory", made(), Context(session_id="s", source="gateway", cwd="/elsewhere"), "toolu_1"),
        ("another agent", made(), Context(session_id="s", source="gateway", agent_id="b"), "toolu_1"),
        ("another name of the host's", made(), GATEWAY, "toolu_2"),
        ("no name: the agent's text alone joins nothing", made(), GATEWAY, ""),
        ("the same surface twice: it is made again", made(), HERE, "toolu_1"),
        (
            "a hook of another host: hooks decide by themselves",
            made(),
            Context(session_id="s", source="hook:y"),
            "toolu_1",
        ),
    ],
)
def test_what_joins_no_calls(note: str, seen: ToolCall, context: Context, key: str) -> None:
    calls = PendingCalls()
    opened(calls, call(), "toolu_1")
    assert calls.seen_before(seen, context, key) is None, note


def test_a_surface_joins_a_call_once() -> None:
    calls = PendingCalls()
    opened(calls, call(), "toolu_1")
    assert calls.seen_before(made(), GATEWAY, "toolu_1") is not None
    assert calls.seen_before(made(), GATEWAY, "toolu_1") is None


def test_nothing_joins_what_no_hook_has_let_through() -> None:
    calls, http = PendingCalls(), Context(session_id="s", source="intercept")
    opened(calls, call(context=http), "toolu_1")
    assert calls.seen_before(made(), GATEWAY, "toolu_1") is None


def test_a_rewritten_call_is_joined_by_what_runs() -> None:
    calls, one = PendingCalls(), call("echo safe")
    came = ToolCall("Bash", {"command": "rm -rf /"})
    calls.open(came, Verdict(outcome="rewrite", decision=Allow(), payload=one, rewritten=True), "toolu_1")
    assert calls.seen_before(came, GATEWAY, "toolu_1") is None
    assert calls.seen_before(made("echo safe"), GATEWAY, "toolu_1") is not None


def test_who_never_saw_a_call_can_not_end_it() -> None:
    calls, one = PendingCalls(), call()
    opened(calls, one, "toolu_1")
    assert ended(calls, GATEWAY, "Bash", {"command": "x"}, "toolu_1") == ""
    assert ended(calls, HERE, "Bash", one.arguments, "toolu_1") == one.call_id
