"""Rounds of planner and checker, and of fixer and validator: reported ones, and those read from live results."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.core.types import ToolCall, ToolOutcome
from interpose.rules.governance.files.file_model import StallsForm
from interpose.rules.governance.sessions.sessions import GovernedSession
from interpose.rules.governance.stalls.check_rounds import CheckRound, round_of, round_stall, with_round
from tests.support.governance.governed import after_round

FORM = StallsForm()
NEW = GovernedSession(id="s")

ROUNDS: list[tuple[str, list[tuple[str, float]], list[str]]] = [
    ("three equal ones and a score that does not improve, twice", [("a", 5)] * 4, ["remind"]),
    ("once is not enough", [("a", 5)] * 3, []),
    ("and on to the halt", [("a", 5)] * 6, ["remind", "ask", "halt"]),
    ("a score that falls does not improve", [("a", 9), ("a", 8), ("a", 7), ("a", 6)], ["remind"]),
    ("a score that rises does", [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("a", 5), ("a", 6)], []),
    ("other issues", [("a", 5), ("a", 5), ("b", 5), ("a", 5), ("a", 5), ("b", 5)], []),
    ("it improves in between", [("a", 5), ("a", 5), ("a", 5), ("a", 6), ("a", 6)], []),
    ("and then no more", [("a", 5), ("a", 5), ("a", 5), ("a", 6), ("a", 6), ("a", 6)], ["remind"]),
]


@pytest.mark.parametrize(("note", "rounds", "want"), ROUNDS, ids=[row[0] for row in ROUNDS])
def test_planner_and_checker(note: str, rounds: list[tuple[str, float]], want: list[str]) -> None:
    session, said = NEW, []
    for issues, score in rounds:
        session, answer = after_round(FORM, session, CheckRound(issues, score))
        said += [answer.word] if answer is not None else []
    assert said == want


def test_two_rulebooks_look_at_the_same_rounds() -> None:
    session, said = NEW, []
    for _ in range(5):
        session = with_round(session, CheckRound("a", 1.0))
        found = [round_stall(StallsForm(same_issues=needed), session) for needed in (2, 3)]
        said.append(tuple(answer and answer.word for answer in found))
    assert said == [(None, None), (None, None), ("remind", None), ("ask", "remind"), ("halt", "ask")]


def test_it_can_be_switched_off_and_set() -> None:
    for form, want in ((StallsForm(same_issues=0), 0), (StallsForm(same_issues=8), 1)):
        session, said = NEW, 0
        for _ in range(9):
            session, answer = after_round(form, session, CheckRound("a", 1.0))
            said += answer is not None
        assert said == want


def result(value: Any, name: str = "task", **outcome: Any) -> CheckRound | None:
    call = ToolCall(name, {})
    return round_of(call, ToolOutcome(call, value, **outcome))


LIVE: list[tuple[str, Any, str, float | None]] = [
    ("a tool that answers an object", {"issues": ["no tests"], "score": 6}, "mcp__x__check", 6.0),
    ("the same as text", '{"issues": [{"message": "no tests", "line": 3}], "score": 6.5}', "mcp__x__check", 6.5),
    ("the parts of MCP", {"content": [{"type": "text", "text": '{"problems": [], "score": 1}'}]}, "mcp__x__check", 1.0),
    ("what an agent writes", "Review:\n- no tests\n- no docs\n\nScore: 6/10", "task", 6.0),
    ("with stars", "1. no tests\n**Overall score**: 7.5", "task", 7.5),
    ("what a file says", {"issues": ["x"], "score": 1}, "read", None),
    ("what a program prints", '{"issues": ["x"], "score": 1}', "exec", None),
    ("text of another tool", "- a\nScore: 6", "exec", None),
    ("no score", "- a\n- b", "task", None),
    ("no issues", "Score: 5", "task", None),
    ("a score that is none", {"issues": [], "score": True}, "task", None),
    ("no number", {"issues": [], "score": float("nan")}, "task", None),
    ("half of an object", '{"issues": [', "mcp__x__check", None),
    ("nothing", None, "task", None),
]


@pytest.mark.parametrize(("note", "value", "tool", "score"), LIVE, ids=[row[0] for row in LIVE])
def test_rounds_in_live_results(note: str, value: Any, tool: str, score: float | None) -> None:
    found = result(value, tool)
    assert (None if found is None else found.score) == score
    assert result(value, tool, denied=True) is None


def test_the_same_issues_in_another_order_with_other_numbers_are_the_same() -> None:
    one = result("- unused import in line 3\n- no tests\nScore: 5")
    other = result("- no tests\n- unused import in line 40\nScore: 4")
    assert one is not None
    assert other is not None
    assert one.issues == other.issues
    assert result("- something else\nScore: 5") != CheckRound(one.issues, 5.0)
