"""`interpose open`: show the page in a browser, and let that browser in."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from interpose.composition.service.operation_answers import PageAddress, Paired, SignedOut
from interpose.core.config.load import load
from interpose.core.errors import NotProvenError
from interpose.doors.cli.approving.approvals_desk import EXIT_NOT_DONE, ServerDesk, answered, started_desk
from interpose.doors.cli.explaining.call_arguments import UsageError
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.effects.systems import this_system
from interpose.people.approvals.questions import spoken_id

_EPILOG = """Your server is asked over its Unix socket; one is started if none runs. The browser shows a code, and you
type it here. You prove to be no agent, as for an approval (approvals.proof). The browser is signed in for 12 hours, or
until it was not used for one.

exit codes: 0 signed in; 1 no browser came with this code, or the proof was not enough; 64 wrong usage; 70 internal
error, or a server that can't be reached; 78 a configuration that can't be loaded"""

_LENGTH = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `open` understands."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("code", metavar="CODE", nargs="?", default="", help="the code, if a browser shows one already")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and start no browser")
    parser.add_argument("--sign-out", action="store_true", help="sign out every browser instead")
    parser.add_argument("--config", metavar="FILE", help="read this file instead of the user's interpose.yaml")
    parser.set_defaults(json=False, act="")


def run(args: argparse.Namespace) -> int:
    """Run `interpose open`."""

    def act() -> int:
        if args.code:
            if args.sign_out:
                raise UsageError("--sign-out takes no code")
            _require_code(args.code)
        desk = started_desk(load(args.config).config)
        if args.sign_out:
            print(f"signed out: {desk.do('sign-out', SignedOut).ended}")
            return 0
        return _open(desk, args.code, browser=not args.no_browser)

    return answered("open", args, act)


def _open(desk: ServerDesk, code: str, *, browser: bool) -> int:
    address = desk.do("page", PageAddress).address
    if not code:
        print(f"The page is at {visible(address)}/")
        if browser and _has_screen():
            _show(f"{address}/")
        code = _typed()
    _require_code(code)
    let_in = desk.do("pair", Paired, {"pairing": code})
    if not let_in.arrived:
        print(
            f"interpose open: no browser shows this code. Look at {visible(address)}/ and try again", file=sys.stderr
        )  # fmt: skip
        return EXIT_NOT_DONE
    print(f"The browser is signed in as {visible(let_in.name)} ({visible(let_in.role)}) for 12 hours at most.")
    return 0


def _require_code(text: str) -> None:
    if len(spoken_id(text)) != _LENGTH:
        raise UsageError(f"{visible(text)!r} is no code: it has {_LENGTH} letters and digits")


def _typed() -> str:
    """The code, from the person's own terminal: whatever standard input is."""
    try:
        with Path("/dev/tty").open(encoding="utf-8") as keys:
            print("Code that your browser shows: ", end="", file=sys.stderr, flush=True)
            return keys.readline().strip()
    except OSError:
        raise NotProvenError("there is no terminal to type the code in: run this in a terminal of your own") from None


def _has_screen() -> bool:
    return this_system().has_screen or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _show(address: str) -> None:
    import webbrowser

    webbrowser.open(address)
