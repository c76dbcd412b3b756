"""What an approval is bound to: nothing that would do something else has the same digest."""

from __future__ import annotations

from typing import Any

import pytest

from interpose import Context, PermissionRequest, ToolCall
from interpose.core.carried_calls import canonical
from interpose.core.types import ToolOutcome
from interpose.people.approvals.binding import Bound, bound, subject_of

KEY = b"k" * 32
AT = Context(session_id="s", principal="ann", cwd="/w")


def bound_to(subject: Any) -> Bound:
    return bound(subject_of(PermissionRequest("sure?", subject)), KEY)


def call(tool: str = "Bash", /, context: Context = AT, **arguments: Any) -> ToolCall:
    return canonical(ToolCall(tool, arguments or {"command": "ls"}, context=context))


def wrapped(tool: str) -> ToolCall:
    return call("tool_call", name=tool, arguments={"command": "ls"})


@pytest.mark.parametrize(
    ("note", "one", "other"),
    [
        ("another shell reads the text in another way", call("Bash"), call("PowerShell")),
        ("tools that share a name of ours", call("CronCreate", id="7"), call("CronDelete", id="7")),
        ("other shells inside a wrapper", wrapped("Bash"), wrapped("PowerShell")),
        ("a number is not its text", call(n=1), call(n="1")),
        ("whole numbers are not broken ones", call(n=1), call(n=1.0)),
        ("true is not one", call(n=1), call(n=True)),
        ("nothing is not absent", call(a=1, b=None), call(a=1)),
        ("letters that look alike", call(path="caf\u00e9"), call(path="cafe\u0301")),
        ("a list is not its items", call(a=["x", "y"]), call(a=["x,y"])),
        ("another directory", call(), call(context=Context(session_id="s", principal="ann", cwd="/w/x"))),
        ("another principal", call(), call(context=Context(session_id="s", principal="bob", cwd="/w"))),
        ("a result is not its call", call(), ToolOutcome(call(), None)),
    ],
)
def test_what_differs_has_another_digest(note: str, one: Any, other: Any) -> None:
    assert bound_to(one).session != bound_to(other).session, note
    assert bound_to(one).principal != bound_to(other).principal, note


def test_the_order_of_arguments_means_nothing() -> None:
    assert bound_to(call(a=1, b={"x": 1, "y": 2})) == bound_to(call(b={"y": 2, "x": 1}, a=1))


def test_other_sessions_share_only_what_is_bound_to_the_principal() -> None:
    here, there = bound_to(call()), bound_to(call(context=Context(session_id="t", principal="ann", cwd="/w")))
    assert (here.principal, here.session != there.session) == (there.principal, True)
