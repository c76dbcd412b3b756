"""Where a host keeps its hooks and what has to be written there. Data for whoever installs and examines them."""

from __future__ import annotations

from math import ceil
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.types import EMPTY

MARGIN, LONGEST = 5, 3600
"""As in agents/hook_times.py, which a hook that only decides need not load. A test holds them together."""

Looseness = Literal["comment", "trailing comma", "byte order mark"]
"""What a text may have that is no plain JSON."""


class HookFile(Struct, frozen=True):
    """A file or directory that a host reads. `~` is the user's home; a relative path lies in the project.

    A `managed` one is an administrator's: it holds for everybody on the machine, and nobody else can change it.

    `moved_by` names the variable that replaces `root`, the beginning of the path. `also_run_by` are other hosts that
    run the hooks in it.
    """

    scope: Literal["user", "project", "managed"]
    path: str
    moved_by: str = ""
    root: str = ""
    also_run_by: tuple[str, ...] = ()
    top: dict[str, Any] = EMPTY
    """What this file must have at its top besides what all have: what holds the hooks on against other files."""
    also_command: str = ""
    """Another key under which this file wants the command line besides `command`."""
    beside: str = ""
    """A second file that the host needs for that, and its text."""
    beside_text: str = ""


class HookEvent(Struct, frozen=True):
    """An event to register. `gate` events decide: they get what makes the host refuse when the hook fails. What `tells`
    of an end must never fail: the host would take that for a wish to go on."""

    name: str
    gate: bool = False
    tells: bool = False
    matcher: str | None = None
    most: int = LONGEST
    """Seconds that the host gives at most."""


class HostSetup(Struct, frozen=True, kw_only=True):
    """How hooks are written for a host.

    `groups`: each event has matcher groups with a list of hooks. `flat`: each event has a list of hooks.
    `scripts`: a directory with one executable file for each event. `plugin`: a file of ours that the host runs itself.
    """

    layout: Literal["groups", "flat", "scripts", "plugin"]
    files: tuple[HookFile, ...]
    events: tuple[HookEvent, ...] = ()
    key: str = "hooks"
    """The key of the file under which events lie; empty if they lie at the top."""
    top: dict[str, Any] = EMPTY
    """What else the file must have at its top."""
    entry: dict[str, Any] = EMPTY
    """What every hook has besides its command and its timeout."""
    fail_closed: dict[str, Any] = EMPTY
    """What makes the host refuse when the hook of a gate fails."""
    while_it_runs: dict[str, Any] = EMPTY
    """What makes the host show its person a text as long as the hook of a gate runs: the same for every call."""
    line: str = ""
    """The key at the top for a program that the host runs again each second, and whose output it always shows."""
    fail_closed_since: str = ""
    """The first version of the host that knows this."""
    also_command: str = ""
    """Another key for the command line besides `command`."""
    timeout_key: str = "timeout"
    """Empty if the host takes none."""
    timeout_unit: int = 1
    """How many of the host's units are a second."""
    plugin: str = ""
    """The program in `plugins/` that is installed."""
    afterwards: str = ""
    """What a person still has to do."""
    opens_on: tuple[str, ...] = ()
    """What makes this host run a call unasked, once the hooks are installed as said here."""
    canary: dict[str, Any] = EMPTY
    """An event of this host before a shell command: `COMMAND` and `SESSION` stand for what they say."""
    program: str = ""
    """The host's own command, which says its version."""
    takes: tuple[Looseness, ...] = ()
    """What the host reads besides plain JSON, as seen when it ran. It passes over a file with anything else."""
    traces: tuple[str, ...] = ()
    """Directories in which the host leaves something whenever it works."""


LINE_PROGRAM = "-line"
"""How the name of that program ends: it begins with that of the host."""

STATUS = {"statusMessage": "Interpose decides. Is there a question? interpose approvals watch"}
"""For hosts that show a hook's own text beside what they do."""


def shell_event(event: str, tool: str, **more: str) -> dict[str, Any]:
    """The canary of hosts that name their fields as Claude Code does."""
    call = {"tool_name": tool, "tool_input": {"command": "COMMAND"}}
    return {"hook_event_name": event, "session_id": "SESSION", "cwd": "/", **call, **more}


def seconds_for(setup: HostSetup, wanted: float) -> float:
    """How long a hook may take: as wanted, but less than the host waits for what decides."""
    return min([wanted, *(max(event.most - MARGIN, event.most / 2) for event in setup.events if event.gate)])


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
