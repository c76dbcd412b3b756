"""Outcomes find the decisions that they belong to."""

from __future__ import annotations

from interpose import Context, ToolCall
from interpose.flow.pending_calls import ALIKE, OpenCalls

HERE = Context(session_id="s", source="hook:x")
ELSEWHERE = Context(session_id="t", source="hook:x")


def call(command: str = "ls", context: Context = HERE) -> ToolCall:
    return ToolCall("exec", {"command": command, "n": [1, {"a": None}]}, context=context, original_name="Bash")


def test_a_call_is_found_by_what_it_is_and_only_once() -> None:
    calls, one = OpenCalls(), call()
    calls.opened(one)
    arguments = {"n": [1, {"a": None}], "command": "ls"}
    assert calls.closed(ELSEWHERE, "Bash", arguments) == ""
    assert calls.closed(HERE, "Bash", {"command": "ls -l"}) == ""
    assert calls.closed(HERE, "Bash", arguments) == one.call_id
    assert calls.closed(HERE, "Bash", arguments) == ""


def test_the_hosts_own_name_wins_over_the_arguments() -> None:
    calls, one = OpenCalls(), call()
    calls.opened(one, "toolu_1")
    assert calls.closed(HERE, "Bash", {"command": "rewritten"}, "toolu_1") == one.call_id


def test_of_calls_that_are_alike_each_is_given_once() -> None:
    calls, some = OpenCalls(), [call() for _ in range(3)]
    for one in some:
        calls.opened(one)
    found = {calls.closed(HERE, "Bash", some[0].arguments) for _ in range(4)}
    assert found == {one.call_id for one in some} | {""}


def test_memory_is_bounded() -> None:
    calls = OpenCalls(limit=2)
    for name in ("a", "b", "c"):
        calls.opened(call(name))
    assert calls.closed(HERE, "Bash", call("a").arguments) == ""
    for _ in range(ALIKE * 2):
        calls.opened(call("c"))
    assert sum(calls.closed(HERE, "Bash", call("c").arguments) != "" for _ in range(ALIKE * 3)) == ALIKE


def test_arguments_without_a_json_form_are_found_too() -> None:
    calls, one = OpenCalls(), ToolCall("exec", {"\ud800": b"x"}, context=HERE)
    calls.opened(one)
    assert calls.closed(HERE, "exec", one.arguments) == one.call_id
