"""Everything in a settings file that switches an agent's hooks off: one row for each key and agent.

How each is known stands in `interpose help agents`, which a test holds against this table.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from interpose.effects.agents.agent import OURS, OffKey, SettingsFile
from interpose.effects.agents.known_agents import AGENTS


class OffSwitch(Struct, frozen=True, kw_only=True):
    """A key of a host that switches hooks off in any of these files."""

    host: str
    fact: OffKey
    files: tuple[SettingsFile, ...]


SWITCHES: tuple[OffSwitch, ...] = tuple(
    OffSwitch(
        host=agent.name,
        fact=fact,
        files=tuple(file for file in agent.settings_files if not fact.files or file.path in fact.files),
    )
    for agent in AGENTS
    for fact in agent.off_keys
)


def is_off(fact: OffKey, value: Any) -> bool:
    """Whether this value switches off. What an agent might take for it counts: a word, or a number."""
    match fact.off:
        case "true":
            return value not in (None, False, "false", "False", "", 0, "0")
        case "false":
            return value in (False, "false", "False", 0, "0")
        case "ours":
            return any(OURS in str(each) for each in _list(value))
        case "not-ours":
            return isinstance(value, list) and value != [] and OURS not in value
        case "nowhere-ours":
            return OURS not in str(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
