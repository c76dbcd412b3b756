"""What keeps an agent from asking although its hooks are installed: switches, and work that nobody was asked about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from time import time_ns
from typing import Literal

from msgspec import Struct

from interpose.core.formats.counted import plural
from interpose.core.platforms.processes import where_shown
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.last_heard import LastHeard, span
from interpose.doors.hooks.install.last_worked import last_trace
from interpose.doors.hooks.install.running_agents import RunningAgent
from interpose.doors.hooks.install.unheard_sessions import UnheardSession
from interpose.effects.agents.off_variables import off_in_environment
from interpose.effects.agents.switch_reader import FoundSwitch, found_switches

_SILENT_NS = 600 * 1_000_000_000
"""How much later than its last event a host may leave traces before it counts as one that never asks."""
_STARTING_NS = 60 * 1_000_000_000
"""How long a process may run before its first event."""
_SHOWN = 3


class Unguarded(Struct, frozen=True):
    """One thing. `open`: calls run unasked, or did. `note`: they may."""

    name: str
    level: Literal["note", "open"]
    text: str
    file: str = ""
    """Where that is to be seen."""


def switched_off(
    host: str, directory: Path, *, managed: bool = False, environ: Mapping[str, str] = os.environ
) -> Iterator[Unguarded]:
    """The switches of a host that are off for this directory. `managed`: hooks of ours are in its managed settings."""
    title = HOSTS[host].facts.title
    for switch in found_switches(directory, host=host, environ=environ):
        level, text = _level(switch, managed=managed), _told(switch, title, managed=managed)
        yield Unguarded("off switch", level, text, str(switch.path))
    for variable in off_in_environment(host, environ):
        held = managed and variable.outlived
        text = f"{variable.name} is set here: {title} runs no hook of yours. Unset it"
        where = f"the environment variable {variable.name}"
        yield Unguarded("off switch", "note" if held else "open", text + (_HELD if held else ""), where)


_HELD = "; our hooks in its managed settings run all the same"


def _level(switch: FoundSwitch, *, managed: bool) -> Literal["note", "open"]:
    return "note" if switch.problem or (managed and switch.outlived) else "open"


def _told(switch: FoundSwitch, title: str, *, managed: bool) -> str:
    held = _HELD if managed and switch.outlived and not switch.problem else ""
    return f"{title}: {switch.text}{held}"


def unasked_work(
    host: str,
    installed_ns: int,
    seen: LastHeard | None,
    sessions: Iterable[UnheardSession] = (),
    running: Iterable[RunningAgent] = (),
) -> Iterator[Unguarded]:
    """What a host did since its hooks were installed, and no hook was asked about."""
    facts = HOSTS[host].facts
    heard_ns = seen.heard_ns if seen else 0
    own = [each for each in sessions if each.host == host]
    for each in own[:_SHOWN]:
        yield Unguarded("never asked", "open",
                        f"session {each.session} of {facts.title} worked {ago(each.at_ns)} and never asked "
                        f"({each.path}): it was started with hooks off, or before they were installed",
                        each.path)  # fmt: skip
    if len(own) > _SHOWN:
        more = f"{plural(len(own) - _SHOWN, 'more session')} of {facts.title} never asked"
        yield Unguarded("never asked", "open", more, own[_SHOWN].path)
    trace_ns = last_trace(facts.setup)
    if not own and trace_ns > max(heard_ns, installed_ns) + _SILENT_NS:
        late = f"{facts.title} left traces {ago(trace_ns)}, later than any event of its hooks"
        yield Unguarded("never asked", "open", f"{late}: it works, and never asks", ", ".join(facts.setup.traces))
    for process in running:
        if process.host != host:
            continue
        if process.off:
            yield Unguarded("never asked", "open",
                            f"process {process.pid} was started with {process.off}: it asks no hook",
                            where_shown(process.pid))  # fmt: skip
        elif heard_ns < process.since_ns < time_ns() - _STARTING_NS:
            yield Unguarded("never asked", "note",
                            f"process {process.pid} of {facts.title} started {ago(process.since_ns)}, and nothing was "
                            "heard since")  # fmt: skip


def ago(moment_ns: int) -> str:
    """When that was."""
    return f"{span((time_ns() - moment_ns) / 1e9)} ago"
