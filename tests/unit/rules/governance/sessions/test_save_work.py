"""What passes when a budget is used up, and what only looks like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpose.core.carried_calls import canonical
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.files.file_model import SaveWorkForm
from interpose.rules.governance.files.rulebook import Rulebook
from interpose.rules.governance.sessions.save_work import saves_work
from tests.support.case_files import read_cases
from tests.support.noted import noted

CASES = read_cases(Path(__file__).parents[4] / "cases/governance/save_work.yaml")


DEFAULTS = SaveWorkForm()


def saves(tool: str, arguments: dict[str, Any], form: SaveWorkForm = DEFAULTS) -> bool:
    call = canonical(ToolCall(tool, arguments, context=Context(cwd="/p")))
    return saves_work(Rulebook(file="governance.yaml", save_work=form), call, "/home/u")


@pytest.mark.parametrize("case", noted((case["note"], (case,)) for case in CASES))
def test_what_saves_work(case: dict[str, Any]) -> None:
    assert saves(case["tool"], case["arguments"]) == case["saves"]


def test_an_operator_says_what_saves_work() -> None:
    form = SaveWorkForm(tools=("exec",), commands=(), writes=("~/journal/**", "/var/notes/*"))
    assert saves("Bash", {"command": "make save"}, form)
    assert saves("Write", {"file_path": "~/journal/2026/a.txt", "content": ""}, form)
    assert saves("Write", {"file_path": "/home/u/journal/a", "content": ""}, form)
    assert saves("Write", {"file_path": "/var/notes/a", "content": ""}, form)
    assert not saves("Write", {"file_path": "/var/notes/a/b", "content": ""}, form)
    assert not saves("Write", {"file_path": "notes.md", "content": ""}, form)
    assert not saves("Read", {"file_path": "notes.md"}, form)
    assert not saves("Bash", {"command": "git status"}, SaveWorkForm(tools=(), commands=(), writes=()))
