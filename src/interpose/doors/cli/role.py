"""`interpose governance role`: what a role may do with a tool, a file or a command, and why."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from typing import Any

import msgspec

from interpose.core.carried_calls import canonical
from interpose.core.errors import InvalidCallError, UnloadableError
from interpose.core.types import Context, ToolCall
from interpose.doors.cli import EXIT_USAGE
from interpose.doors.cli.explaining.call_arguments import UsageError, given_arguments
from interpose.doors.cli.explaining.suggestions import unknown
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.governance import unloadable
from interpose.doors.cli.governing.governance_files import books_here
from interpose.doors.cli.governing.governance_text import rulings_page
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted
from interpose.rules.governance.roles.role_check import decision_of, rulings_for_role
from interpose.rules.governance.rulings import Ruling

EXIT_CODES = {"allow": 0, "rewrite": 0, "ask": 1, "deny": 2}

_EPILOG = """It is asked what governance.yaml says to a role: its tools, its scopes, its commands. Guards and rules are
asked by `interpose check`. Nothing is executed and nothing is recorded.

exit codes: 0 done, allowed or only noted, 1 asked, 2 denied, 64 wrong usage, 78 a governance.yaml that can't be
loaded, or none"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `role` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    listing = acts.add_parser("list", help="the roles that hold here")
    listing.add_argument("--file", metavar="FILE", help="read this file instead of those that hold here")
    listing.add_argument("--json", action="store_true", help="print the answer as JSON")
    check = acts.add_parser(
        "check", help="say whether a role may use a tool, what to do instead, and what that rests on"
    )
    check.add_argument("role", metavar="ROLE", help="the role")
    check.add_argument("tool", metavar="TOOL", help="the tool, by any agent's name for it")
    check.add_argument(
        "--path", action="append", default=[], metavar="PATH",
        help="the file that it would be used on; for move and copy, both ends",
    )  # fmt: skip
    check.add_argument("--command", help="the command that it would run")
    check.add_argument(
        "--arg", action="append", default=[], metavar="NAME=VALUE", help="an argument of the call; may be repeated"
    )
    check.add_argument("--cwd", help="where the call would run (default: here)")
    check.add_argument("--file", metavar="FILE", help="read this file instead of those that hold here")
    check.add_argument("--json", action="store_true", help="print the answer as JSON")


def run(args: argparse.Namespace) -> int:
    """Run `interpose governance role`."""
    try:
        return _list(args) if args.act == "list" else _check(args)
    except (UsageError, InvalidCallError) as error:
        print(f"interpose governance role {args.act}: {error}", file=sys.stderr)
        return EXIT_USAGE
    except UnloadableError as error:
        return unloadable(f"governance role {args.act}", error, as_json=args.json)


def _list(args: argparse.Namespace) -> int:
    books = books_here(args.file, os.getcwd())  # noqa: PTH109 - a plain text
    names = [*dict.fromkeys(name for book in books for name in book.roles)]
    if args.json:
        print_json({"roles": names})
    else:
        print("\n".join(map(visible, names)))
    return 0


def _check(args: argparse.Namespace) -> int:
    cwd = os.path.abspath(args.cwd or ".")  # noqa: PTH100 - a plain text, as the shell would say it
    books = books_here(args.file, cwd)
    names = [*dict.fromkeys(name for book in books for name in book.roles)]
    if args.role not in names:
        raise UsageError(unknown("role", args.role, names))
    arguments = {**_path_arguments(args.path), **given_arguments(args.command, args.arg)}
    call = canonical(ToolCall(args.tool, arguments, "role-check", Context(cwd=cwd, source="check")))
    rulings = rulings_for_role(books, args.role, call)
    decision = decision_of(rulings)
    if args.json:
        print_json({"role": args.role, "tool": call.name, "decision": decision, "rulings": _as_data(rulings)})
    else:
        said = " ".join([args.role, args.tool, *args.path, *([args.command] if args.command else []), *args.arg])
        print(rulings_page(said, decision, rulings, Ink(colours_wanted())))
    return EXIT_CODES[decision]


def _path_arguments(paths: list[str]) -> dict[str, str]:
    match paths:
        case []:
            return {}
        case [path]:
            return {"path": path}
        case [source, destination]:
            return {"source": source, "destination": destination}
        case _:
            raise UsageError("--path is given at most twice: where a move or copy begins, and where it ends")


def _as_data(rulings: Iterable[Ruling]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(ruling) for ruling in rulings]
