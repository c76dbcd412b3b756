"""Runs the cases of governance: a rulebook, a role, a call in a project of its own, and what must be said to it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from interpose.core.carried_calls import canonical
from interpose.core.errors import GovernanceError
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.commands.command_categories import command_rulings
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.files.rulebook import Rulebook, Seat
from interpose.rules.governance.roles.roles import role_rulings
from interpose.rules.governance.roles.scopes import scope_rulings
from interpose.rules.governance.rulings import Ruling
from tests.support.case_files import read_cases
from tests.support.noted import noted

HERE = Path(__file__).parent / "governance"
FILES = ("commands", "scopes", "tools")
"""Those of roles; the others have runners of their own."""
WORDS = ("allow", "note", "ask", "deny")


@cache
def _read(name: str) -> dict[str, Any]:
    data: dict[str, Any] = read_cases(HERE / f"{name}.yaml")
    return data


@cache
def _book(name: str) -> Rulebook:
    return load_rulebook(yaml.safe_dump(_read(name)["rulebook"], sort_keys=False), f"{name}.yaml", "user")


def _cases() -> list[Any]:
    return noted((f"{name}: {row['note']}", (name, row)) for name in FILES for row in _read(name)["cases"])


@pytest.mark.parametrize(("name", "row"), _cases())
def test_a_role_is_told(name: str, row: dict[str, Any], tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "proj"
    _lay_out(project, _read(name).get("files", []) + row.get("files", []), row.get("links", {}))
    book = _book(name)
    call = _call(row, home, project)
    seat = Seat(book=book, role=book.roles[row["role"]])
    said = (
        *role_rulings(seat, call, str(home)),
        *scope_rulings(seat, call, str(home)),
        *command_rulings(seat, call, str(home)),
    )
    told = "\n  ".join(
        (f"{call.name} {call.arguments}", *(f"{one.said}: {one.reason}; {one.evidence}" for one in said))
    )
    assert _worst(said) == row["want"], told
    if "rule" in row:
        assert f"governance/{row['rule']}" in {one.rule for one in said if one.said == row["want"]}, told
    says = row.get("says", [])
    for text in [says] if isinstance(says, str) else says:
        assert any(text in f"{one.reason} | {one.instead} | {one.evidence}" for one in said), told


def _lay_out(project: Path, files: list[str], links: dict[str, str]) -> None:
    (project / ".git").mkdir(parents=True)
    for name in files:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text("x", encoding="utf-8")
    for name, target in links.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).symlink_to(target)


def _call(row: dict[str, Any], home: Path, project: Path) -> ToolCall:
    places = {"$PROJECT": str(project), "$HOME_OF_USER": str(home)}
    arguments = {"command": row["command"]} if "command" in row else row.get("args", {})
    cwd = project / row.get("in", ".")
    return canonical(ToolCall(row.get("tool", "Bash"), _filled(arguments, places), context=Context(cwd=str(cwd))))


def _filled(value: Any, places: dict[str, str]) -> Any:
    match value:
        case str():
            for name, path in places.items():
                value = value.replace(name, path)
            return value
        case dict():
            return {key: _filled(item, places) for key, item in value.items()}
        case list():
            return [_filled(item, places) for item in value]
        case _:
            return value


def _worst(said: tuple[Ruling, ...]) -> str:
    return max((one.said for one in said), key=WORDS.index, default="allow")


def test_every_file_has_cases_of_each_kind() -> None:
    """A runner that says the same to all would not be noticed by a file of one kind."""
    for name in FILES:
        wanted = {row["want"] for row in _read(name)["cases"]}
        assert {"allow", "deny"} <= wanted, name


def _mistakes() -> list[Any]:
    rows = read_cases(HERE.parent / "governance_mistakes.yaml")
    return noted((row["note"], (row["text"], row["says"])) for row in rows)


@pytest.mark.parametrize(("text", "says"), _mistakes())
def test_what_is_wrong_in_a_file_is_told(text: str, says: str) -> None:
    with pytest.raises(GovernanceError) as raised:
        load_rulebook(text, "g.yaml", "user")
    told = [str(problem) for problem in raised.value.problems]
    assert any(says in line for line in told), told
    assert all(line.startswith("g.yaml:") for line in told)
