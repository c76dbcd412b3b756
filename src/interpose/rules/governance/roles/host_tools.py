"""What each host calls the tools that we know by one name: agents are told the names that they see.

Every name here is one that we read as the tool: a test holds that. A tool that a host has not is left out of its row.
"""

from __future__ import annotations

from collections.abc import Mapping

from interpose.core.tools import mcp_name
from interpose.effects.agents.known_agents import AGENTS, BY_NAME

HOST_TOOLS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    agent.name: {tool: tuple(said.split()) for tool, said in agent.tools.items()} for agent in AGENTS if agent.tools
}


def host_names(tool: str, host: str) -> tuple[str, ...]:
    """What a host calls a tool that we know; empty if it has no such tool. Of a host that is not listed: our name."""
    row = HOST_TOOLS.get(host)
    return (tool,) if row is None else row.get(tool, ())


def host_spelling(name: str, host: str) -> str:
    """What a host calls a tool of somebody else's."""
    joint = BY_NAME[host].tool_joint if host in BY_NAME else ""
    found = mcp_name(name) if joint and name.startswith("mcp__") else None
    return name if found is None else f"{found.server}{joint}{found.tool}"
