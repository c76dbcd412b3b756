"""The whole event as one visible line, whatever is in it, or a clear no."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpose.core.types import Context, Finding, HookPoint, Message, Params, PermissionRequest, ToolCall, ToolOutcome
from interpose.rules.policy.judge.operation import UnreadableError, operation_of
from tests.support.hostile import BrokenTextError

WHO = Context(cwd="/w", agent_id="a", role="r", principal="p", session_id="s")
CALL = ToolCall("exec", {"command": "ls"}, context=WHO)
SHOWN = {"tool": "exec", "arguments": {"command": "ls"}, "cwd": "/w", "agent": "a", "role": "r", "principal": "p"}
ASKS = (Finding(interceptor="i", said="ask", reason="May it?", rule="ask-first"),)

EVENTS: list[tuple[str, Any, HookPoint, dict[str, Any]]] = [
    ("call", CALL, HookPoint.TOOL_BEFORE, SHOWN),
    ("outcome", ToolOutcome(CALL, ["x"], is_error=True), HookPoint.TOOL_AFTER,
     {**SHOWN, "result": ["x"], "is_error": True}),
    ("question", PermissionRequest("reworded", CALL, ASKS), HookPoint.PERMISSION_ASK,
     {**SHOWN, "asked": [{"rule": "ask-first", "question": "May it?"}]}),
    ("message", Message("hi", context=WHO), HookPoint.MESSAGE_BEFORE,
     {"message": "hi", "cwd": "/w", "agent": "a", "role": "r", "principal": "p"}),
    ("parameters", Params(model="m", extras={"x": 1}), HookPoint.PARAMS_BEFORE,
     {"model": "m", "provider": None, "think_level": None, "reasoning_level": None, "temperature": None,
      "extras": {"x": 1}, "message": "", "cwd": "", "agent": "", "role": "", "principal": ""}),
]  # fmt: skip


@pytest.mark.parametrize(("note", "payload", "point", "shown"), EVENTS, ids=[note for note, *_ in EVENTS])
def test_what_is_shown(note: str, payload: Any, point: HookPoint, shown: dict[str, Any]) -> None:
    operation = operation_of(payload, 10_000)
    assert operation.point is point
    assert json.loads(operation.text) == shown, note


def test_the_order_of_arguments_does_not_matter() -> None:
    one, other = ToolCall("t", {"a": 1, "b": 2}), ToolCall("t", {"b": 2, "a": 1})
    assert operation_of(one, 1000) == operation_of(other, 1000)


VALUES: list[tuple[str, Any]] = [
    ("line ends", "a\nb\r\u2028\u2029\x85\x0b\x0c"),
    ("turned around", "\u202egnp.exe"),
    ("nothing to see", "\u200b\u200d\ufeff\U000e0041\x00\x7f"),
    ("half characters", "\ud800 \udfff"),
    ("beyond the first plane", "\U0001f4a3"),
    ("quotation marks", '"\\"\\\\'),
]


@pytest.mark.parametrize(("note", "value"), VALUES, ids=[note for note, _ in VALUES])
def test_everything_can_be_seen_and_nothing_is_lost(note: str, value: str) -> None:
    text = operation_of(ToolCall("t", {"x": value}), 10_000).text
    assert text.isprintable(), note
    assert json.loads(text)["arguments"]["x"] == value


def deep() -> Any:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    return value


def circle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


UNREADABLE: list[tuple[str, Any]] = [
    ("deep", deep),
    ("a circle", circle),
    ("keys that are no texts", lambda: {(1, 2): 3}),
    ("keys of two kinds", lambda: {1: 2, "a": 3}),
    ("large", lambda: "x" * 10_001),
]


@pytest.mark.parametrize(("note", "make"), UNREADABLE, ids=[note for note, _ in UNREADABLE])
def test_what_cannot_be_shown_whole_is_not_shown(note: str, make: Any) -> None:
    with pytest.raises(UnreadableError):
        operation_of(ToolOutcome(CALL, make()), 10_000)


@pytest.mark.parametrize("value", [b"bytes", {1}, 1j, object, BrokenTextError(), float("nan"), 10**400])
def test_values_of_any_class_are_shown(value: Any) -> None:
    assert operation_of(ToolOutcome(CALL, value), 10_000).text
