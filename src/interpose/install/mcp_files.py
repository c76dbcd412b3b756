"""Where agents keep the MCP servers that they start, and in which words. Data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from interpose.config.places import places_of
from interpose.errors import SetupError

McpScope = Literal["user", "project"]


class McpFile(Struct, frozen=True):
    """A file with servers. `~` is the user's home; a relative path lies in the project. `key` holds the servers."""

    scope: McpScope
    path: str
    key: str = "mcpServers"
    moved_by: str = ""
    """The variable that replaces the directory of the file."""


class McpHost(Struct, frozen=True, kw_only=True):
    """An agent and its files. Of several for one scope, the first that is there is meant; else the first."""

    name: str
    title: str
    files: tuple[McpFile, ...]
    style: Literal["common", "vscode", "opencode", "codex", "gemini"] = "common"
    toml: bool = False


MCP_HOSTS: Mapping[str, McpHost] = {
    host.name: host
    for host in (
        McpHost(name="claude-code", title="Claude Code", files=(
            McpFile("user", "~/.claude.json"), McpFile("project", ".mcp.json"),
        )),
        McpHost(name="claude-desktop", title="Claude Desktop", files=(
            McpFile("user", "~/.config/Claude/claude_desktop_config.json"),
            McpFile("user", "~/Library/Application Support/Claude/claude_desktop_config.json"),
        )),
        McpHost(name="cursor", title="Cursor", files=(
            McpFile("user", "~/.cursor/mcp.json"), McpFile("project", ".cursor/mcp.json"),
        )),
        McpHost(name="vscode", title="VS Code", style="vscode", files=(
            McpFile("user", "~/.config/Code/User/mcp.json", "servers"),
            McpFile("user", "~/Library/Application Support/Code/User/mcp.json", "servers"),
            McpFile("project", ".vscode/mcp.json", "servers"),
        )),
        McpHost(name="gemini-cli", title="Gemini CLI", style="gemini", files=(
            McpFile("user", "~/.gemini/settings.json"), McpFile("project", ".gemini/settings.json"),
        )),
        McpHost(name="qwen-code", title="Qwen Code", style="gemini", files=(
            McpFile("user", "~/.qwen/settings.json"), McpFile("project", ".qwen/settings.json"),
        )),
        McpHost(name="codex", title="Codex", style="codex", toml=True, files=(
            McpFile("user", "~/.codex/config.toml", "mcp_servers", "CODEX_HOME"),
        )),
        McpHost(name="windsurf", title="Windsurf", files=(McpFile("user", "~/.codeium/windsurf/mcp_config.json"),)),
        McpHost(name="opencode", title="OpenCode", style="opencode", files=(
            McpFile("user", "~/.config/opencode/opencode.json", "mcp"),
            McpFile("user", "~/.config/opencode/opencode.jsonc", "mcp"),
            McpFile("project", "opencode.json", "mcp"), McpFile("project", "opencode.jsonc", "mcp"),
        )),
        McpHost(name="copilot", title="Copilot CLI", files=(
            McpFile("user", "~/.copilot/mcp-config.json", moved_by="COPILOT_HOME"),
        )),
        McpHost(name="kiro", title="Kiro CLI", files=(
            McpFile("user", "~/.kiro/settings/mcp.json"), McpFile("project", ".kiro/settings/mcp.json"),
        )),
        McpHost(name="droid", title="Droid", files=(
            McpFile("user", "~/.factory/mcp.json"), McpFile("project", ".factory/mcp.json"),
        )),
        McpHost(name="cline", title="Cline", files=(
            McpFile(
                "user",
                "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
        )),
    )
}  # fmt: skip
_ALIASES = {
    "claude": "claude-code", "gemini": "gemini-cli", "qwen": "qwen-code", "codex-cli": "codex", "vs-code": "vscode",
    "copilot-cli": "copilot", "kiro-cli": "kiro", "factory-droid": "droid",
}  # fmt: skip


def mcp_host(name: str) -> McpHost | None:
    """The agent of this name, or of a common other name for it."""
    plain = name.strip().lower().replace("_", "-")
    return MCP_HOSTS.get(_ALIASES.get(plain, plain))


class McpPlace(Struct, frozen=True):
    """A file of an agent on this machine. Symbolic links on the way must stay within `root`."""

    host: McpHost
    scope: McpScope
    path: Path
    root: Path
    key: str


def mcp_place(host: McpHost, scope: McpScope, project: Path, environ: Mapping[str, str] = os.environ) -> McpPlace:
    """Where an agent looks for its servers. Raises SetupError if it has no such place."""
    found = [_placed(host, file, project, environ) for file in host.files if file.scope == scope]
    if not found:
        raise SetupError(f"{host.title} has no MCP servers of a {scope}")
    return next((place for place in found if place.path.exists()), found[0])


def _placed(host: McpHost, file: McpFile, project: Path, environ: Mapping[str, str]) -> McpPlace:
    if file.scope == "project":
        return McpPlace(host, file.scope, project / file.path, project, file.key)
    home = places_of(environ).home
    moved = environ.get(file.moved_by, "") if file.moved_by else ""
    if moved and not moved.startswith("/"):
        raise SetupError(
            f"{file.moved_by} is {moved!r}, which is no absolute path: {host.title} would read it from elsewhere"
        )
    if moved:
        return McpPlace(host, file.scope, Path(moved) / Path(file.path).name, Path(moved), file.key)
    return McpPlace(host, file.scope, home / file.path.removeprefix("~/"), home, file.key)
