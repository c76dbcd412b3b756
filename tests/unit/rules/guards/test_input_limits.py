from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose.core.types import Allow, Deny, FrozenDict, FrozenList, ToolCall, Transform
from interpose.rules.guards import InputLimits, input_limits
from interpose.testing import ScriptedEngine, assert_allowed, assert_denied, call

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def too_large(tool: str, size: int, limit: int, over: str) -> Deny:
    text = f"Input too large for tool '{tool}': {size} bytes (max: {limit} bytes, {over} over limit)"
    return Deny(text, "input-limits")


@pytest.mark.parametrize(
    ("note", "arguments", "size"),
    [
        ("nothing", {}, 2),
        ("no blanks", {"a": [1, 2], "b": {"c": None}}, 26),
        ("two bytes a letter", {"a": "éé"}, 12),
        ("four bytes a letter", {"a": "😀"}, 12),
        ("letters of other scripts are not escaped", {"a": "漢字"}, 14),
        ("what JSON must escape", {"a": '"\n\x00'}, 18),
        ("a slash is not escaped", {"a": "/"}, 9),
        ("half a character counts as its escape", {"a": "\ud800"}, 14),
        ("and letters beside it count as ever", {"a": "é\ud800"}, 16),
        ("no number", {"a": float("nan")}, 10),
        ("a large array", {"a": [0] * 1000}, 2007),
        ("a large number", {"a": 10**30}, 37),
    ],
)
def test_the_limit_is_met_exactly(note: str, arguments: dict[str, Any], size: int) -> None:
    request = ToolCall("t", arguments)
    assert InputLimits(size).intercept(request) == Allow(), note
    assert InputLimits(size - 1).intercept(request) == too_large("t", size, size - 1, f"{100 // (size - 1)}%"), note


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_the_size_is_that_of_compact_json_in_utf_8(arguments: dict[str, Any]) -> None:
    size = len(json.dumps(arguments, ensure_ascii=False, separators=(",", ":")).encode())
    assert InputLimits(size).intercept(ToolCall("t", arguments)) == Allow()
    assert isinstance(InputLimits(size - 1).intercept(ToolCall("t", arguments)), Deny)


@pytest.mark.parametrize(
    ("limit", "arguments", "size", "over"),
    [
        (1, {}, 2, "100%"),
        (0, {}, 2, "N/A"),
        (1000, {"a": "x" * 1494}, 1502, "50%"),
        (1000, {"a": "x" * 993}, 1001, "0%"),
    ],
)
def test_the_message_says_how_much_is_too_much(limit: int, arguments: dict[str, Any], size: int, over: str) -> None:
    assert InputLimits(limit).intercept(ToolCall("write", arguments)) == too_large("write", size, limit, over)


def nested(depth: int) -> FrozenDict:
    value: Any = FrozenList([1])
    for _ in range(depth):
        value = FrozenDict({"a": value})
    return FrozenDict({"a": value})


def test_nesting_is_counted() -> None:
    assert InputLimits(1000).intercept(ToolCall("t", nested(100))) == Allow()
    assert InputLimits(100).intercept(ToolCall("t", nested(100))) == too_large("t", 609, 100, "509%")


@pytest.mark.parametrize(
    ("note", "arguments"),
    [
        ("nested without end", nested(100_000)),
        ("a value without a JSON form", {"a": object()}),
        ("one beside half a character", {"a": "\ud800", "b": object()}),
        ("a key that is no text", {"a": {(1, 2): 3}}),
        ("a number with too many digits", {"a": 10**5000}),
    ],
)
def test_what_cannot_be_measured_is_refused(note: str, arguments: dict[str, Any]) -> None:
    decision = InputLimits(10**9).intercept(ToolCall("t", arguments))
    assert isinstance(decision, Deny), note
    assert decision.reason.startswith("Cannot measure the input of tool 't': it "), note


def test_a_huge_text_is_refused_without_being_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_limits, "compact_json", lambda _: pytest.fail("encoded"))
    decision = InputLimits(1000).intercept(ToolCall("write", {"content": "\x00" * 50_000_000}))
    assert isinstance(decision, Deny)
    assert decision.reason.startswith("Input too large for tool 'write': more than 50000000 bytes (max: 1000 bytes")


@pytest.mark.parametrize("limit", [-1, True, 1.5, "1", None])
def test_a_broken_configuration_is_an_error(limit: Any) -> None:
    with pytest.raises(ValueError, match="number of bytes"):
        InputLimits(limit)


def test_the_engine_measures_what_would_really_run() -> None:
    class Inflate:
        def intercept(self, request: ToolCall) -> Any:
            return Transform(request.with_arguments({"command": "x" * 100}))

    assert_allowed(ScriptedEngine(InputLimits(50), guard=True).decide(call(command="ls")))
    grown = ScriptedEngine(InputLimits(50), Inflate(), guard=True).decide(call(command="ls"))
    assert_denied(grown, reason="Input too large for tool 'exec': 114 bytes (max: 50 bytes, 128% over limit)")
