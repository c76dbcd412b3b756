"""`interpose approvals grants`: answers that still count, and taking them back."""

from __future__ import annotations

import argparse
import shutil
import sys

import msgspec

from interpose.doors.cli.approving.approvals_desk import EPILOG, EXIT_NOT_DONE, AnyDesk, add_place, answered, opened
from interpose.doors.cli.approving.approvals_text import given_line
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `grants` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    acts = parser.add_subparsers(dest="act", metavar="act", required=True)
    listing = acts.add_parser("list", help="grants that can still be used, the oldest first; INVALID ones, too")
    revoke = acts.add_parser("revoke", help="take a grant back: the next such call is asked about again")
    revoke.add_argument("id", metavar="ID", help="the id of the grant, which is that of its question")
    for act in (listing, revoke):
        add_place(act)


def run(args: argparse.Namespace) -> int:
    """Run `interpose approvals grants`."""

    def act() -> int:
        with opened(args, read_only=args.act == "list") as desk:
            return _list(args, desk) if args.act == "list" else _revoke(args, desk)

    return answered("approvals grants", args, act)


def _list(args: argparse.Namespace, desk: AnyDesk) -> int:
    found = desk.grants()
    if args.json:
        print_json({"grants": msgspec.to_builtins(found)})
        return 0
    ink, width = Ink(colours_wanted()), shutil.get_terminal_size((120, 24)).columns
    for given in found:
        print(given_line(given, ink, width))
    if not found:
        print("nothing is granted", file=sys.stderr)
    return 0


def _revoke(args: argparse.Namespace, desk: AnyDesk) -> int:
    done = desk.revoke(args.id)
    if args.json:
        print_json({"id": args.id, "revoked": done})
    elif done:
        print(f"revoked {visible(args.id)}")
    else:
        print(f"interpose approvals grants revoke: there is no grant {visible(args.id)}", file=sys.stderr)
    return 0 if done else EXIT_NOT_DONE
