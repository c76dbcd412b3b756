"""The parser of the command line, for every verb but `hook`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

from interpose.doors.cli.explaining.suggestions import did_you_mean, shown, unknown
from interpose.doors.cli.shared.terminal import WIDEST, page_width, wrapped
from interpose.doors.cli.verbs import about
from interpose.effects.ourselves.command_line import OwnVerb, below

EXIT_USAGE = 64


class WrappedHelp(argparse.HelpFormatter):
    """Help that fits the terminal: paragraphs are wrapped, lines that are indented stay as they are."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=page_width() or WIDEST)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled: list[str] = []
        for paragraph in text.split("\n\n"):
            if paragraph.startswith(" "):
                filled.append(paragraph)
            else:
                filled.append("\n".join(wrapped(" ".join(paragraph.split()), width, first=indent, later=indent)))
        return "\n\n".join(filled)


class Acts(argparse._SubParsersAction):  # type: ignore[type-arg]  # noqa: SLF001 - argparse has no other name for it
    """The verbs below a verb. What is said of one in the list is the beginning of its own page, too."""

    def add_parser(self, name: str, **options: Any) -> Any:
        """As in the parent."""
        options.setdefault("description", options.get("help"))
        return super().add_parser(name, **options)


class Parser(argparse.ArgumentParser):
    """Wrong usage has one exit code everywhere, and says what was probably meant."""

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        """As in the parent, where an argument that may be left out is asked for when another one is missing."""
        if options.get("nargs") == "*":
            options.setdefault("default", [])
        return super().add_argument(*names, **options)

    def add_subparsers(self, **options: Any) -> Any:
        """As in the parent, with verbs whose pages say what they do."""
        return super().add_subparsers(action=Acts, **options)

    below: tuple[OwnVerb, ...] = ()
    """Verbs below this one that have a parser of their own."""

    def show_below(self, verbs: Sequence[OwnVerb]) -> None:
        """Name verbs in the help that are found before this parser is asked."""
        self.below = tuple(verbs)
        if verbs:
            shown = self.add_argument_group("below it, each with a --help of its own")
            for verb in verbs:
                shown._group_actions.append(  # noqa: SLF001 - argparse has no way to show what it does not parse
                    argparse.Action([], verb.path[-1], metavar=verb.path[-1], help=verb.help)
                )

    def format_help(self) -> str:
        """The page about this verb."""
        self.formatter_class = WrappedHelp
        return super().format_help()

    def format_usage(self) -> str:
        """The line that shows how it is called."""
        self.formatter_class = WrappedHelp
        return super().format_usage()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Understand a command line. Whoever parses the innermost verb knows best what a word may have meant."""
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(self._unrecognised(rest))
        return parsed, rest

    def _unrecognised(self, rest: Sequence[str]) -> str:
        typed = next((word for word in rest if word.startswith("-") and word != "-"), "").partition("=")[0]
        if meant := did_you_mean(typed, self._option_string_actions):
            return f"there is no option {shown(typed)}.{meant}"
        takes_command = any(action.dest == "command" and action.nargs == "?" for action in self._actions)
        quoting = f" Put a command into quotes: {self.prog} 'rm -rf build'" if takes_command else ""
        if typed:
            return f"there is no option {shown(typed)}.{quoting}"
        one = " One agent at a time." if any(action.dest == "host" for action in self._actions) else ""
        return f"unexpected argument {shown(rest[0])}.{quoting}{one}"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As in the parent, with the value that was probably meant."""
        if action.choices is not None and value not in action.choices:
            is_verb = isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 - no other way
            what = "verb" if is_verb else "value" if action.option_strings else action.dest
            known = [str(choice) for choice in action.choices]
            known += [verb.path[-1] for verb in self.below] if is_verb else []
            raise argparse.ArgumentError(action if what == "value" else None, unknown(what, str(value), known))

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """As in the parent, without names of types."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as error:
            if isinstance(error.__context__, ValueError):
                raise argparse.ArgumentError(action, f"{shown(arg_string)} is no number") from None
            raise

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n`{self.prog} --help` says more.\n")

    def parts(self) -> list[argparse.Action]:
        """Options, arguments, and the verbs below this one, in the order in which they were added."""
        return list(self._actions)

    def acts(self) -> dict[str, Parser]:
        """The verbs below this one."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse has no other name for it
                return dict(action.choices)
        return {}


def parser_of(verb: OwnVerb, module: ModuleType) -> Parser:
    """The parser of a verb, from its module."""
    parser = Parser(prog=f"interpose {verb.name}", description=about(verb))
    module.add_arguments(parser)
    parser.show_below(below(verb))
    return parser
