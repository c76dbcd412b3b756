"""Runs the case files: a note, a command, the word that is wanted, and the kinds of effect that must be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from interpose.guards.command_safety_guard import CommandSafetyGuard

CWD, HOME = "/workspace/project", "/home/dev"
HERE = Path(__file__).parent
FILES = sorted((HERE / "shell").glob("*.yaml"))
MIN_CASES = 40


def _load(path: Path) -> list[dict[str, Any]]:
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(rows, list), f"{path.name} is not a list of cases"
    return rows


def _cases(paths: list[Path]) -> list[Any]:
    return [
        pytest.param(row, id=f"{path.stem}:{index}") for path in paths for index, row in enumerate(_load(path), start=1)
    ]


@pytest.fixture(scope="module")
def guard() -> CommandSafetyGuard:
    return CommandSafetyGuard(home=HOME)


def _check(row: dict[str, Any], guard: CommandSafetyGuard) -> None:
    cwd = row.get("cwd", CWD)
    judgement = guard.judge(row["command"], cwd, row.get("home", HOME), cwd)
    seen = {effect.kind for effect in judgement.effects}
    told = f"{row['note']}\n  {row['command']}\n  [{judgement.rule}] {judgement.reason}\n  effects: {sorted(seen)}"
    wanted = ("ask", "deny") if row["want"] == "block" else (row["want"],)
    assert judgement.decision in wanted, told
    assert seen >= set(row.get("effects", ())), told
    # A handler that fails is answered with a question: that must not pass for an understanding.
    assert judgement.rule != "analysis-failed", told


@pytest.mark.parametrize("row", _cases(FILES))
def test_family(row: dict[str, Any], guard: CommandSafetyGuard) -> None:
    _check(row, guard)


@pytest.mark.parametrize("row", _cases([HERE / "openclaw_1_6.yaml"]))
def test_openclaw(row: dict[str, Any], guard: CommandSafetyGuard) -> None:
    _check(row, guard)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_case_says_what_it_proves(path: Path) -> None:
    rows = _load(path)
    assert len(rows) >= MIN_CASES, f"{path.name} has {len(rows)} cases, a family has at least {MIN_CASES}"
    for row in rows:
        assert row.keys() <= {"note", "command", "want", "effects", "cwd", "home"}, row
        assert row["note"].strip(), row
        assert row["want"] in ("allow", "ask", "deny"), row
    assert {row["want"] for row in rows} > {"allow"}, f"{path.name} has only one kind of answer"
