"""Tools of the machine as data: which of their verbs and options do what.

A tool is a row: its verbs and options with the act each of them is, the verbs that only show something, and what
follows when none of them is there.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from interpose.effects.handler_table import command
from interpose.effects.invocation import Invocation, Lowering, Stream, Word
from interpose.effects.programs.shared.options import Options, parse
from interpose.effects.programs.shared.verbs import enters
from interpose.effects.values import EffectKind

HELP = frozenset({"--help", "--version", "-h", "-V", "--usage", "-help", "-version", "-?"})
NOBODY: frozenset[str] = frozenset()


class Act(Struct, frozen=True):
    """One thing that a tool does, as the effect that it is."""

    kind: EffectKind
    rule: str
    reason: str
    recoverable: bool = False
    wide: bool = False
    instead: str = ""


class ToolActs(Struct, frozen=True):
    """One tool. `reach`: how many leading operands may be its verb. `default`: what it does without a known verb."""

    verbs: Mapping[str, Act] = {}
    options: Mapping[str, Act] = {}
    shows: frozenset[str] = NOBODY
    """Verbs and options that only look."""
    values: frozenset[str] = NOBODY
    """Options that take a value."""
    default: Act | None = None
    bare: Act | None = None
    """What it does when it is called with nothing at all."""
    assigns: Act | None = None
    """What `name=value` among the operands does."""
    reach: int = 1
    bundle: bool = True
    secret: bool = False
    """What it prints is secret even where asking for it is no offence."""
    help: frozenset[str] = HELP


def each(act: Act, *names: str) -> dict[str, Act]:
    """The same act under several names."""
    return dict.fromkeys(" ".join(names).split(), act)


def state(act: Act, low: Lowering, resource: str, at: Word | None = None) -> None:
    """State the effect of an act."""
    low.emit(
        act.kind,
        resource,
        at=at,
        rule=act.rule,
        reason=act.reason,
        recoverable=act.recoverable,
        wide=act.wide,
        instead=act.instead,
    )


def perform(tool: ToolActs, inv: Invocation, low: Lowering) -> None:
    """State what an invocation of `tool` does."""
    if enters(inv.name, inv.args, low) or any(word.text in tool.help for word in inv.args):
        return
    if tool.secret:
        low.output(Stream(None, frozenset({"secret"})))
    if not inv.args:
        if tool.bare is not None:
            state(tool.bare, low, inv.name)
        return
    opts = parse(inv.args, values=tool.values, long=[*tool.options, *tool.shows], bundle=tool.bundle)
    found = _find(tool, inv, opts)
    if found is not None:
        act, at = found
        state(act, low, " ".join(word.text for word in opts.operands) or inv.name, at)


def _find(tool: ToolActs, inv: Invocation, opts: Options) -> tuple[Act, Word | None] | None:
    for name, _ in opts.given:
        if name in tool.shows:
            return None
    for name, _ in opts.given:
        if name in tool.options:
            return tool.options[name], None
    for word in opts.operands[: tool.reach]:
        verb = word.text.lower()
        if verb in tool.shows:
            return None
        if verb in tool.verbs:
            return tool.verbs[verb], word
    if tool.assigns is not None:
        for word in opts.operands:
            if "=" in word.text:
                return tool.assigns, word
    if opts.operands and not opts.operands[0].known and tool.verbs:
        return Act("system", f"{inv.name}-unknown", "What this does to the machine only shows when it runs."), None
    return None if tool.default is None else (tool.default, None)


def register(family: str, tools: Mapping[str, ToolActs]) -> None:
    """Make each tool of a table a command. `family` is the module that holds the table."""
    for name, tool in tools.items():

        def handler(inv: Invocation, low: Lowering, tool: ToolActs = tool) -> None:
            perform(tool, inv, low)

        handler.__module__ = family
        command(name)(handler)
