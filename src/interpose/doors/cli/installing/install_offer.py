"""`interpose install` without an agent: which are on this machine, and which of them are meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from interpose.core.config.load import Loaded
from interpose.doors.cli import EXIT_USAGE
from interpose.doors.cli.explaining.suggestions import unknown
from interpose.doors.cli.explaining.verdict_text import visible
from interpose.doors.cli.installing.install_shared import EXIT_REFUSED
from interpose.doors.cli.shared.json_output import print_json
from interpose.doors.hooks.hosts.all_hosts import host_named
from interpose.doors.hooks.install.found_agents import FoundAgent, found_agents
from interpose.doors.hooks.install.places import Scope, spoken_path
from interpose.doors.hooks.install.records import Records

_NONE = (
    "no agent was found here: no program of one is on the PATH, and no directory of its settings is in your home. Name"
    " one: `interpose install HOST`. `interpose install --list` shows every agent"
)
_EVERY = "all"


def choose_agents(args: argparse.Namespace, loaded: Loaded) -> list[str] | int:
    """The names that a person chose at the terminal; elsewhere the agents are only listed, and it is wrong usage."""
    scope: Scope = args.scope or "user"
    found = found_agents(scope, Records(loaded.places).all())
    if args.json:
        print_json(
            {"ok": False, "problem": "which agent?" if found else _NONE, "agents": [_told(one) for one in found]}
        )
        return EXIT_USAGE
    if not found:
        print(f"interpose install: {_NONE}.", file=sys.stderr)
        return EXIT_USAGE
    if args.yes or not (sys.stdin.isatty() and sys.stdout.isatty()):
        print("interpose install: which agent? These were found here:", file=sys.stderr)
        across = max(len(one.command) for one in found)
        for one in found:
            print(f"  {one.command:{across}}  # {one.title}: {_where(one)}", file=sys.stderr)
        return EXIT_USAGE
    return _asked(found)


def _told(found: FoundAgent) -> dict[str, object]:
    return {
        "host": found.host, "title": found.title, "seen_at": found.seen_at, "installed": list(found.installed),
        "command": found.command,
    }  # fmt: skip


def _where(found: FoundAgent) -> str:
    has = f", has our hooks in {', '.join(map(spoken_path, found.installed))}" if found.installed else ""
    return visible(f"{spoken_path(found.seen_at)}{has}")


def _asked(found: Sequence[FoundAgent]) -> list[str] | int:
    print("Agents on this machine:")
    across = max(len(one.title) for one in found)
    for number, one in enumerate(found, 1):
        print(f"  {number:2}  {one.title:{across}}  {_where(one)}")
    while True:
        try:
            typed = input("Which of them? Numbers or names, or all [none]: ").replace(",", " ").split()
        except (EOFError, UnicodeError):
            print()
            typed = []
        if not typed:
            print("Nothing was changed.")
            return EXIT_REFUSED
        if typed == [_EVERY]:
            return [one.host for one in found]
        wrong = [word for word in typed if _meant(word, found) is None]
        if not wrong:
            return list(dict.fromkeys(name for word in typed if (name := _meant(word, found))))
        print(f"{unknown('agent', wrong[0], [one.host for one in found])}")


def _meant(word: str, found: Sequence[FoundAgent]) -> str | None:
    if word.isascii() and word.isdigit():
        return found[int(word) - 1].host if 0 < int(word) <= len(found) else None
    host = host_named(word)
    return host.facts.name if host is not None and host.facts.name in [one.host for one in found] else None
