"""Runs the case files: a note, a command, the word that is wanted, and the kinds of effect that must be seen.

The cases of `shell/commands/files/deletion.py` are in `shell/files/deletion.yaml`, those of the programs in
`shell/commands/system/machine.toml` in `shell/system/machine.yaml`, and those of a language in `shell/languages/`.
What no single handler answers for has a file of its own: `rules.yaml`, `secrets.yaml`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpose.effects import languages
from interpose.effects import programs as commands
from interpose.people.widenings.effect_words import effect_text
from interpose.rules.guards.command_safety_guard import CommandSafetyGuard
from tests.support.case_files import read_cases
from tests.support.noted import noted

CWD, HOME = "/workspace/project", "/home/dev"
HERE = Path(__file__).parent
CASES = HERE / "shell"
FILES = sorted(CASES.rglob("*.yaml"))
COMMANDS, LANGUAGES = Path(commands.__file__).parent, Path(languages.__file__).parent
OF_NO_MODULE = {
    "rules", "secrets", "ours", "planting", "planting_above", "bash_tables", "vanishing", "last_look", "syntax",
    "recipes", "edited", "protected_places",
}  # fmt: skip
"""Cases of the guard's own rules, of what is secret or ours wherever it is touched, of what is planted beside it
or above it, of bash's own tables and of its syntax, of words that may be nothing, of programs that nobody can follow,
of Makefiles and workflows, of files edited in place, and of what guards an agent, named by any program."""
SHARED_IN_A_FAMILY = {
    "git/calls", "git/programs", "packages/managers", "running/printf", "text/emacs_lisp", "text/ex_commands",
}  # fmt: skip
"""Modules without a command of their own: the cases of those that use them are theirs."""


def _load(path: Path) -> list[dict[str, Any]]:
    rows = read_cases(path)
    assert isinstance(rows, list), f"{path.name} is not a list of cases"
    return rows


def _place(path: Path, root: Path) -> str:
    return path.relative_to(root).with_suffix("").as_posix()


def _cases(paths: list[Path], root: Path) -> list[Any]:
    return noted((f"{_place(path, root)}:{row['note']}", (row,)) for path in paths for row in _load(path))


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
    assert {effect_text(effect) for effect in judgement.effects} >= set(row.get("says", ())), told
    # A handler that fails is answered with a question: that must not pass for an understanding.
    assert judgement.rule != "analysis-failed", told


@pytest.mark.parametrize("row", _cases(FILES, CASES))
def test_family(row: dict[str, Any], guard: CommandSafetyGuard) -> None:
    _check(row, guard)


@pytest.mark.parametrize("row", _cases([HERE / "openclaw_1_6.yaml"], HERE))
def test_openclaw(row: dict[str, Any], guard: CommandSafetyGuard) -> None:
    _check(row, guard)


@pytest.mark.parametrize("path", FILES, ids=lambda path: _place(path, CASES))
def test_every_case_says_what_it_proves(path: Path) -> None:
    for row in _load(path):
        assert row.keys() <= {"note", "command", "want", "effects", "says", "cwd", "home"}, row
        assert row["note"].strip(), row
        assert row["want"] in ("allow", "ask", "deny"), row


def test_every_handler_has_a_case_file_of_its_name() -> None:
    files = [*COMMANDS.rglob("*.py"), *COMMANDS.rglob("*.toml")]
    modules = {_place(path, COMMANDS) for path in files if path.stem != "__init__"}
    handlers = {name for name in modules if not name.startswith("shared/")}
    tested = {_place(path, CASES) for path in FILES}
    assert modules >= SHARED_IN_A_FAMILY
    assert handlers - SHARED_IN_A_FAMILY - tested == set(), "modules of commands without cases"
    known = {f"languages/{_place(path, LANGUAGES)}" for path in LANGUAGES.glob("*.py")}
    assert tested - modules - known == OF_NO_MODULE, "case files without a module"


def test_shared_modules_have_no_commands_of_their_own() -> None:
    of_commands = {family.replace(".", "/") for family in commands.families().values()}
    assert not of_commands & SHARED_IN_A_FAMILY
    assert not [name for name in of_commands if name.startswith("shared/")]
