"""Runs the cases of tools that have no known name: a note, a call, and what the engine with its guards must say."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from interpose import Context, Engine, ToolCall, add_builtin_interceptors, create_interceptor_registry
from tests.support.case_files import read_cases
from tests.support.noted import noted

HERE = Path(__file__).parent / "tools"
HOME, CWD = "/home/dev", "/home/dev/project"
WANTED = {"allow": ("allow",), "ask": ("ask",), "deny": ("deny",), "stop": ("ask", "deny")}
DEFAULT = {"honest": "allow"}


def _cases(name: str) -> list[Any]:
    rows = read_cases(HERE / f"{name}.yaml")
    return noted((row["note"], (row, row.get("want", DEFAULT.get(name, "stop")))) for row in rows)


@cache
def _engine() -> Engine:
    return Engine(add_builtin_interceptors(create_interceptor_registry()))


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", HOME)


def _check(row: dict[str, Any], wanted: str) -> None:
    verdict = _engine().decide(ToolCall(row["tool"], row.get("args", {}), context=Context(cwd=CWD)))
    told = f"{row['note']}\n  {row['tool']} {row.get('args')}\n  {verdict.outcome} {verdict.rule}: {verdict.reason}"
    assert verdict.outcome in WANTED[wanted], told


@pytest.mark.parametrize(("row", "wanted"), _cases("honest"))
def test_honest_calls_pass(row: dict[str, Any], wanted: str) -> None:
    _check(row, wanted)


@pytest.mark.parametrize(("row", "wanted"), _cases("harmful"))
def test_harmful_calls_are_stopped(row: dict[str, Any], wanted: str) -> None:
    _check(row, wanted)
