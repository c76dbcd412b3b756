"""`interpose approvals pause`: for a while, questions are answered with yes. What is refused stays refused."""

from __future__ import annotations

import argparse
import re
import sys

import msgspec

from interpose.composition.service.operation_answers import Pause, PausesAnswer
from interpose.core.config.load import load
from interpose.core.errors import NoQuestionError, NotProvenError
from interpose.doors.cli.approving.approvals_desk import (
    EXIT_NOT_DONE,
    ServerDesk,
    add_place,
    answered,
    listening_desk,
    server_named,
)
from interpose.doors.cli.auditing.kept_store import kept_store
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.hooks.install.situation import standing_pauses
from interpose.people.approvals.desk import NO_SERVER
from interpose.people.approvals.questions import spoken_id

_EPILOG = """\
  interpose approvals pause 10m --reason "moving files"    begin one; it needs the same proof as an approval
  interpose approvals pause list                           the pauses that count now
  interpose approvals pause end ID                         end one before its time; no proof is needed

While a pause holds, what would be a question is let through, and its record names the pause. Refusals stay. So do
questions that certain people must answer (`approvers`), and those about what guards the agent.

exit codes: 0 done; 1 there is no such pause, or the proof was not enough; 64 wrong usage; 70 internal error, or a
server that can't be reached; 78 a configuration that can't be loaded"""

_SPAN = re.compile(r"([0-9]{1,4})([mh])")
_MOST_MINUTES = 480


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `pause` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        "act", metavar="TIME|list|end", nargs="?", default="list",
        help="how long, such as 10m or 2h; or list (the default), or end",
    )  # fmt: skip
    parser.add_argument("id", metavar="ID", nargs="?", default="", help="the pause that ends")
    parser.add_argument("--agent", default="", metavar="NAME", help="for this agent alone, as records name it")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for the record")
    add_place(parser)


def run(args: argparse.Namespace) -> int:
    """Run `interpose approvals pause`."""

    def act() -> int:
        match args.act:
            case "list":
                _require_no_id(args)
                return _list(args)
            case "end":
                return _end(args, _server(args))
            case _:
                _require_no_id(args)
                return _begin(args, minutes_of(args.act))

    return answered("approvals pause", args, act)


def minutes_of(text: str) -> int:
    """How many minutes are meant. UsageError if it is no such time, or too long."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no time: say 10m or 2h; or list, or end ID")
    minutes = int(found[1]) * (60 if found[2] == "h" else 1)
    if not 1 <= minutes <= _MOST_MINUTES:
        raise UsageError("a pause lasts 1 minute to 8 hours")
    return minutes


def pause_text(pause: Pause) -> str:
    """A pause in one line."""
    whose = f", of {visible(pause.agent)} alone" if pause.agent else ""
    why = f": {visible(pause.reason)}" if pause.reason else ""
    return f"{pause.id}  until {pause.ends.astimezone():%Y-%m-%d %H:%M}{whose}, by {visible(pause.by)}{why}"


def _server(args: argparse.Namespace) -> ServerDesk:
    found = server_named(args) or listening_desk(load(args.config).config)
    if found is None:
        raise NotProvenError(NO_SERVER, "no_server")
    return found


def _require_no_id(args: argparse.Namespace) -> None:
    if args.id:
        raise UsageError(f"{args.id!r}: an id belongs to `pause end`")


def _begin(args: argparse.Namespace, minutes: int) -> int:
    body = {"minutes": minutes, "agent": args.agent, "reason": args.reason}
    pause = _server(args).do("pause", Pause, body)
    if args.json:
        print_json(msgspec.to_builtins(pause))
    else:
        print(f"paused: {pause_text(pause)}\nend it with: interpose approvals pause end {pause.id}")
    return 0


def _list(args: argparse.Namespace) -> int:
    found = _standing(args)
    if args.json:
        print_json({"pauses": msgspec.to_builtins(found)})
        return 0
    for pause in found:
        print(pause_text(pause))
    if not found:
        print("nothing is paused", file=sys.stderr)
    return 0


def _standing(args: argparse.Namespace) -> list[Pause]:
    """What the server has; without one, what the store has."""
    config = load(args.config).config
    if (desk := server_named(args) or listening_desk(config)) is not None:
        return desk.do("pauses", PausesAnswer).pauses
    with kept_store(config) as store:
        return [
            Pause(id=one.id, by=one.by, begun=one.given, ends=one.ends, agent=one.agent, reason=one.comment)
            for one in standing_pauses(config, store)
        ]


def _end(args: argparse.Namespace, desk: ServerDesk) -> int:
    if not args.id:
        raise UsageError("say which one: interpose approvals pause end ID (see interpose approvals pause list)")
    try:
        desk.do("end-pause", dict[str, object], id=spoken_id(args.id))
    except NoQuestionError:
        print(f"interpose approvals pause end: there is no pause {visible(args.id)}", file=sys.stderr)
        return EXIT_NOT_DONE
    if args.json:
        print_json({"id": args.id, "ended": True})
    else:
        print(f"ended {visible(args.id)}")
    return 0
