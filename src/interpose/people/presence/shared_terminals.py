"""Terminals that every process of the same user can read and type into. What is typed there proves no person.

The lists of names only make the proof stricter. A terminal that is not recognised here is judged as before.
"""

from __future__ import annotations

from interpose.core.platforms.process_values import Process
from interpose.core.platforms.processes import all_pids, process, program_of
from interpose.people.presence.processes import environment_of
from interpose.people.presence.programs import AUTOMATION, TYPEABLE

_BY_VARIABLE = {"KITTY_LISTEN_ON": "a kitty with remote control"}
"""Variables that a terminal sets while it takes commands from other programs."""
_SHOWN = 15
"""The kernel keeps so many letters of a name."""


def shared_terminal(chain: list[Process]) -> str | None:
    """The program of a terminal that others can type into, for a message; None if there is none above a process."""
    for one in chain[1:]:
        # The server of tmux calls itself "tmux: server", and that of screen "SCREEN".
        names = {one.name.partition(":")[0].lower(), program_of(one.pid).rpartition("/")[2].partition("-")[0]}
        names |= {one.name, program_of(one.pid).rpartition("/")[2]}
        if found := next((each for each in sorted(TYPEABLE) if each in names or each[:_SHOWN] in names), ""):
            return f"{found} (process {one.pid})"
    set_here = environment_of(chain[0].pid)
    return next((what for name, what in _BY_VARIABLE.items() if name in set_here), None)


def running_automation() -> Process | None:
    """A program that presses keys on the desktop; None if none runs."""
    everyone = map(process, all_pids())
    return next((one for one in everyone if one and one.name in AUTOMATION), None)
