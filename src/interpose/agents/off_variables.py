"""Variables that switch an agent's hooks off, or make it read its settings elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from interpose.agents.known_agents import MOVERS


class OffVariable(Struct, frozen=True):
    """A variable with which an agent runs no hooks, given any value that counts as true."""

    host: str
    name: str
    outlived: bool = False


VARIABLES: tuple[OffVariable, ...] = (
    OffVariable("claude-code", "CLAUDE_CODE_SIMPLE", outlived=True),
    OffVariable("claude-code", "CLAUDE_CODE_SAFE_MODE", outlived=True),
    OffVariable("qwen-code", "QWEN_CODE_SIMPLE"),
    OffVariable("qwen-code", "QWEN_CODE_SAFE_MODE"),
    OffVariable("opencode", "OPENCODE_PURE"),
)
_OFF_VARIABLES = {variable.name: variable for variable in VARIABLES}
_NOTHING = frozenset({"", "0", "false", "no", "off"})


def off_variable(name: str, value: str) -> OffVariable | None:
    """The switch that a variable is, if this value turns it."""
    return _OFF_VARIABLES.get(name) if value.strip().lower() not in _NOTHING else None


def moves_settings(name: str, value: str, home: str, host: str = "") -> bool:
    """Whether a variable makes an agent (this one, or any) read its settings elsewhere than it would without."""
    agent = MOVERS.get(name)
    if agent is None or not value or host not in ("", agent.name):
        return False
    usual = [place.replace("~", home, 1) for place in (*agent.directories, "~")]
    return value.rstrip("/") not in usual


def off_in_environment(host: str, environ: Mapping[str, str]) -> Iterator[OffVariable]:
    """Variables that are set, with which a host runs no hooks."""
    for variable in VARIABLES:
        if variable.host == host and off_variable(variable.name, environ.get(variable.name, "")):
            yield variable
