"""Where agents keep the MCP servers that they start, and in which words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from interpose.core.config.places import places_of
from interpose.core.errors import SetupError
from interpose.effects.agents.agent import McpFile, McpScope, ToolServers
from interpose.effects.agents.known_agents import AGENTS, agent_named


class McpHost(Struct, frozen=True, kw_only=True):
    """An agent and its files. Of several for one scope, the first that is there is meant; else the first."""

    name: str
    title: str
    servers: ToolServers

    @property
    def files(self) -> tuple[McpFile, ...]:
        """All of them."""
        return self.servers.files


MCP_HOSTS: Mapping[str, McpHost] = {
    agent.name: McpHost(name=agent.name, title=agent.title, servers=agent.tool_servers)
    for agent in AGENTS
    if agent.tool_servers
}


def mcp_host(name: str) -> McpHost | None:
    """The agent of this name, or of a common other name for it."""
    return MCP_HOSTS.get(agent_named(name))


class McpPlace(Struct, frozen=True):
    """A file of an agent on this machine. Symbolic links on the way must stay within `root`."""

    host: McpHost
    scope: McpScope
    path: Path
    root: Path
    keys: tuple[str, ...]
    """Where in the file the servers are."""


def mcp_place(host: McpHost, scope: McpScope, project: Path, environ: Mapping[str, str] = os.environ) -> McpPlace:
    """Where an agent looks for its servers. Raises SetupError if it has no such place."""
    found = [_placed(host, file, project, environ) for file in host.files if file.scope == scope]
    if not found:
        what = "of a project" if scope == "project" else "of yours for one project"
        raise SetupError(f"{host.title} has no file with MCP servers {what}")
    return next((place for place in found if place.path.exists()), found[0])


def _placed(host: McpHost, file: McpFile, project: Path, environ: Mapping[str, str]) -> McpPlace:
    keys = (*(str(project) if key == "{project}" else key for key in file.within), file.key)
    if file.scope == "project":
        return McpPlace(host, file.scope, project / file.path, project, keys)
    home = places_of(environ).home
    moved = environ.get(file.moved_by, "") if file.moved_by else ""
    if moved and not moved.startswith("/"):
        raise SetupError(
            f"{file.moved_by} is {moved!r}, which is no absolute path: {host.title} would read it from elsewhere"
        )
    if moved:
        return McpPlace(host, file.scope, Path(moved) / Path(file.path).name, Path(moved), keys)
    return McpPlace(host, file.scope, home / file.path.removeprefix("~/"), home, keys)
