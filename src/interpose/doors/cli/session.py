"""`interpose governance session`: agents' sessions, how they stand, a person's word that stops one or lets it go on."""

from __future__ import annotations

import argparse
import shutil
import sys

import msgspec

from interpose.doors.cli.approving.approvals_desk import add_place, answered
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.governing.session_place import SessionPlace, session_place
from interpose.doors.cli.governing.session_text import detail_text, table
from interpose.doors.cli.shared.closed_values import one_of
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted
from interpose.rules.governance.sessions.session_views import SHOWN_STATES, GovernedDetail

EPILOG = """A halted session's tools are stopped; reading still works. To let it go on you prove to be no agent, as with
`interpose approvals`. Without a server sessions are shown from the store; to halt or lift one, a server is started.

exit codes: 0 done; 1 there is no such session, it is not halted, or the proof was not enough; 64 wrong usage; 70
internal error, or a store or server that can't be reached; 78 a configuration that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `session` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    listing = acts.add_parser("list", help="sessions that were active, the last one first")
    listing.add_argument("--since", default="1d", metavar="TIME", help="from then on: 90m, 2h, 7d (default: 1d)")
    listing.add_argument(
        "--state", default="", type=one_of("state", SHOWN_STATES, empty=True), metavar="STATE",
        help=f"governed sessions that stand so: {', '.join(SHOWN_STATES)}",
    )  # fmt: skip
    listing.add_argument("-n", "--limit", type=int, default=100, metavar="N", help="how many at most (default: 100)")
    show = acts.add_parser("show", help="everything about a governed session")
    halt = acts.add_parser("halt", help="stop a session's tools; reading still works")
    halt.add_argument("--reason", required=True, help="why; the agent is told")
    lift = acts.add_parser("lift", help="let a halted session go on")
    lift.add_argument("--comment", default="", help="why, for those who look later")
    for act in (show, halt, lift):
        act.add_argument("id", metavar="ID", help="the session's id, or enough of it")
    for act in (listing, show, halt, lift):
        add_place(act)


def run(args: argparse.Namespace) -> int:
    """Run `interpose governance session`."""
    return answered("governance session", args, lambda: _ACTS[args.act](args, session_place(args)))


def _list(args: argparse.Namespace, place: SessionPlace) -> int:
    if not 1 <= args.limit <= 1000:
        raise UsageError("--limit is from 1 to 1000")
    found = place.sessions(args.since, args.state, args.limit)
    if args.json:
        print_json({"sessions": msgspec.to_builtins(found)})
        return 0
    for line in table(found, Ink(colours_wanted()), shutil.get_terminal_size((120, 24)).columns):
        print(line)
    if not found:
        which = f" is {args.state}" if args.state else " was active"
        print(f"no session{which} since {visible(args.since)}", file=sys.stderr)
    return 0


def _show(args: argparse.Namespace, place: SessionPlace) -> int:
    return _print(args, place.session(args.id))


def _halt(args: argparse.Namespace, place: SessionPlace) -> int:
    if not args.reason.strip():
        raise UsageError("--reason: say why; the agent is told")
    return _print(args, place.halt(args.id, args.reason))


def _lift(args: argparse.Namespace, place: SessionPlace) -> int:
    return _print(args, place.lift(args.id, args.comment))


def _print(args: argparse.Namespace, detail: GovernedDetail) -> int:
    if args.json:
        print_json(msgspec.to_builtins(detail))
    else:
        print(detail_text(detail, Ink(colours_wanted())))
    return 0


_ACTS = {"list": _list, "show": _show, "halt": _halt, "lift": _lift}
