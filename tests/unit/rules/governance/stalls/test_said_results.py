"""What results say, in the shapes of all hosts: their text, and whether delegated work failed."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.core.types import ToolCall, ToolOutcome
from interpose.rules.governance.stalls.check_rounds import round_of
from interpose.rules.governance.stalls.said_results import said_text, tells_failure

REVIEW = "Review:\n- no tests\n- no docs\n\nScore: 6/10"
SHAPES: list[tuple[str, str, Any]] = [
    ("claude-code", "Task", {
        "status": "completed", "prompt": "Score: 1\n- mine", "agentId": "a1", "totalTokens": 900,
        "content": [{"type": "text", "text": REVIEW}], "usage": {"input_tokens": 3},
    }),
    ("claude-code, in two parts", "Agent", {"content": [{"type": "text", "text": REVIEW[:20]},
                                                        {"type": "text", "text": REVIEW[20:]}]}),
    ("claude-code, from the background", "TaskOutput", {"task": {"status": "done"}, "output": REVIEW}),
    ("opencode", "task", {"title": "review the plan", "output": REVIEW, "metadata": {"sessionId": "x"}}),
    ("gemini-cli, qwen-code", "delegate_to_agent", {"llmContent": [{"text": REVIEW}], "returnDisplay": "done"}),
    ("copilot", "task", {"resultType": "success", "textResultForLlm": REVIEW}),
    ("vscode", "runSubagent", [{"value": REVIEW}]),
    ("codex", "wait_agent", {"output": REVIEW, "metadata": {"exit_code": 0}}),
    ("an MCP result", "task", {"content": [{"type": "text", "text": REVIEW}], "isError": False}),
    ("plain text", "use_subagents", REVIEW),
]  # fmt: skip


@pytest.mark.parametrize(("host", "tool", "result"), SHAPES, ids=[row[0] for row in SHAPES])
def test_a_round_in_the_shape_of_a_host(host: str, tool: str, result: Any) -> None:
    call = ToolCall(tool.lower(), {}, original_name=tool)
    found = round_of(call, ToolOutcome(call, result))
    assert found is not None, host
    assert found.score == 6.0
    assert "no tests" in said_text(result)
    assert "mine" not in said_text(result), "what was asked is no answer"


OUTCOMES: list[tuple[str, Any, bool]] = [
    ("what the seed looks for", "It failed with an error", True),
    ("a line that says error", "I tried.\nError: no such file", True),
    ("it could not", "I could not complete the task: the API is down.", True),
    ("the conclusion stands last", "Read a lot.\n" * 200 + "In the end the build failed.", True),
    ("a status", {"status": "failed", "output": "see above"}, True),
    ("a flag", {"success": False, "message": "done"}, True),
    ("Claude Code", {"status": "completed", "content": [{"type": "text", "text": "The migration failed."}]}, True),
    ("all is well", "Done. All 12 tests pass.", False),
    ("nothing failed", "12 passed, 0 failed, no errors.", False),
    ("what was fixed", "Fixed the error in a.py and added error handling.", False),
    ("a count of none", "errors: 0, failures: 0", False),
    (
        "a word in the middle of a report",
        "Added a.py.\n" * 100 + "The module errors.py is new.\n" + "Ok.\n" * 400,
        False,
    ),
    ("a flag that it went well", {"success": True, "output": "retried what failed before"}, False),
    ("nothing", None, False),
]


@pytest.mark.parametrize(("note", "result", "failed"), OUTCOMES, ids=[row[0] for row in OUTCOMES])
def test_whether_work_failed(note: str, result: Any, failed: bool) -> None:
    call = ToolCall("task", {})
    assert tells_failure(ToolOutcome(call, result)) is failed
    assert tells_failure(ToolOutcome(call, result, is_error=True))
