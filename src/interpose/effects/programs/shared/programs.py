"""Programs that are described as data: what one `Program` is, and the handler that follows from it.

shared/program_files.py reads them from the data files of a family.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from interpose.effects.handler_table import BESIDE, CATEGORIES, command
from interpose.effects.invocation import Invocation, Lowering
from interpose.effects.programs.shared.carried_code import Carrier, state_carried
from interpose.effects.programs.shared.revealing import learn_secrets
from interpose.effects.programs.shared.tool_acts import ToolActs, perform

Category = Literal["validation", "build", "git", "inspection", "runtime", "filesystem", "network", "general"]
"""What governance calls the work of a program."""


class Program(Struct, frozen=True, kw_only=True):
    """One program. All that is known of it, and the same for each of its names."""

    names: tuple[str, ...]
    category: Category
    acts: ToolActs
    """What its verbs and options do, and which options take a value."""
    secrets: str = ""
    """Under which words it prints a secret: rows as in shared/word_rows.py."""
    carries: Carrier | None = None
    """Where it is given code."""


def register_program(program: Program, family: str) -> None:
    """Make a program a command under all its names. `family` is the place of the file that describes it."""

    def handler(inv: Invocation, low: Lowering) -> None:
        perform(program.acts, inv, low)
        if program.carries is not None:
            state_carried(program.carries, inv, low)

    if program.carries is not None and not BESIDE.keys().isdisjoint(program.names):
        raise ValueError(f"shared/carriers.py has the program {program.names[0]!r}, too")
    handler.__module__ = family
    command(*program.names)(handler)
    CATEGORIES.update(dict.fromkeys(program.names, program.category))
    if program.secrets:
        learn_secrets(program.names, program.secrets)
