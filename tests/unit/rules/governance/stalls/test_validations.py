"""Reports of validators: what one is, what takes the place of a result, and when fixing gets nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.core.types import ToolCall, ToolOutcome
from interpose.rules.governance.files.file_model import StallsForm
from interpose.rules.governance.sessions.sessions import GovernedSession
from interpose.rules.governance.stalls.validations import (
    ValidationReport,
    blocked_text,
    report_of,
    report_stall,
    with_report,
)

BLOCKING = {"shouldBlock": True, "violations": ["no id", {"message": "no title", "location": "a.md:1"}]}
FOUND = ("no id", "a.md:1: no title")
TOOL = "idumb-validate"

REPORTS: list[tuple[str, str, Any, ValidationReport | None]] = [
    ("the seed's words", TOOL, BLOCKING, ValidationReport(False, FOUND, blocks=True)),
    ("as text", TOOL, '{"shouldBlock": true, "violations": ["no id"]}', ValidationReport(False, ("no id",), True)),
    (
        "in the parts of MCP", "mcp__x__validate",
        {"content": [{"type": "text", "text": '{"shouldBlock": true, "violations": ["no id"]}'}]},
        ValidationReport(False, ("no id",), True),
    ),
    ("it does not block", TOOL, BLOCKING | {"shouldBlock": False}, ValidationReport(False, FOUND)),
    ("it found nothing", TOOL, {"shouldBlock": False, "violations": []}, ValidationReport(True)),
    ("other words", TOOL, {"valid": False, "errors": [{"file": "a.py", "line": 3, "message": "x"}]},
     ValidationReport(False, ("a.py:3: x",))),
    ("an agent's verdict", "task", "## Verdict: FAIL\n- no id\n- x", ValidationReport(False, ("no id", "x"))),
    ("an agent of Claude Code", "Task", {"content": [{"type": "text", "text": "VALIDATION FAILED\n- no id"}]},
     ValidationReport(False, ("no id",))),
    ("an agent that lets it pass", "task", "All good.\n\n**Status: PASSED**", ValidationReport(True)),
    ("an agent that only lists", "task", "Failed attempts so far:\n- one\n- two", None),
    ("what a file says", "read", BLOCKING, None),
    ("what a program prints", "exec", '{"shouldBlock": true, "violations": ["x"]}', None),
    ("a round of planner and checker", TOOL, {"issues": ["x"], "score": 3, "valid": False}, None),
    ("an object without a word on it", TOOL, {"issues": ["x"]}, None),
    ("half of an object", TOOL, '{"shouldBlock": true, "violations": [', None),
]  # fmt: skip


@pytest.mark.parametrize(("note", "tool", "value", "want"), REPORTS, ids=[row[0] for row in REPORTS])
def test_what_a_report_is(note: str, tool: str, value: Any, want: ValidationReport | None) -> None:
    call = ToolCall(tool if tool != "Task" else "task", {}, original_name=tool)
    assert report_of(call, ToolOutcome(call, value)) == want
    assert report_of(call, ToolOutcome(call, value, denied=True)) is None


def test_a_result_that_was_replaced_is_the_same_report() -> None:
    """Stalls are looked for when the result is the one that the agent gets."""
    call = ToolCall(TOOL, {})
    report = report_of(call, ToolOutcome(call, BLOCKING))
    assert report is not None
    text = blocked_text(call, report)
    assert text.splitlines()[0] == "VALIDATION FAILED: idumb-validate"
    assert text.splitlines()[-1] == "Fix the issues above and retry."
    assert report_of(call, ToolOutcome(call, text)) == report


def after(*reports: ValidationReport, form: StallsForm | None = None) -> list[str]:
    session, said = GovernedSession(id="s"), []
    for report in reports:
        session = with_report(session, report)
        answer = None if report.passed else report_stall(form or StallsForm(), session)
        said += [f"{answer.kind} {answer.word}"] if answer is not None else []
    return said


SAME, OTHER, PASSED = ValidationReport(False, ("x",)), ValidationReport(False, ("x", "y")), ValidationReport(True)


@pytest.mark.parametrize(
    ("note", "reports", "want"),
    [
        ("thrice the same", [SAME] * 3, ["validator-fix remind"]),
        ("and on to the halt", [SAME] * 9, [f"validator-fix {word}" for word in ("remind", "ask", "halt")]),
        ("something else came in between", [SAME, SAME, OTHER, SAME, SAME], []),
        ("it passed in between", [SAME, SAME, PASSED, SAME, SAME], []),
        ("the lines moved", [ValidationReport(False, (f"a.py:{line}: x",)) for line in (1, 5, 9)],
         ["validator-fix remind"]),
    ],
)  # fmt: skip
def test_a_validator_that_says_the_same(note: str, reports: list[ValidationReport], want: list[str]) -> None:
    assert after(*reports) == want, note
    assert after(*reports, form=StallsForm(same_error=0)) == [], "it can be switched off"
