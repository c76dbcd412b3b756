"""`builtin:secret-redaction`: each agent's results come back in that agent's own shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interpose import Context, Engine, ToolCall, add_builtin_interceptors, create_interceptor_registry
from interpose.core.types import Allow, ToolOutcome, Transform
from interpose.rules.guards.secret_redaction import SecretRedaction
from tests.unit.reading.secrets.templates import filled

TOKEN = filled("ghp_{alnum:36}")
GUARD = SecretRedaction(b"key")


def result_of(result: Any, **fields: Any) -> Any:
    decision = GUARD.intercept(ToolOutcome(ToolCall("exec"), result, **fields))
    return decision.payload.result if isinstance(decision, Transform) else result


MARK = result_of(TOKEN)
SHOWN = f"$ env\nGITHUB_TOKEN={TOKEN}\nHOME=/home/dev\n"
HIDDEN = SHOWN.replace(TOKEN, MARK)


def test_a_redaction_names_its_rule() -> None:
    decision = GUARD.intercept(ToolOutcome(ToolCall("exec"), TOKEN))
    assert isinstance(decision, Transform)
    assert decision.rule == "secret-redaction"


@pytest.mark.parametrize(
    ("agent", "result", "want"),
    [
        (
            "Claude Code, Bash",
            {"stdout": SHOWN, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False},
            {"stdout": HIDDEN, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False},
        ),
        (
            "Claude Code, Read",
            {"type": "text", "file": {"filePath": "/p/.env", "content": SHOWN, "numLines": 3, "startLine": 1}},
            {"type": "text", "file": {"filePath": "/p/.env", "content": HIDDEN, "numLines": 3, "startLine": 1}},
        ),
        ("Codex", SHOWN, HIDDEN),
        (
            "Gemini CLI",
            {"llmContent": f"<untrusted_context>\nOutput: {SHOWN}</untrusted_context>", "returnDisplay": SHOWN},
            {"llmContent": f"<untrusted_context>\nOutput: {HIDDEN}</untrusted_context>", "returnDisplay": HIDDEN},
        ),
        (
            "Gemini CLI, parts",
            {"llmContent": [{"text": SHOWN}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]},
            {"llmContent": [{"text": HIDDEN}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]},
        ),
        (
            "Copilot CLI",
            {"resultType": "success", "textResultForLlm": SHOWN},
            {"resultType": "success", "textResultForLlm": HIDDEN},
        ),
        (
            "Copilot CLI, snake case",
            {"result_type": "success", "text_result_for_llm": SHOWN},
            {"result_type": "success", "text_result_for_llm": HIDDEN},
        ),
        (
            "MCP",
            {
                "content": [{"type": "text", "text": "ok"}, {"type": "text", "text": SHOWN}],
                "structuredContent": {"env": {"GITHUB_TOKEN": TOKEN}},
                "isError": False,
            },
            {
                "content": [{"type": "text", "text": "ok"}, {"type": "text", "text": HIDDEN}],
                "structuredContent": {"env": {"GITHUB_TOKEN": MARK}},
                "isError": False,
            },
        ),
        (
            "MCP, a resource",
            [{"type": "resource", "resource": {"uri": "file:///p/.env", "text": SHOWN}}],
            [{"type": "resource", "resource": {"uri": "file:///p/.env", "text": HIDDEN}}],
        ),
        (
            "OpenCode",
            {"title": "env", "output": SHOWN, "metadata": {"exit": 0}},
            {"title": "env", "output": HIDDEN, "metadata": {"exit": 0}},
        ),
    ],
)
def test_the_shape_of_each_agent_stays(agent: str, result: Any, want: Any) -> None:
    assert result_of(result) == want, agent


def test_cursor_gets_a_string_of_json_that_is_still_json() -> None:
    text = json.dumps({"exitCode": 0, "output": SHOWN, "nested": json.dumps({"GITHUB_TOKEN": TOKEN})})
    answer = result_of(text)
    assert isinstance(answer, str)
    assert json.loads(answer) == {"exitCode": 0, "output": HIDDEN, "nested": json.dumps({"GITHUB_TOKEN": MARK})}


def test_what_has_no_secret_is_allowed_as_it_is() -> None:
    assert GUARD.intercept(ToolOutcome(ToolCall("exec"), {"stdout": "ok"})) == Allow()


def test_errors_are_redacted_too() -> None:
    assert result_of(f"fatal: bad token {TOKEN}", is_error=True) == f"fatal: bad token {MARK}"


def test_a_denied_call_has_no_result_to_change() -> None:
    assert GUARD.intercept(ToolOutcome(ToolCall("exec"), TOKEN, denied=True)) == Allow()


def test_the_reason_names_kinds_and_no_secret() -> None:
    decision = GUARD.intercept(ToolOutcome(ToolCall("exec"), [TOKEN, TOKEN, {"password": filled("{alnum:12}")}]))
    assert isinstance(decision, Transform)
    assert decision.reason == "hid 3 secrets: generic-password, github-personal-token (2)"


def test_it_is_on_by_default_for_every_tool() -> None:
    engine = Engine(add_builtin_interceptors(create_interceptor_registry()))
    for tool in ("Bash", "mcp__github__list", "some_tool_of_yours"):
        answer = engine.run_tool(ToolCall(tool, {"command": "ls"}), lambda _: {"stdout": SHOWN})
        assert TOKEN not in json.dumps(answer), tool
        assert "[redacted:github-personal-token:" in answer["stdout"]


def test_a_result_that_can_not_be_searched_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("no memory left")

    registry = add_builtin_interceptors(create_interceptor_registry())
    monkeypatch.setattr("interpose.reading.secrets.redact.Redactor.redact_value", broken)
    answer = Engine(registry).run_tool(ToolCall("Bash", {"command": "ls"}), lambda _: SHOWN)
    assert TOKEN not in json.dumps(answer)
    assert answer["status"] == "withheld"


BARE = filled("{lowernum:22}")


def shown(guard: SecretRedaction, result: Any, session: str, **arguments: Any) -> Any:
    call = ToolCall("exec", arguments, "1", Context(session_id=session))
    decision = guard.intercept(ToolOutcome(call, result))
    return decision.payload.result if isinstance(decision, Transform) else result


def test_what_the_arguments_tell_is_hidden_in_the_result() -> None:
    assert BARE not in shown(
        SecretRedaction(), f"it is {BARE}", "", command=f"export API_TOKEN={BARE}; echo $API_TOKEN"
    )


def test_what_an_earlier_result_told_is_hidden_in_the_same_session_only() -> None:
    guard = SecretRedaction()
    assert BARE in shown(guard, f"it is {BARE}", "mine")
    shown(guard, f"API_TOKEN={BARE}", "mine")
    assert BARE not in shown(guard, {"stdout": f"it is {BARE}"}, "mine")
    assert BARE in shown(guard, f"it is {BARE}", "another")
    assert BARE in shown(guard, f"it is {BARE}", "")


def test_a_stream_knows_the_session_and_the_arguments() -> None:
    guard = SecretRedaction()
    shown(guard, f"API_TOKEN={BARE}", "mine")
    passing = guard.text_filter(
        ToolCall("exec", {"command": f"x --token {TOKEN[4:26]}"}, "1", Context(session_id="mine"))
    )
    out = passing.feed(f"{BARE}\n{TOKEN[4:26]}\n".encode(), hurry=True) + passing.close()
    assert BARE.encode() not in out
    assert TOKEN[4:26].encode() not in out
    assert passing.said()[1].startswith("hid 2 secrets")


def test_what_a_stream_told_is_hidden_in_later_results() -> None:
    guard = SecretRedaction()
    passing = guard.text_filter(ToolCall("exec", {}, "1", Context(session_id="mine")))
    passing.feed(f"API_TOKEN={BARE}\n".encode(), hurry=True)
    assert BARE not in shown(guard, f"it is {BARE}", "mine")
