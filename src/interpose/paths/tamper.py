"""The settings of agents and what is ours (ours.py): what changes them could switch a guard off."""

from __future__ import annotations

from interpose.paths.catalogue import Catalogue, Mark, is_wild
from interpose.paths.ours import ours_of
from interpose.paths.resolve import is_home

_AGENT = Mark("is an agent's settings, where hooks and permissions live")
_SERVERS = Mark("decides which tool servers an agent starts")

_TAMPER = Catalogue(
    {
        _AGENT: """
            .claude/settings.json .claude/settings.local.json .claude/managed-settings.json .claude/hooks/
            /etc/claude-code/ .codex/config.toml .codex/hooks.json .codex/hooks/ .codex/rules/ /etc/codex/
            .gemini/settings.json .gemini/hooks/ .gemini/policies/ .gemini/trustedfolders.json .cursor/hooks.json
            .cursor/hooks/ .cursor/cli-config.json .cursor/permissions.json .config/opencode/ opencode.json
            opencode.jsonc .opencode/plugin/ .opencode/plugins/ .openclaw/openclaw.json .openclaw/config.json
            .clawdbot/clawdbot.json .qwen/settings.json .copilot/config.json .copilot/hooks/ .github/hooks/
            .config/goose/config.yaml .factory/settings.json .factory/hooks.json .windsurf/hooks.json
            .codeium/windsurf/hooks.json .kimi/config.toml .kiro/hooks/ .amp/settings.json .config/amp/settings.json
            .aider.conf.yml .continue/config.yaml .continue/config.json .roo/ .clinerules/hooks/ .crush.json
            .augment/settings.json .gemini/config/ /etc/opencode/ library/application%20support/opencode/
            /etc/gemini-cli/ library/application%20support/claudecode/ /etc/qwen-code/ /etc/cursor/ /etc/windsurf/
            /etc/github-copilot/ .copilot/settings.json .github/copilot/ .factory/settings.local.json
            .kiro/agents/interpose.json .kiro/settings/cli.json .openclaw/plugins/
        """,
        _SERVERS: """
            .mcp.json .cursor/mcp.json .vscode/mcp.json .windsurf/mcp_config.json .codeium/windsurf/mcp_config.json
            .copilot/mcp-config.json .kiro/settings/mcp.json .roo/mcp.json claude_desktop_config.json .qwen/mcp.json
            .kimi/mcp.json .kimi-code/mcp.json .factory/mcp.json code/user/mcp.json cline_mcp_settings.json
        """,
    }
)
_IN_HOME = frozenset({".claude.json", ".crush.json"})
"""Settings by these names only when they lie in a home directory itself."""


def tamper_of(path: str, home: str) -> Mark | None:
    """Why changing a resolved path could switch a guard off, or None."""
    if not path or (path[0] != "/" and "://" in path):
        return None
    if (own := ours_of(path)) is not None:
        return own
    parts = path.lower().rstrip("/").split("/")
    mark = _TAMPER.find_wild(parts) if is_wild(path) else _TAMPER.find(parts)
    if mark is None and parts[-1] in _IN_HOME and is_home(path.rpartition("/")[0], home):
        return _AGENT
    if mark is None and parts[-1].endswith(".config.toml") and parts[-2:-1] == [".codex"]:
        return _AGENT  # a profile: settings that hold when Codex is started with its name
    return mark
