"""`interpose approvals operator handover`: let an agent ask at a prompt that may be answered by itself."""

from __future__ import annotations

import argparse
import sys

import msgspec

from interpose.composition.service.operation_answers import BegunHandOver, HandOversAnswer
from interpose.core.config.load import load
from interpose.core.errors import NoQuestionError
from interpose.doors.cli.approving.approvals_desk import (
    EXIT_NOT_DONE,
    ServerDesk,
    add_place,
    answered,
    listening_desk,
    server_named,
    started_desk,
)
from interpose.doors.cli.auditing.kept_store import was_kept
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.hooks.hosts.all_hosts import HOSTS

ABOUT = "let an agent ask ordinary questions at its own prompt, with `hooks.ask: host`"

_EPILOG = """\
  interpose approvals operator handover claude-code          begin it; you prove to be a person, as for approvals
  interpose approvals operator handover --list               which agents may ask, and where one ran something unasked
  interpose approvals operator handover claude-code --end    questions wait in the queue again; no proof is needed

exit codes: 0 done; 1 there is nothing to end, or the proof was not enough; 64 wrong usage; 70 internal error, or a
server that can't be reached; 78 a configuration that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `operator handover` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    hosts = [host.facts.name for host in HOSTS.values() if host.facts.hands_over_in]
    parser.add_argument("agent", metavar="HOST", nargs="?", default="", help=f"the agent: {', '.join(hosts)}")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--list", action="store_true", dest="listed", help="show which agents may ask")
    kind.add_argument("--end", action="store_true", help="end it")
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Run `interpose approvals operator handover`."""

    def act() -> int:
        if args.listed or not args.agent:
            return _list(args)
        host = HOSTS.get(args.agent)
        if host is None or not host.facts.hands_over_in:
            raise UsageError(f"{args.agent!r} has no prompt to which questions can be handed over")
        return _end(args, _server(args)) if args.end else _begin(args, _server(args))

    return answered("approvals operator", args, act)


def _server(args: argparse.Namespace) -> ServerDesk:
    return server_named(args) or started_desk(load(args.config).config)


def _look(args: argparse.Namespace) -> HandOversAnswer:
    """What a server says. In a home in which nothing was kept yet there is nothing, and no server is started for it."""
    found = server_named(args)
    if found is None:
        config = load(args.config).config
        found = listening_desk(config) or (started_desk(config) if was_kept(config) else None)
    return (
        HandOversAnswer(hand_overs=[], counts=False, ended=[])
        if found is None
        else found.do("hand-overs", HandOversAnswer)
    )


def _begin(args: argparse.Namespace, desk: ServerDesk) -> int:
    made = desk.do("hand-over", BegunHandOver, {"host": args.agent})
    if args.json:
        print_json(msgspec.to_builtins(made))
        return 0
    facts = HOSTS[made.host].facts
    print(
        f"{facts.title} may ask ordinary questions at its own prompt in mode {', '.join(facts.hands_over_in)}, where "
        "`hooks.ask: host` is set.\nInterpose does not see who answers there. If it runs a call without asking, the "
        f"result is withheld and this ends.\nEnd it with: interpose approvals operator handover {made.host} --end"
    )
    return 0


def _list(args: argparse.Namespace) -> int:
    found = _look(args)
    if args.json:
        print_json(msgspec.to_builtins(found))
        return 0
    for one in found.hand_overs:
        counts = "" if found.counts else "; it does not count, as hooks.ask is not `host`"
        print(f"{one.host}  since {one.begun.astimezone():%Y-%m-%d %H:%M}, by {visible(one.by)}{counts}")
    for text in found.ended:
        print(f"ended: {visible(text)} ran a call without asking; begin it again to hand over there")
    if not found.hand_overs:
        print("nothing is handed over", file=sys.stderr)
    return 0


def _end(args: argparse.Namespace, desk: ServerDesk) -> int:
    try:
        desk.do("end-hand-over", dict[str, object], host=args.agent)
    except NoQuestionError:
        print(
            f"interpose approvals operator handover: nothing is handed over to {visible(args.agent)}", file=sys.stderr
        )
        return EXIT_NOT_DONE
    if args.json:
        print_json({"host": args.agent, "ended": True})
    else:
        print(f"ended: questions of {args.agent} wait in the queue again")
    return 0
