"""The wire log: everything in and out, and never in the way."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from interpose import Engine, ToolCall, create_interceptor_registry
from interpose.core.types import ToolOutcome
from interpose.engine.flow.wire_log import VARIABLE, WireLog
from tests.unit.reading.secrets.templates import filled

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


def test_off_unless_the_variable_is_set(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    Engine(create_interceptor_registry()).run_tool(ToolCall("exec", {}), lambda _: "x")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("value", ["1", "", "no"])
def test_on_with_any_value(value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(VARIABLE, value)
    Engine(create_interceptor_registry()).run_tool(ToolCall("Bash", {"command": "ls"}), lambda _: {"out": "é"})
    text = capsys.readouterr().err
    assert re.fullmatch(
        rf'\[LOUD_WIRE\] {STAMP} \[TOOL#1\] >>> exec\n\{{\n  "command": "ls"\n\}}\n'
        rf'\[LOUD_WIRE\] {STAMP} \[TOOL#1\] <<< OK exec\n\{{\n  "out": "\\u00e9"\n\}}\n',
        text,
    )


@pytest.mark.parametrize(("fields", "word"), [({"denied": True}, "BLOCKED"), ({"is_error": True}, "ERROR"), ({}, "OK")])
def test_the_word_of_an_outcome(fields: dict[str, Any], word: str) -> None:
    stream = io.StringIO()
    WireLog(enabled=True, stream=stream).outcome(ToolOutcome(ToolCall("exec"), **fields))
    assert f"<<< {word} exec" in stream.getvalue()


def test_numbers_pair_calls_with_outcomes_when_many_are_under_way() -> None:
    stream = io.StringIO()
    wire = WireLog(enabled=True, stream=stream)
    first, second = ToolCall("read"), ToolCall("exec")
    wire.call(first)
    wire.call(second)
    wire.outcome(ToolOutcome(second))
    wire.outcome(ToolOutcome(first))
    heads = re.findall(r"\[(TOOL#\d)\] (\S+ .*)", stream.getvalue())
    assert heads == [
        ("TOOL#1", ">>> read"),
        ("TOOL#2", ">>> exec"),
        ("TOOL#2", "<<< OK exec"),
        ("TOOL#1", "<<< OK read"),
    ]
    assert wire._open == {}


class Unprintable:
    def __repr__(self) -> str:
        raise KeyboardInterrupt

    __str__ = __repr__


def test_what_can_not_be_written_is_named_instead() -> None:
    stream = io.StringIO()
    wire = WireLog(enabled=True, stream=stream)
    wire.call(ToolCall("exec", {"x": Unprintable()}))
    wire.call(ToolCall("exec", {("odd", "key"): 1}))  # type: ignore[dict-item]
    assert '"x": "Unprintable"' in stream.getvalue()
    assert "(keys must be str" in stream.getvalue()


def test_a_closed_stream_changes_nothing() -> None:
    stream = io.StringIO()
    engine = Engine(create_interceptor_registry())
    engine.wire = WireLog(enabled=True, stream=stream)
    stream.close()
    assert engine.run_tool(ToolCall("exec", {}), lambda _: "ran") == "ran"


def test_a_tool_name_can_not_steer_the_terminal() -> None:
    stream = io.StringIO()
    WireLog(enabled=True, stream=stream).call(ToolCall("exec\x1b[2J", {"command": "\x1b[2J"}))
    assert "\x1b" not in stream.getvalue()


def test_secrets_stay_out_of_the_log() -> None:
    token, password = filled("ghp_{alnum:36}"), filled("{alnum:12}")

    class Odd:
        def __repr__(self) -> str:
            return f"Odd({token})"

    stream = io.StringIO()
    wire = WireLog(enabled=True, stream=stream)
    call = ToolCall("exec", {"command": f"curl -H 'Authorization: token {token}' x", "env": {"password": password}})
    wire.call(call)
    wire.outcome(ToolOutcome(call, {"stdout": token, "object": Odd()}))
    text = stream.getvalue()
    assert token not in text
    assert password not in text
    assert text.count("[redacted:github-personal-token:") == 3
    assert "[redacted:generic-password:" in text
