"""What holds for the Claude Agent SDK alone: its callbacks with its own types, and the program that it carries."""

from __future__ import annotations

import asyncio
import tempfile
from typing import Any

import pytest

pytest.importorskip("claude_agent_sdk", reason="run by scripts/frameworks")

from claude_agent_sdk import ClaudeAgentOptions, create_sdk_mcp_server, query, tool

from interpose import Deny, Transform
from interpose.core.types import ToolCall, ToolOutcome, Verdict
from interpose.engine.flow.hosted import OTHER_ARGUMENTS
from interpose.frameworks.claude_agent_sdk import guard
from tests.frameworks.fake_claude import FakeClaude, results_of
from tests.frameworks.interceptors import HIDDEN, SECRET, Saying, engine_of, hiding, raising

BASH = {"stdout": f"a {SECRET}", "stderr": "", "interrupted": False, "isImage": False}


def event(name: str, **more: Any) -> dict[str, Any]:
    return {
        "session_id": "s", "transcript_path": "", "cwd": "/srv", "hook_event_name": name, "tool_name": "Bash",
        "tool_input": {"command": "ls"}, "tool_use_id": "t1", **more,
    }  # fmt: skip


def heard(hooks: Any, name: str, **more: Any) -> Any:
    """What the callback of an event says."""
    (matcher,) = hooks[name]
    (callback,) = matcher.hooks
    return asyncio.run(callback(event(name, **more), "t1", {"signal": None}))


def test_a_failing_callback_blocks_and_is_never_given_up() -> None:
    hooks = guard(engine=engine_of())
    assert set(hooks) == {"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit"}
    for (matcher,) in hooks.values():
        assert matcher.on_failure == "block"
        assert matcher.matcher is None, "every tool"
        assert matcher.timeout >= 3600


def test_no_objection_is_no_permission() -> None:
    assert heard(guard(engine=engine_of()), "PreToolUse") == {}
    change = Saying(lambda call: Transform(call.with_arguments({"command": "pwd"})))
    said = heard(guard(engine=engine_of(before=change)), "PreToolUse")["hookSpecificOutput"]
    assert said == {"hookEventName": "PreToolUse", "updatedInput": {"command": "pwd"}}


@pytest.mark.parametrize(
    ("note", "says"), [("hidden", hiding), ("withheld", lambda _o: Deny("no")), ("broken", raising)]
)
def test_a_replaced_result_keeps_the_shape_of_its_tool(note: str, says: Any) -> None:
    """One of another shape would be thrown away, and the result shown as it was."""
    said = heard(guard(engine=engine_of(after=Saying(says))), "PostToolUse", tool_response=BASH)
    shown = said["hookSpecificOutput"]["updatedToolOutput"]
    assert shown.keys() == BASH.keys()
    assert SECRET not in str(shown)
    assert [type(value) for value in shown.values()] == [type(value) for value in BASH.values()]


def test_a_result_of_an_event_that_nobody_can_read_is_withheld() -> None:
    said = heard(guard(engine=engine_of()), "PostToolUse", tool_response=BASH, tool_input=None)
    assert SECRET not in str(said)
    assert "withheld" in said["hookSpecificOutput"]["updatedToolOutput"]["stdout"]


def test_an_error_that_can_not_be_hidden_is_said_to_be_none_to_repeat() -> None:
    hooks = guard(engine=engine_of(after=Saying(hiding)))
    assert "Don't repeat" in str(heard(hooks, "PostToolUseFailure", error=f"no {SECRET}"))
    assert HIDDEN not in str(heard(hooks, "PostToolUseFailure", error="no such file"))


class Recording:
    """Keeps what is said of outcomes."""

    def __init__(self) -> None:
        self.rules: list[str] = []

    def decided(self, _verdict: Verdict[ToolCall], /) -> None:
        return None

    def finished(self, _verdict: Verdict[ToolCall], _outcome: ToolOutcome, after: Any, /) -> None:
        self.rules += [found.rule for found in after.findings] if after is not None else []


def test_what_ran_instead_of_what_was_judged_is_recorded_as_such() -> None:
    recorder = Recording()
    hooks = guard(engine=engine_of(recorder=recorder))
    heard(hooks, "PreToolUse")
    heard(hooks, "PostToolUse", tool_response=BASH)
    assert recorder.rules == []
    heard(hooks, "PreToolUse")
    heard(hooks, "PostToolUse", tool_response=BASH, tool_input={"command": "rm -rf /"})
    assert recorder.rules == [OTHER_ARGUMENTS]


def played(hooks: Any, **options: Any) -> tuple[list[str], str]:
    """A run of the real program: what ran, and what its model was told."""
    ran: list[str] = []

    @tool("note", "Take a note.", {"text": str})
    async def note(arguments: dict[str, Any]) -> dict[str, Any]:
        ran.append(arguments["text"])
        return {"content": [{"type": "text", "text": "noted"}]}

    def answer(body: Any) -> Any:
        if not body.get("tools") or results_of(body):
            return [{"type": "text", "text": "done"}]
        return [{"type": "tool_use", "id": "toolu_1", "name": "mcp__notes__note", "input": {"text": "milk"}}]

    async def run(url: str, place: str) -> None:
        given = ClaudeAgentOptions(
            hooks=hooks, mcp_servers={"notes": create_sdk_mcp_server("notes", tools=[note])}, tools=[],
            setting_sources=[], cwd=place, **options,
            env={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "CLAUDE_CONFIG_DIR": place,
                 "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        )  # fmt: skip
        async for _message in query(prompt="go", options=given):
            pass

    with FakeClaude(answer) as model, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        asyncio.run(run(model.url, place))
        return ran, str([results_of(body) for body in model.requests if body.get("tools")][-1])


def test_a_rewritten_call_gets_no_permission_by_it() -> None:
    change = Saying(lambda call: Transform(call.with_arguments({"text": "safe"})))
    ran, _ = played(guard(engine=engine_of(before=change)))
    assert ran == [], "nobody allowed this tool"
    ran, _ = played(guard(engine=engine_of(before=change)), allowed_tools=["mcp__notes__note"])
    assert ran == ["safe"]


def test_settings_do_not_switch_it_off() -> None:
    refuse = Saying(lambda _call: Deny("not now"))
    ran, told = played(
        guard(engine=engine_of(before=refuse)), allowed_tools=["mcp__notes__note"],
        settings='{"disableAllHooks": true}',
    )  # fmt: skip
    assert ran == []
    assert "not now" in told
