"""Every verb with its options and arguments, read from the parsers themselves: what completes and describes them.

The parsers are asked, so that no script and no page can lag behind them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.doors.cli.helping.help_topics import topics
from interpose.doors.cli.parser import Parser, parser_of
from interpose.doors.cli.verbs import HELPS, about, module_of
from interpose.effects.ourselves.command_line import VERBS, OwnVerb, below

Kind = Literal["", "words", "file", "directory", "user", "command"]
"""How a value is completed: not at all, by fixed words, or by what the system knows."""

_BY_METAVAR: dict[str, Kind] = {
    "FILE": "file", "PATH": "file", "FILE or DIR": "file", "PATH|ADDRESS": "file", "DIR": "directory", "USER": "user",
}  # fmt: skip
_BY_NAME: dict[str, Kind] = {"cwd": "directory", "home": "directory", "path": "file", "user": "user"}


class TypedValue(Struct, frozen=True):
    """What is typed behind an option, or as an argument."""

    name: str
    kind: Kind = ""
    words: tuple[str, ...] = ()
    closed: bool = False
    """Whether nothing but these words is understood."""
    optional: bool = False
    many: bool = False


class VerbOption(Struct, frozen=True):
    """One option, with all its spellings."""

    flags: tuple[str, ...]
    help: str
    value: TypedValue | None = None
    again: bool = False
    """Whether it may be said several times."""


class VerbArgument(Struct, frozen=True):
    """What stands at a place of its own."""

    value: TypedValue
    help: str


class VerbCommand(Struct, frozen=True):
    """A verb, or a verb of a verb."""

    path: tuple[str, ...]
    help: str
    options: tuple[VerbOption, ...]
    arguments: tuple[VerbArgument, ...] = ()
    acts: tuple[VerbCommand, ...] = ()
    epilog: str = ""

    @property
    def name(self) -> str:
        """The words that lead here, without `interpose`."""
        return " ".join(self.path)

    def walk(self) -> Iterator[VerbCommand]:
        """This one and all below it."""
        yield self
        for act in self.acts:
            yield from act.walk()


def command_tree() -> VerbCommand:
    """All of the command line. Imports every verb."""
    options = (
        VerbOption(("-h", "--help"), "show every verb by what people do with it"),
        VerbOption(("-V", "--version"), "show the version"),
    )
    return VerbCommand((), "", options, acts=tuple(_verb(VERBS[name]) for name in HELPS))


def _verb(verb: OwnVerb) -> VerbCommand:
    parser = parser_of(verb, import_module(module_of(verb)))
    found = _command(verb.path, about(verb), parser)
    return replace(found, acts=(*found.acts, *map(_verb, below(verb))))


def _command(path: tuple[str, ...], help: str, parser: Parser) -> VerbCommand:  # noqa: A002 - as argparse calls it
    options: list[VerbOption] = []
    arguments: list[VerbArgument] = []
    acts: list[VerbCommand] = []
    for action in parser.parts():
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse has no other name for it
            helps = {one.dest: one.help or "" for one in action._choices_actions}  # noqa: SLF001 - nor for these
            acts += [_command((*path, act), helps.get(act, ""), below) for act, below in action.choices.items()]
        elif action.help == argparse.SUPPRESS:
            continue
        elif action.option_strings:
            value = None if action.nargs == 0 else _value(action, path)
            again = isinstance(action, argparse._AppendAction)  # noqa: SLF001 - nor for this
            options.append(VerbOption(tuple(action.option_strings), _help(action), value, again))
        else:
            arguments.append(VerbArgument(_value(action, path), _help(action)))
    return VerbCommand(path, help, tuple(options), tuple(arguments), tuple(acts), parser.epilog or "")


def _help(action: argparse.Action) -> str:
    return "show this help" if action.dest == "help" else action.help or ""


def _value(action: argparse.Action, path: tuple[str, ...]) -> TypedValue:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    name = metavar or action.dest.upper()
    kind: Kind = "words"
    closed = tuple(str(choice) for choice in action.choices or ()) or tuple(getattr(action.type, "known", ()))
    words = closed or _offered(action, path)
    if not words:
        kind = "command" if action.nargs == argparse.REMAINDER else _BY_METAVAR.get(name, _BY_NAME.get(action.dest, ""))
    many = action.nargs in ("*", "+", argparse.REMAINDER)
    return TypedValue(name.removeprefix("-- "), kind, words, bool(closed), action.nargs in ("?", "*"), many)


def _offered(action: argparse.Action, path: tuple[str, ...]) -> tuple[str, ...]:
    """Words that are offered although others may be said."""
    from interpose.core.tools import KNOWN_TOOL_NAMES
    from interpose.doors.hooks.hosts.all_hosts import HOSTS
    from interpose.rules.policy.load import pack_names

    match path, action.dest, bool(action.option_strings):
        case ("help",), "topic", False:
            return tuple(dict.fromkeys((*topics(), *HELPS)))
        case _, "host", False:
            return tuple(HOSTS)
        case _, "tool", True:
            return tuple(sorted(KNOWN_TOOL_NAMES))
        case (_, "pack", True) | (("policy", _), "name", False):
            return tuple(pack_names())
        case _:
            return ()
