"""What has to be written where a host keeps its hooks."""

from __future__ import annotations

from math import ceil
from typing import Any

from msgspec.structs import replace

from interpose.effects.agents.agent import MARGIN, HookEvent, HostSetup

LINE_PROGRAM = "-line"
"""How the name of that program ends: it begins with that of the host."""


def hooks_of(
    setup: HostSetup, command: str, seconds: float, wait: float = 0.0, line: str = "", telling: str = ""
) -> dict[str, Any]:
    """The object to merge into a host's file, for a hook that is this command line and decides by then.

    It may `wait` for a person besides. `line` is the program that shows questions meanwhile, if there is to be one,
    `telling` the command line for events that only tell.
    """
    if not wait:
        setup = replace(setup, while_it_runs={})
    events = {
        event.name: [
            _entry(setup, event, telling or command if event.tells else command, ceil(seconds + wait) + MARGIN)
        ]
        for event in setup.events
    }
    shows = {setup.line: {"type": "command", "command": line, "refreshInterval": 1}} if setup.line and line else {}
    return {**setup.top, **shows, setup.key: events} if setup.key else {**setup.top, **events}


def _entry(setup: HostSetup, event: HookEvent, command: str, seconds: int) -> dict[str, Any]:
    hook = {**setup.entry, "command": command}
    if setup.also_command:
        hook[setup.also_command] = command
    if setup.timeout_key:
        hook[setup.timeout_key] = min(seconds, event.most) * setup.timeout_unit
    if event.gate:
        hook |= setup.fail_closed | setup.while_it_runs
    matcher = {} if event.matcher is None else {"matcher": event.matcher}
    return {**matcher, "hooks": [hook]} if setup.layout == "groups" else {**hook, **matcher}
