"""What agents do in a row: which of it is honest work, and which gets nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.core.tools import normalize_tool_name
from interpose.core.types import Context, ToolCall, ToolOutcome
from interpose.rules.governance.files.file_model import StallsForm
from interpose.rules.governance.sessions.sessions import GovernedSession, SeenStep
from interpose.rules.governance.stalls.stalls import with_stall
from interpose.rules.governance.stalls.step_digests import step_of
from tests.support.case_files import read_cases
from tests.support.governance.governed import after_step

FILE = Path(__file__).parent / "governance" / "stalls.yaml"
CASES = read_cases(FILE)["cases"]
HOME = "/home/u"


def word(number: int) -> str:
    """A word for a number, without any digits in it."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number)) + "x"


def steps_of(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from looped([case["each"] | {"loop": case["each"]["times"]}] if "each" in case else case["steps"])


def looped(steps: list[dict[str, Any]], number: int = 0) -> Iterator[dict[str, Any]]:
    for step in steps:
        if "loop" in step:
            for count in range(1, step["loop"] + 1):
                yield from looped(step["steps"], count)
        else:
            text = json.dumps(step).replace("{word}", word(number))
            yield json.loads(text.replace("{i}", str(number)))


def seen(step: dict[str, Any]) -> SeenStep:
    arguments = step.get("args", {}) | ({"command": step["run"]} if "run" in step else {})
    name = "exec" if "run" in step else normalize_tool_name(step["tool"])
    context = Context(session_id="s", agent_id=step.get("agent", ""), cwd="/work/project")
    call = ToolCall(name, arguments, context=context, original_name=step.get("tool", "Bash"))
    result: Any = step.get("error", step.get("result", ""))
    if "exit" in step:
        result = {"stdout": result, "exit_code": step["exit"]}
    outcome = ToolOutcome(
        call, result, is_error="error" in step, denied=step.get("denied", False),
        approver="ann" if step.get("approved") else "",
    )  # fmt: skip
    return step_of(call, outcome, HOME)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["note"]) for case in CASES])
def test_stalls(case: dict[str, Any]) -> None:
    session, said = GovernedSession(id="s"), []
    for step in map(seen, steps_of(case)):
        session, answer = after_step(StallsForm(), session, step)
        if answer is not None:
            said.append(f"{answer.kind}: {answer.word}")
            session = with_stall(session, answer)
    assert said == case["want"]


def test_there_are_many_of_each() -> None:
    """So that nobody makes the stuck ones pass at the cost of the honest ones."""
    assert len([case for case in CASES if not case["want"]]) >= 25
    assert len([case for case in CASES if case["want"]]) >= 25
