"""How long a hook of each agent may take, and how long it waits for a person by itself.

The configuration is held to this, and `install` writes what follows from it into the agent's own file.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from interpose.effects.agents.agent import LONGEST, MARGIN, Agent
from interpose.effects.agents.known_agents import AGENTS

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


def _time_of(agent: Agent) -> HookTime:
    setup = agent.hooks.setup if agent.hooks else None
    if setup is None or not setup.takes_timeout:
        return HookTime(0.0, 0, f"{agent.title} ends a hook when it likes, and takes no timeout")
    return HookTime(longest=min((event.most for event in setup.events if event.gate), default=LONGEST))


HOOK_TIMES: Mapping[str, HookTime] = {agent.name: _time_of(agent) for agent in AGENTS if agent.hooks}


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
