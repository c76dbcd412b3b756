"""What a yes on the command line says: for how much it counts, and to which call."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from interpose.core.errors import text_of
from interpose.core.formats.strict_json import StrictJsonError, decode
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.people.approvals.questions import SHOWN_LIMIT, Question
from interpose.people.approvals.scopes import ONCE, SESSION, Scope, scope

_SPAN = re.compile(r"([0-9]{1,6})([smhd])")
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def add_yes(approve: argparse.ArgumentParser) -> None:
    """What `approvals approve` understands."""
    approve.add_argument("--once", action="store_true", help="for one call (the default)")
    approve.add_argument("--uses", type=int, metavar="N", help="for N calls of this session")
    approve.add_argument("--session", action="store_true", help="for every such call of this session, for a day")
    approve.add_argument(
        "--until", metavar="TIME", help="for every such call of any session: 2h, 30m, 18:00, or 2026-01-31T18:00"
    )
    approve.add_argument(
        "--kind", metavar="W1", default="", help="for a kind of call: one of the widenings that `show` lists"
    )
    approve.add_argument(
        "--for", dest="span", metavar="TIME", help="how long a kind of call is granted: 10m (the default), 2h"
    )
    approve.add_argument(
        "--all-sessions", action="store_true", help="a kind of call in other sessions of the same agent here, too"
    )
    approve.add_argument("--edit", metavar="FILE", help="let this call run instead: all of its arguments, as JSON")
    approve.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="the same call with another argument; repeatable",
    )
    approve.add_argument(
        "--comment", default="", metavar="TEXT", help="a word to the agent, and for those who look later"
    )


def scope_of(args: argparse.Namespace) -> Scope:
    """For how much the yes counts. UsageError or ScopeError if that does not go together."""
    present = datetime.now().astimezone()
    if args.kind:
        if args.once or args.session or args.until:
            raise UsageError("--kind goes with --for and --uses, not with --once, --session or --until")
        until = None if args.span is None else moment_of(args.span, present)
        return scope("kind", uses=args.uses, until=until, sessions="all" if args.all_sessions else "this")
    if args.span or args.all_sessions:
        raise UsageError("--for and --all-sessions belong to --kind")
    if sum((args.once, args.session, args.uses is not None, args.until is not None)) > 1:
        raise UsageError("say one of --once, --uses, --session and --until")
    if args.uses is not None:
        return scope("uses", uses=args.uses)
    if args.until is not None:
        return scope("until", until=moment_of(args.until, present))
    return SESSION if args.session else ONCE


def require_plain(args: argparse.Namespace) -> None:
    """Several questions have one answer: UsageError for what belongs to one call."""
    if args.kind or args.edit or args.set:
        raise UsageError("--kind, --edit and --set are for one question at a time")


def edited_arguments(args: argparse.Namespace, asked: Callable[[], Question]) -> dict[str, Any] | None:
    """The arguments that shall run instead; None if the call stays as it is. Raises UsageError."""
    if args.edit and args.set:
        raise UsageError("say --edit or --set, not both")
    if args.edit:
        return _read(args.edit)
    if not args.set:
        return None
    shown = asked().arguments
    if not isinstance(shown, dict):
        raise UsageError("the call is too long to be shown whole: give all of its arguments with --edit FILE")
    arguments = dict(shown)
    for text in args.set:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {text!r}: say KEY=VALUE")
        arguments[name] = _like(shown.get(name), value)
    return arguments


def _like(before: object, value: str) -> object:
    """A text stays a text; anything else is read as JSON, and is a text if it is none."""
    if isinstance(before, str):
        return value
    try:
        return decode(value.encode())
    except (StrictJsonError, UnicodeEncodeError):
        return value


def _read(file: str) -> dict[str, Any]:
    try:
        data = sys.stdin.buffer.read(SHOWN_LIMIT + 1) if file == "-" else _bytes(file)
        if len(data) > SHOWN_LIMIT:
            raise UsageError(f"{file}: more than {SHOWN_LIMIT} bytes of arguments")
        found = decode(data)
    except OSError as error:
        raise UsageError(f"{file}: can't be read: {error.strerror}") from None
    except StrictJsonError as error:
        raise UsageError(f"{file}: {text_of(error)}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{file}: arguments are an object, not {type(found).__name__}")
    return found


def _bytes(file: str) -> bytes:
    with Path(file).open("rb") as opened_file:
        return opened_file.read(SHOWN_LIMIT + 1)


def moment_of(text: str, present: datetime) -> datetime:
    """The time that is meant: so long from now, a time of the clock that comes next, or a date. UsageError if none."""
    if span := _SPAN.fullmatch(text):
        return present + timedelta(**{_UNITS[span[2]]: int(span[1])})
    if clock := _CLOCK.fullmatch(text):
        today = present.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        return today if today > present else today + timedelta(days=1)
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is no time: say 2h, 30m, 18:00, or 2026-01-31T18:00") from None
