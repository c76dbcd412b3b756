"""How long a hook of each agent may take, and how long it waits for a person by itself.

The configuration is held to this, and `install` writes what follows from it into the agent's own file.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

MARGIN = 5
"""Seconds that a host gives a hook beyond our own time, so that it is us who refuse when time is up."""
LONGEST = 3600
"""Seconds that hosts are told to give a hook at most. None is known to take less where it takes a number at all."""
EVERY_HOST = "all"
"""The name under which `hooks.wait` has the value of the hosts that it does not name."""
_USUAL = 240.0
_ALONE = 30.0
"""Seconds that a hook waits where nobody can answer but the person at this machine: an agent that stands still longer
looks broken to the one who could answer. The question stays open, and a late approval counts for the next try."""


class HookTime(Struct, frozen=True):
    """`waits` is how long a hook waits for a person if nobody says otherwise, `longest` what its host gives at most.

    A host that is given no timeout by us ends a hook when it likes: nobody waits there, and `why` says so.
    """

    waits: float = _USUAL
    longest: int = LONGEST
    why: str = ""


HOOK_TIMES: Mapping[str, HookTime] = {
    "claude-code": HookTime(),
    "gemini-cli": HookTime(),
    "codex": HookTime(),
    "copilot": HookTime(),
    "cursor": HookTime(),
    "qwen-code": HookTime(longest=995),  # it reads 1000 and more as milliseconds
    "opencode": HookTime(),
    "openclaw": HookTime(),
    "cline": HookTime(0.0, 0, "Cline ends a hook when it likes, and takes no timeout"),
    "vscode": HookTime(),
    "windsurf": HookTime(0.0, 0, "Windsurf ends a hook when it likes, and takes no timeout"),
    "kiro": HookTime(),
    "droid": HookTime(),
}


def wait_for(host: str, waits: Mapping[str, float], deadline: float, lifetime: float, *, alone: bool = False) -> float:
    """Seconds that a hook of a host waits for a person.

    `waits` is what is set by host, `deadline` what the hook has for its decision besides, `lifetime` how long a
    question waits. What nobody set for this very host is made to fit. `alone`: only this machine's person can answer.
    """
    time = HOOK_TIMES.get(host)
    if time is None or not time.longest:
        return 0.0
    if host in waits:
        return waits[host]
    usual = min(time.waits, _ALONE) if alone else time.waits
    return max(0.0, min(waits.get(EVERY_HOST, usual), lifetime, time.longest - MARGIN - deadline))
