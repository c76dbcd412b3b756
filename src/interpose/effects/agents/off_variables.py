"""Variables that switch an agent's hooks off, or make it read its settings elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from interpose.effects.agents.agent import OffVariable
from interpose.effects.agents.known_agents import AGENTS, BY_NAME, MOVERS

OFF_VARIABLES = {variable.name: variable for agent in AGENTS for variable in agent.off_variables}
_NOTHING = frozenset({"", "0", "false", "no", "off"})


def off_variable(name: str, value: str) -> OffVariable | None:
    """The switch that a variable is, if this value turns it."""
    return OFF_VARIABLES.get(name) if value.strip().lower() not in _NOTHING else None


def moves_settings(name: str, value: str, home: str, host: str = "") -> bool:
    """Whether a variable makes an agent (this one, or any) read its settings elsewhere than it would without."""
    agent = MOVERS.get(name)
    if agent is None or not value or host not in ("", agent.name):
        return False
    usual = [place.replace("~", home, 1) for place in (*agent.directories, "~")]
    return value.rstrip("/") not in usual


def off_in_environment(host: str, environ: Mapping[str, str]) -> Iterator[OffVariable]:
    """Variables that are set, with which a host runs no hooks."""
    for variable in BY_NAME[host].off_variables:
        if off_variable(variable.name, environ.get(variable.name, "")):
            yield variable
