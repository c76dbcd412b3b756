"""`interpose governance`: begin a governance.yaml, read it for mistakes, show what it says and would have done."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from interpose.core.errors import GovernanceError, GovernanceProblem, UnloadableError
from interpose.core.formats.counted import plural
from interpose.doors.cli import EXIT_CONFIG, EXIT_INTERNAL
from interpose.doors.cli.explaining.suggestions import unknown
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.doors.cli.governing.governance_files import books_here, user_file
from interpose.doors.cli.governing.governance_report import REPORT_HELP, add_report_arguments, run_report
from interpose.doors.cli.governing.governance_text import role_page
from interpose.doors.cli.shared.closed_values import one_of
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import hanging
from interpose.rules.governance.files.book_notes import notes_of
from interpose.rules.governance.files.load import json_schema, ready_names, ready_text
from interpose.rules.governance.files.rulebook import Rulebook
from interpose.rules.policy.rule_places import PROJECT_GOVERNANCE

EXIT_THERE = 1

_EPILOG = """The user's file is governance.yaml beside interpose.yaml; the organisation's is
/etc/interpose/governance.yaml; a project has .interpose/governance.yaml. All that are there hold, and the strictest
answer counts. `init` never writes over a file.

exit codes: 0 done or clean, 1 there is a file already (init), 64 wrong usage, 70 internal error, 78 a governance.yaml
that can't be loaded, or none"""

Act = Callable[[argparse.Namespace], int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `governance` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    for name, (help_line, add, _) in ACTS.items():
        add(acts.add_parser(name, help=help_line))


def run(args: argparse.Namespace) -> int:
    """Run `interpose governance`."""
    try:
        return ACTS[args.act][2](args)
    except UnloadableError as error:
        return unloadable(f"governance {args.act}", error, as_json=getattr(args, "json", False))
    except BrokenPipeError:
        raise  # not an error of ours: see cli/__init__.py
    except OSError as error:
        print(f"interpose governance {args.act}: {visible(str(error))}", file=sys.stderr)
        return EXIT_INTERNAL


def unloadable(verb: str, error: UnloadableError, *, as_json: bool) -> int:
    """Say what is wrong with a governance.yaml, or with the configuration that says where it is."""
    if as_json:
        shown = [one._asdict() if isinstance(one, GovernanceProblem) else one for one in error.problems]
        print_json({"ok": False, "problems": shown})
    else:
        what = "governance.yaml" if isinstance(error, GovernanceError) else "configuration"
        print(f"interpose {verb}: a {what} that can't be loaded", file=sys.stderr)
        print("\n".join(visible(str(problem)) for problem in error.problems), file=sys.stderr)
    return EXIT_CONFIG


def add_place(parser: argparse.ArgumentParser) -> None:
    """Which file is meant, and in which form the answer is."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="(default: all that hold here)")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


# --- init


def _add_init(parser: argparse.ArgumentParser) -> None:
    known = ready_names()
    parser.add_argument(
        "--ready", type=one_of("ready file", known), choices=known, default="tiers", metavar="NAME",
        help=f"the file to begin with: {', '.join(known)} (default: tiers)",
    )  # fmt: skip
    parser.add_argument(
        "--project", action="store_true", help="begin .interpose/governance.yaml here, instead of the user's file"
    )


def _init(args: argparse.Namespace) -> int:
    file = Path(PROJECT_GOVERNANCE) if args.project else user_file()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o755 if args.project else 0o700)
    try:
        # INVARIANT: a file that is there is not touched: its comments are the user's.
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        print(f"interpose governance init: {visible(str(file))} is there already", file=sys.stderr)
        return EXIT_THERE
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(ready_text(args.ready))
    print(f"wrote {visible(str(file))}")
    return 0


# --- check


def _check(args: argparse.Namespace) -> int:
    books = books_here(args.file, os.getcwd())  # noqa: PTH109 - a plain text
    if args.json:
        print_json({"ok": True, "problems": [], "files": [_counted(book) for book in books]})
        return 0
    for book in books:
        print(f"{visible(book.file)}: nothing wrong, {_told(book)}, mode {book.mode}")
        for note in notes_of(book):
            print(hanging("  note  ", visible(note)))
    return 0


def _counted(book: Rulebook) -> dict[str, Any]:
    return {
        "file": book.file, "level": book.level, "mode": book.mode, "revision": book.revision,
        "roles": len(book.roles), "scopes": len(book.scopes), "agents": len(book.agents), "notes": [*notes_of(book)],
    }  # fmt: skip


def _told(book: Rulebook) -> str:
    parts = [
        plural(len(book.roles), "role"),
        plural(len(book.scopes), "scope"),
        plural(len(book.agents), "agent"),
        plural(len(book.chains.rules), "chain"),
        plural(len(book.budgets), "budget"),
    ]
    return ", ".join(parts)


# --- show


def _add_show(parser: argparse.ArgumentParser) -> None:
    add_place(parser)
    parser.add_argument("--role", metavar="ROLE", help="only this one")


def _show(args: argparse.Namespace) -> int:
    books = books_here(args.file, os.getcwd())  # noqa: PTH109 - a plain text
    names = [name for book in books for name in book.roles]
    if args.role is not None and args.role not in names:
        print(f"interpose governance show: {unknown('role', args.role, names)}", file=sys.stderr)
        return EXIT_CONFIG
    if args.json:
        print_json({"files": [_as_data(book, args.role) for book in books]})
        return 0
    for book in books:
        print(f"{visible(book.file)}  {book.level}, mode {book.mode}, unknown_role {book.unknown_role}")
        for role in book.roles.values():
            if args.role in (None, role.name):
                print(f"\n{role_page(book, role)}")
    return 0


def _as_data(book: Rulebook, role: str | None) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(book)
    if role is not None:
        data["roles"] = {name: one for name, one in data["roles"].items() if name == role}
    return data


# --- schema


def _add_nothing(_parser: argparse.ArgumentParser) -> None:
    """It has no arguments."""


def _schema(_args: argparse.Namespace) -> int:
    print_json(json_schema())
    return 0


ACTS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None], Act]] = {
    "init": ("write a governance.yaml to begin with, in mode watch", _add_init, _init),
    "check": ("read a file, or all that hold here, for mistakes", add_place, _check),
    "show": ("what each role may do, with all that it has from the roles above it", _add_show, _show),
    "schema": ("the JSON Schema of governance.yaml", _add_nothing, _schema),
    "report": (REPORT_HELP, add_report_arguments, run_report),
}
"""What can be done: its line of help, what adds its arguments, what runs it."""
