"""`interpose approvals`: what agents ask, and the answers of a person."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from datetime import UTC, datetime, timedelta

import msgspec

from interpose.approvals.questions import Question
from interpose.approvals.scopes import ONCE, SESSION, Scope, scope
from interpose.cli.approvals_desk import EPILOG, AnyDesk, LatestDesk, add_place, answered, opened
from interpose.cli.approvals_text import now, question_line, question_text
from interpose.cli.call_arguments import UsageError
from interpose.cli.json_output import print_json
from interpose.cli.server_client import user_name
from interpose.cli.terminal import colours_wanted
from interpose.cli.verdict_text import Ink

HELP = "answer what agents ask: list, show, approve, deny, or watch and answer as it comes"

_SPAN = re.compile(r"([0-9]{1,6})([smhd])")
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `approvals` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    listing = acts.add_parser("list", help="questions that wait, the oldest first")
    listing.add_argument("--all", action="store_true", help="also those that were answered or timed out, newest first")
    show = acts.add_parser("show", help="everything about one question")
    approve = acts.add_parser("approve", help="let the call run, once if nothing else is said")
    how_long = approve.add_mutually_exclusive_group()
    how_long.add_argument("--once", action="store_true", help="for one call (the default)")
    how_long.add_argument("--uses", type=int, metavar="N", help="for N calls of this session")
    how_long.add_argument("--session", action="store_true", help="for every such call of this session, for a day")
    how_long.add_argument(
        "--until", metavar="TIME", help="for every such call of any session: 2h, 30m, 18:00, or 2026-01-31T18:00"
    )
    approve.add_argument("--comment", default="", help="why, for those who look later")
    deny = acts.add_parser("deny", help="refuse the call")
    deny.add_argument("--reason", default="", help="why not; the agent is told")
    for act in (show, approve, deny):
        act.add_argument("id", metavar="ID", help="the question's id; capitals and dashes don't matter")
    watch = acts.add_parser("watch", help="a live prompt: waits, and shows each question as it comes")
    for act in (listing, show, approve, deny, watch):
        add_place(act)


def run(args: argparse.Namespace) -> int:
    """Run `interpose approvals`."""

    def act() -> int:
        if args.act == "watch":
            return _watch(args)
        with opened(args, read_only=True) as desk:
            return _ACTS[args.act](args, desk)

    return answered("approvals", args, act)


def _list(args: argparse.Namespace, desk: AnyDesk) -> int:
    found = desk.recent() if args.all else desk.asked()
    if args.json:
        print_json({"approvals": msgspec.to_builtins(found)})
        return 0
    ink, width, moment = Ink(colours_wanted()), shutil.get_terminal_size((120, 24)).columns, now()
    for question in found:
        print(question_line(question, ink, width, moment))
    if not found:
        print("nothing waits for an answer", file=sys.stderr)
    return 0


def _show(args: argparse.Namespace, desk: AnyDesk) -> int:
    return _print(desk.question(args.id), args)


def _approve(args: argparse.Namespace, desk: AnyDesk) -> int:
    return _print(desk.approve(args.id, user_name(), _scope(args), comment=args.comment), args)


def _deny(args: argparse.Namespace, desk: AnyDesk) -> int:
    return _print(desk.deny(args.id, user_name(), args.reason), args)


def _watch(args: argparse.Namespace) -> int:
    from interpose.cli.approvals_watch import watch

    if args.json:
        raise UsageError("watch is for people: it prints no JSON")
    desk = LatestDesk(args)
    return watch(desk, user_name(), lambda: desk.awaited)


def _print(question: Question, args: argparse.Namespace) -> int:
    if args.json:
        print_json(msgspec.to_builtins(question))
    else:
        print(question_text(question, Ink(colours_wanted()), now=now()))
    return 0


def _scope(args: argparse.Namespace) -> Scope:
    if args.uses is not None:
        return scope("uses", uses=args.uses)
    if args.until is not None:
        return scope("until", until=moment_of(args.until, datetime.now().astimezone()))
    return SESSION if args.session else ONCE


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


_ACTS = {"list": _list, "show": _show, "approve": _approve, "deny": _deny}
