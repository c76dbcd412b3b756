"""`interpose help`: the documentation, from the program itself."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys

from interpose.doors.cli import EXIT_USAGE, main
from interpose.doors.cli.explaining.suggestions import did_you_mean, shown
from interpose.doors.cli.helping.help_text import readable
from interpose.doors.cli.helping.help_topics import listing, meant_topic, title_of, topics
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.cli.shared.terminal import colours_wanted, is_terminal, width
from interpose.doors.cli.verbs import HELPS
from interpose.effects.ourselves.command_line import OLD, spelled_now, verb_of

_EPILOG = """  interpose help              all topics
  interpose help approvals    a page
  interpose help audit        the help of a verb that has no page

At a terminal the page is laid out, and shown by $PAGER (less) if it is longer than the screen. In a pipe or a file it
is Markdown, byte for byte.

exit codes: 0 done, 64 there is no such topic, 70 internal error"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `help` understands."""
    parser.epilog = _EPILOG
    parser.add_argument("topic", nargs="*", metavar="TOPIC", help="a page of the documentation, or a verb")
    parser.add_argument("--json", action="store_true", help="print JSON: the topics, or a page as Markdown")


def run(args: argparse.Namespace) -> int:
    """Run `interpose help`."""
    found = topics()
    if not args.topic:
        if args.json:
            print_json({"topics": [{"topic": topic, "title": title_of(path)} for topic, path in found.items()]})
        else:
            print(listing())
        return 0
    first, *rest = args.topic
    topic = meant_topic(first)
    if topic in found and not rest:
        return _show(topic, args.json)
    if verb_of(spelled_now([first])) is not None:
        return main([*args.topic, "--help"])
    meant = did_you_mean(topic, [*found, *HELPS, *OLD])
    print(f"interpose help: there is no topic {shown(' '.join(args.topic))}.{meant}", file=sys.stderr)
    print("`interpose help` lists the topics.", file=sys.stderr)
    return EXIT_USAGE


def _show(topic: str, as_json: bool) -> int:
    path = topics()[topic]
    text = path.read_text(encoding="utf-8")
    if as_json:
        print_json({"topic": topic, "title": title_of(path), "markdown": text})
    elif not is_terminal():
        sys.stdout.write(text)
    else:
        verb = verb_of(spelled_now([topic]))
        more = f"\n\nEvery option: `interpose {verb.name} --help`" if verb is not None else ""
        pager = _pager()
        coloured = colours_wanted() and (not pager or os.path.basename(pager[0]) == "less")  # noqa: PTH119 - a word
        page = readable(text + more, path, width() or 80, coloured=coloured)
        if not pager or page.count("\n") + 2 < shutil.get_terminal_size().lines or not _paged(pager, page):
            print(page)
    return 0


def _pager() -> list[str]:
    """The user's pager; none if the user wants none or the terminal can't have one."""
    if os.environ.get("TERM", "dumb") == "dumb":
        return []
    try:
        words = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        return []
    return words if words and shutil.which(words[0]) else []


def _paged(pager: list[str], page: str) -> bool:
    """Show a page by it. False if it can't be started."""
    try:
        shower = subprocess.Popen(  # noqa: S603 - the user's own choice, as for every program that pages
            pager, stdin=subprocess.PIPE, text=True, encoding="utf-8", env={"LESS": "FRX"} | dict(os.environ)
        )
    except OSError:
        return False
    try:
        shower.communicate(f"{page}\n")
    except KeyboardInterrupt:
        shower.wait()
    return True
