"""`interpose approvals`: what agents ask, and the answers of a person."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence

import msgspec

from interpose.composition.service.operation_answers import BatchItem
from interpose.composition.service.question_views import AnsweredQuestion
from interpose.core.errors import NotProvenError
from interpose.doors.cli.approving.approvals_desk import (
    EPILOG,
    EXIT_NOT_DONE,
    AnyDesk,
    LatestDesk,
    ServerDesk,
    add_place,
    answered,
    opened,
)
from interpose.doors.cli.approving.approvals_text import now, question_line, question_text
from interpose.doors.cli.approving.approvals_yes import add_yes, edited_arguments, require_plain, scope_of
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.server_client import user_name
from interpose.doors.cli.shared.terminal import colours_wanted
from interpose.people.approvals.desk import NO_SERVER
from interpose.people.approvals.questions import Question


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `approvals` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    listing = acts.add_parser("list", help="questions that wait, the oldest first")
    listing.add_argument("--all", action="store_true", help="also those that were answered or timed out, newest first")
    show = acts.add_parser("show", help="everything about one question")
    show.add_argument("id", metavar="ID", help="the question's id; capitals and dashes don't matter")
    approve = acts.add_parser("approve", help="let the call run, once if nothing else is said")
    add_yes(approve)
    deny = acts.add_parser("deny", help="refuse the call")
    deny.add_argument("--reason", default="", help="why not; the agent is told")
    deny.add_argument("--comment", default="", metavar="TEXT", help="a word to the agent besides")
    defer = acts.add_parser("defer", help="answer later: the agent is told to go on with other work")
    defer.add_argument("--comment", default="", metavar="TEXT", help="a word to the agent")
    for act in (approve, deny, defer):
        act.add_argument("ids", metavar="ID", nargs="+", help="the question's id; several, if they are of one kind")
    watch = acts.add_parser("watch", help="a live prompt: waits, and shows each question as it comes")
    for act in (listing, show, approve, deny, defer, watch):
        add_place(act)


def run(args: argparse.Namespace) -> int:
    """Run `interpose approvals`."""

    def act() -> int:
        if args.act == "watch":
            return _watch(args)
        with opened(args) as desk:
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
    scope = scope_of(args)
    if len(args.ids) > 1:
        require_plain(args)
        return _print_all(_server(desk).approve_all(args.ids, scope, comment=args.comment), args)
    (id,) = args.ids
    arguments = edited_arguments(args, lambda: desk.question(id))
    done = desk.approve(id, user_name(), scope, comment=args.comment, arguments=arguments, kind=args.kind)
    return _print(done, args)


def _deny(args: argparse.Namespace, desk: AnyDesk) -> int:
    if len(args.ids) > 1:
        return _print_all(_server(desk).deny_all(args.ids, reason=args.reason, comment=args.comment), args)
    return _print(desk.deny(args.ids[0], user_name(), args.reason, comment=args.comment), args)


def _defer(args: argparse.Namespace, desk: AnyDesk) -> int:
    if len(args.ids) > 1:
        raise UsageError("one question is put off at a time")
    return _print(desk.defer(args.ids[0], user_name(), args.comment), args)


def _server(desk: AnyDesk) -> ServerDesk:
    if not isinstance(desk, ServerDesk):
        raise NotProvenError(NO_SERVER, "no_server")
    return desk


def _watch(args: argparse.Namespace) -> int:
    from interpose.doors.cli.approving.approvals_watch import watch

    if args.json:
        raise UsageError("watch is for people: it prints no JSON")
    desk = LatestDesk(args)
    return watch(desk, user_name(), lambda: desk.awaited)


def _print(question: Question, args: argparse.Namespace) -> int:
    if args.json:
        print_json(msgspec.to_builtins(question))
        return 0
    ink = Ink(colours_wanted())
    print(question_text(question, ink, now=now(), width=shutil.get_terminal_size((100, 24)).columns))
    for note in question.notes if isinstance(question, AnsweredQuestion) else ():
        print(f"\n  {ink('Note', '1')}  {visible(note)}")
    return 0


def _print_all(answers: Sequence[BatchItem], args: argparse.Namespace) -> int:
    """One line for each question of a batch."""
    if args.json:
        print_json({"answers": msgspec.to_builtins([msgspec.structs.asdict(one) for one in answers])})
    else:
        ink, width, moment = Ink(colours_wanted()), shutil.get_terminal_size((120, 24)).columns, now()
        for one in answers:
            if one.question is not None:
                print(question_line(one.question, ink, width, moment))
            else:
                print(f"{ink(one.id, '1')}  {ink('not done', '31')}  {visible(one.message)}")
    return 0 if all(one.question is not None for one in answers) else EXIT_NOT_DONE


_ACTS = {"list": _list, "show": _show, "approve": _approve, "deny": _deny, "defer": _defer}
