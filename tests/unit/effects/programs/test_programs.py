"""Each program that is described as data has a handler, a category and a case, and is described nowhere else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from interpose.effects import programs as commands
from interpose.effects.handler_table import handler_of
from interpose.effects.programs import category_of
from interpose.effects.programs.shared import carriers, reveal_tables
from interpose.effects.programs.shared.program_files import read_programs
from interpose.effects.programs.shared.programs import Category, Program
from interpose.effects.shell import Ran, analyse
from interpose.rules.governance.commands import command_words
from tests.support.case_files import read_cases

ROOT = Path(commands.__file__).parent
CASES = Path(__file__).parents[3] / "cases" / "shell"
FILES = {path.relative_to(ROOT).with_suffix("").as_posix(): path for path in sorted(ROOT.rglob("*.toml"))}
PROGRAMS = {
    f"{place}:{program.names[0]}": (place, program)
    for place, path in FILES.items()
    for program in read_programs(path.read_text(encoding="utf-8"), place)
}


def _governed_words() -> set[str]:
    """The programs that governance names itself."""
    named: set[str] = set()
    for table in (
        command_words.NEUTRAL, command_words.INSPECTION, command_words.FILESYSTEM, command_words.VALIDATION,
        command_words.BUILD, command_words.RUNTIME, command_words.NETWORK, command_words.SUBCOMMANDS,
        command_words.CHECKERS, command_words.LOOKS_UNLESS,
    ):  # fmt: skip
        named |= set(table)
    return named


def _ran(place: str) -> set[str]:
    rows = read_cases(CASES / f"{place}.yaml")
    return {ran.name for row in rows for ran in analyse(row["command"]).commands}


@pytest.fixture(scope="module")
def ran() -> dict[str, set[str]]:
    return {place: _ran(place) for place in FILES}


@pytest.mark.parametrize(("place", "program"), PROGRAMS.values(), ids=list(PROGRAMS))
def test_each_program_has_a_handler_a_category_and_a_case(
    place: str, program: Program, ran: dict[str, set[str]]
) -> None:
    families = commands.families()
    for name in program.names:
        assert handler_of(name) is not None
        assert families[name] == f"{place.replace('/', '.')}.toml"
        assert category_of(name) == program.category
    assert ran[place] & set(program.names), f"tests/cases/shell/{place}.yaml has no case of {program.names[0]}"


def test_no_program_is_described_twice() -> None:
    names = {name for _, program in PROGRAMS.values() for name in program.names}
    assert len(names) > 100
    assert names & _governed_words() == set(), "its category is in the data file"
    of_secrets = {
        name
        for table in (reveal_tables.STORES, reveal_tables.CLOUDS, reveal_tables.FORGES)
        for key in table
        for name in key.split()
    }
    assert names & of_secrets == {"vault"}, "its secrets are in the data file; vault shares its rows with bao"
    assert names & set(carriers.CARRIERS) == set(), "the code that it carries is in the data file"


def test_governance_and_programs_have_the_same_categories() -> None:
    assert get_args(Category) == command_words.CATEGORIES


def test_governance_takes_the_category_from_the_data() -> None:
    from interpose.rules.governance.commands.command_categories import categories_of

    assert categories_of(Ran("hostnamectl", ("status",), (0, 18), (), "hostnamectl", True)) == ("inspection",)
    assert categories_of(Ran("xattr", ("-d", "x", "y"), (0, 12), (), "xattr", True)) == ("filesystem",)
    assert categories_of(Ran("systemctl", ("--version",), (0, 12), (), "systemctl", True)) == ("general",)
    assert categories_of(Ran("hostnamectl", ("--version",), (0, 12), (), "hostnamectl", True)) == ("inspection",)


DEFERRED = """
import json, sys
from interpose.effects.programs import category_of
from interpose.effects.shell import analyse
from interpose.effects import programs as commands

commands.defer(json.load(sys.stdin))
analyse("git status; npm test")
before = "tomllib" in sys.modules
analyse("systemctl stop sshd")
print(json.dumps([before, category_of("hostnamectl"), category_of("bw"), category_of("nosuch")]))
"""


def test_a_data_file_is_read_when_one_of_its_programs_is_met() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", DEFERRED], input=json.dumps(commands.families()), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == [False, "inspection", "general", ""]
