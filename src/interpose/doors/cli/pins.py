"""`interpose mcp pins`: what MCP servers showed when they were trusted and show now, and a person's word."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence

import msgspec

from interpose.core.errors import NoQuestionError
from interpose.doors.cli.approving.approvals_desk import add_place, answered
from interpose.doors.cli.approving.pins_desk import PinsPlace, pins_place
from interpose.doors.cli.approving.pins_text import name_shown, table, whole
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import Ink, visible
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted
from interpose.record.pins.pin_rows import PinRow

EPILOG = """What a server shows first is trusted, unless something is odd about it. What it changes or adds later is
held until you say yes. To say yes you prove to be no agent, as with `interpose approvals`; if no server runs, one is
started.

exit codes: 0 done; 1 there is nothing of this name, it changed meanwhile, or the proof was not enough; 64 wrong usage;
70 internal error, or pins that can't be read or kept; 78 a configuration that can't be loaded"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `pins` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    add_place(parser)
    parser.add_argument("--all", action="store_true", help="also what is pinned and unchanged")
    parser.set_defaults(server_name="", names=(), yes=False)
    acts = parser.add_subparsers(dest="act", metavar="act")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        # What stands before the act is not forgotten behind it.
        return acts.add_parser(name, help=text, argument_default=argparse.SUPPRESS)

    listing = add("list", "what waits for you, and every server (the default)")
    listing.add_argument("server_name", nargs="?", metavar="SERVER", help="of this server only")
    listing.add_argument("--all", action="store_true", help="also what is pinned and unchanged")
    show = add("show", "what changed, or what it says; hidden characters are spelled out")
    approve = add("approve", "trust what is shown now: all that waits, or what you name")
    reject = add("reject", "never use it: all that waits, or what you name")
    forget = add("forget", "forget a server; what it shows next is trusted as a first listing")
    for act in (show, approve, reject, forget):
        act.add_argument("server_name", metavar="SERVER", help="the server's name in the configuration")
    for act in (show, approve, reject):
        act.add_argument("names", nargs="*", metavar="TOOL", help="its tools, prompts or templates by name")
    approve.add_argument("-y", "--yes", action="store_true", help="don't show and ask first")
    for act in (listing, show, approve, reject, forget):
        add_place(act)


def run(args: argparse.Namespace) -> int:
    """Run `interpose mcp pins`."""
    args.act = args.act or "list"
    return answered("mcp pins", args, lambda: _ACTS[args.act](args, pins_place(args)))


def _list(args: argparse.Namespace, place: PinsPlace) -> int:
    rows = place.rows(args.server_name)
    if args.json:
        return _print_json(rows)
    everything = args.all or bool(args.server_name)
    shown = [row for row in rows if everything or row.state != "pinned"]
    for line in table(shown, Ink(colours_wanted()), _width()) if shown else ():
        print(line)
    if not rows:
        print("nothing is pinned: no MCP server was seen yet", file=sys.stderr)
    elif not everything:
        pinned = [row for row in rows if row.state == "pinned"]
        print(
            f"pinned and unchanged: {len(pinned)}, of {len({row.server for row in rows})} servers (--all shows them)",
            file=sys.stderr,
        )
    if any(row.waits for row in shown):
        print("look with `interpose mcp pins show SERVER [TOOL]`, then approve or reject", file=sys.stderr)
    return 0


def _show(args: argparse.Namespace, place: PinsPlace) -> int:
    rows = _wanted(_rows(args, place), args)
    if not args.names:
        rows = [row for row in rows if row.state != "pinned"] or rows
    if args.json:
        return _print_json(rows)
    _print_whole(rows)
    return 0


def _approve(args: argparse.Namespace, place: PinsPlace) -> int:
    rows = _to_decide(_rows(args, place), args)
    if not args.yes and not args.json and sys.stdin.isatty() and sys.stdout.isatty():
        _print_whole(rows)
        if input(f"Trust {_counted(rows)}? [y/N] ").strip().lower() not in ("y", "yes"):
            print("Nothing was changed.")
            return 1
    after = place.approve(args.server_name, [row.choice() for row in rows])
    return _told(args, rows, after, "trusted")


def _reject(args: argparse.Namespace, place: PinsPlace) -> int:
    rows = _to_decide(_rows(args, place), args)
    return _told(args, rows, place.reject(args.server_name, [row.choice() for row in rows]), "rejected")


def _forget(args: argparse.Namespace, place: PinsPlace) -> int:
    place.forget(args.server_name)
    if args.json:
        print_json({"server": args.server_name, "forgotten": True})
    else:
        print(f"forgot {visible(args.server_name)}: what it shows next is taken as its first listing")
    return 0


def _rows(args: argparse.Namespace, place: PinsPlace) -> list[PinRow]:
    """Those of the server that is named. Raises NoQuestionError if there is none."""
    if rows := list(place.rows(args.server_name)):
        return rows
    # `interpose mcp wrap` has pins for each command line, and nobody types what tells them apart.
    like = sorted({row.server for row in place.rows("") if row.server.startswith(f"{args.server_name}@")})
    there = f"; there is {', '.join(visible(name) for name in like[:5])}" if like else ""
    raise NoQuestionError(f"nothing is known of a server {args.server_name!r}{there}")


def _wanted(rows: Sequence[PinRow], args: argparse.Namespace) -> list[PinRow]:
    if not args.names:
        return list(rows)
    unknown = [name for name in args.names if all(row.name != name for row in rows)]
    if unknown:
        raise NoQuestionError(f"{args.server_name} has no {', '.join(map(repr, unknown))}")
    return [row for row in rows if row.name in args.names]


def _to_decide(rows: Sequence[PinRow], args: argparse.Namespace) -> list[PinRow]:
    wanted = _wanted(rows, args)
    if (tampered := next((row for row in wanted if row.state == "tampered"), None)) is not None:
        raise UsageError(
            f"{tampered.oddities[0]}. Nothing of it can be approved: look why, then `interpose mcp pins forget "
            f"{args.server_name}`"
        )
    chosen = wanted if args.names else [row for row in wanted if row.waits]
    if not chosen:
        raise NoQuestionError(f"nothing of {args.server_name} waits for an answer")
    return chosen


def _told(args: argparse.Namespace, rows: Sequence[PinRow], after: Sequence[PinRow], done: str) -> int:
    if args.json:
        return _print_json(after)
    for row in rows:
        print(f"{done}  {visible(row.server)}  {name_shown(row)}")
    return 0


def _print_whole(rows: Sequence[PinRow]) -> None:
    ink = Ink(colours_wanted())
    for number, row in enumerate(rows):
        print("\n".join(([""] if number else []) + whole(row, ink)))


def _print_json(rows: Sequence[PinRow]) -> int:
    print_json({"pins": msgspec.to_builtins(rows)})
    return 0


def _counted(rows: Sequence[PinRow]) -> str:
    return "this" if len(rows) == 1 else f"these {len(rows)}"


def _width() -> int:
    return shutil.get_terminal_size((120, 24)).columns


_ACTS = {"list": _list, "show": _show, "approve": _approve, "reject": _reject, "forget": _forget}
