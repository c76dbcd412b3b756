"""Shell text to effects: `analyse` says what a command would do, without running anything.

What programs do with their arguments is said in `effects/programs`.
"""

from __future__ import annotations

from msgspec import Struct

from interpose.effects.frozen_values import FrozenDict
from interpose.effects.invocation import UNKNOWN
from interpose.effects.programs.shared.revealing import state_printed
from interpose.effects.shell.disguises import hides
from interpose.effects.shell.simple_commands import Ran
from interpose.effects.shell.walk import Walker
from interpose.effects.syntax import parse
from interpose.effects.syntax.budget import Budget, ExhaustedError
from interpose.effects.syntax.tree import ParseProblem
from interpose.effects.values import Effect

__all__ = [
    "UNKNOWN",
    "Analysis",
    "Budget",
    "ParseProblem",
    "Ran",
    "analyse",
    "protected_places",
    "terminal_programs",
]

MAX_TEXT = 131_072
_INSTEAD = "Run it in parts, or write long content with a file tool"


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
    budget: Budget | None = None,
    search_path: str = "",
) -> Analysis:
    """The effects of running `text` in `cwd`. Never raises; what is beyond our bounds is an `opaque` effect.

    `budget` is what all analyses of one call may spend together. `search_path` is the PATH that it runs with, if known.
    """
    walker = Walker(cwd, home, budget, search_path)
    span = (0, len(text))
    if len(text) > MAX_TEXT:
        return Analysis(
            (
                _beyond(
                    "too-large", f"The text is longer than {MAX_TEXT} characters, so it is not read. {_INSTEAD}", span
                ),
            )
        )
    if (at := hides(text)) >= 0:
        walker.lowering((at, at + 1)).emit("opaque", "text", rule="hidden-text", certainty="possible",
            reason="A character in this text makes it read in another order than it runs")  # fmt: skip
    if (at := text.find("\0")) >= 0:
        walker.lowering((at, at + 1)).emit("opaque", "text", rule="hidden-text", certainty="possible",
            reason="A NUL character in this text is dropped by some shells, and ends the text for others")  # fmt: skip
        text = text.replace("\0", "")
    try:
        if dialect == "bash":
            printed = walker.script(parse(text, walker.budget), None)
            walker.finish()
            if printed.taints:
                state_printed(printed, walker.lowering(span))
        else:
            walker.lowering(span).shell(text, via=dialect, dialect=dialect)
    except ExhaustedError:
        walker.effects.append(
            _beyond("too-complex", f"To understand this takes more steps than one call gets. {_INSTEAD}", span)
        )
    except RecursionError:
        walker.effects.append(_beyond("too-deep", "The text is nested too deeply to be understood", span))
    effects = walker.effects
    if walker.runs > 1:
        effects = list(dict.fromkeys(effects))
    return Analysis(tuple(effects), tuple(walker.problems), tuple(walker.commands))


def _beyond(rule: str, reason: str, span: tuple[int, int]) -> Effect:
    """INVARIANT: it costs no step, as there may be none left."""
    return Effect("opaque", "", "unknown", span, FrozenDict({"rule": rule, "reason": reason}))
