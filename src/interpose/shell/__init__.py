"""Shell text to effects: `analyse` says what a command would do, without running anything.

These names are for the other rooms. `commands` is a room of its own: it says which families there are, and defers them.
"""

from __future__ import annotations

from msgspec import Struct

from interpose.shell.disguises import hides
from interpose.shell.invocation import UNKNOWN
from interpose.shell.simple_commands import ExhaustedError, Ran
from interpose.shell.syntax import parse
from interpose.shell.syntax.tree import ParseProblem
from interpose.shell.walk import Walker
from interpose.types import Effect

__all__ = ["UNKNOWN", "Analysis", "ParseProblem", "Ran", "analyse", "commands", "terminal_programs"]

MAX_TEXT = 131_072


class Analysis(Struct, frozen=True):
    """What a text would do. `problems` is what was not understood; each is an `opaque` effect too."""

    effects: tuple[Effect, ...]
    problems: tuple[ParseProblem, ...] = ()
    commands: tuple[Ran, ...] = ()


def analyse(
    text: str,
    *,
    cwd: str = "/workspace/project",
    home: str = "/home/dev",
    dialect: str = "bash",
) -> Analysis:
    """The effects of running `text` in `cwd`. Never raises; what is beyond our bounds is an `opaque` effect."""
    walker = Walker(cwd, home)
    span = (0, len(text))
    if len(text) > MAX_TEXT:
        walker.give_up("too-large", f"The text is longer than {MAX_TEXT} characters", span)
        return Analysis(tuple(walker.effects))
    if (at := hides(text)) >= 0:
        walker.lowering((at, at + 1)).emit("opaque", "text", rule="hidden-text", certainty="possible",
            reason="A character in this text makes it read in another order than it runs")  # fmt: skip
    if (at := text.find("\0")) >= 0:
        walker.lowering((at, at + 1)).emit("opaque", "text", rule="hidden-text", certainty="possible",
            reason="A NUL character in this text is dropped by some shells, and ends the text for others")  # fmt: skip
        text = text.replace("\0", "")
    try:
        if dialect == "bash":
            walker.script(parse(text), None)
            walker.finish()
        else:
            walker.lowering(span).shell(text, via=dialect, dialect=dialect)
    except ExhaustedError:
        walker.give_up("too-large", "The text stands for more commands than are looked at", span)
    except RecursionError:
        walker.give_up("too-deep", "The text is nested too deeply to be understood", span)
    effects = walker.effects
    if walker.runs > 1:
        effects = list(dict.fromkeys(effects))
    return Analysis(tuple(effects), tuple(walker.problems), tuple(walker.commands))
