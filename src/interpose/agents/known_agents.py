"""Coding agents by name: their programs, their directories, what moves those, and where their transcripts are.

Agents that we have no hooks for are here, too: what one agent does to another's settings is as bad.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Transcripts(Struct, frozen=True):
    """Where an agent writes a session down, as a pattern of files, and where in a file's path the session's id is.

    `stem`: the file's name. `tail`: the last 36 letters of it. `parent`: the directory. `start`: the last 8 letters,
    with which the id begins.
    """

    pattern: str
    session: Literal["stem", "tail", "parent", "start"]


class KnownAgent(Struct, frozen=True, kw_only=True):
    """An agent. `name` is that of its host, where we have hooks for it."""

    name: str
    title: str
    programs: tuple[str, ...] = ()
    """Its commands, and the names of the packages that an interpreter runs."""
    directories: tuple[str, ...] = ()
    """What holds its settings, as a whole: `~` is the home of a user."""
    moved_by: tuple[str, ...] = ()
    """Variables that make it read its settings elsewhere."""
    transcripts: Transcripts | None = None


AGENTS: tuple[KnownAgent, ...] = (
    KnownAgent(
        name="claude-code",
        title="Claude Code",
        programs=("claude", "claude-code"),
        directories=("~/.claude", "/etc/claude-code"),
        moved_by=("CLAUDE_CONFIG_DIR",),
        transcripts=Transcripts("~/.claude/projects/*/*.jsonl", "stem"),
    ),
    KnownAgent(
        name="codex",
        title="Codex CLI",
        programs=("codex",),
        directories=("~/.codex", "/etc/codex"),
        moved_by=("CODEX_HOME",),
        transcripts=Transcripts("~/.codex/sessions/*/*/*/rollout-*.jsonl", "tail"),
    ),
    KnownAgent(
        name="gemini-cli",
        title="Gemini CLI",
        programs=("gemini", "gemini-cli"),
        directories=("~/.gemini", "/etc/gemini-cli"),
        moved_by=("GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"),
        transcripts=Transcripts("~/.gemini/tmp/*/chats/session-*.jsonl", "start"),
    ),
    KnownAgent(
        name="copilot",
        title="GitHub Copilot CLI",
        programs=("copilot",),
        directories=("~/.copilot", "/etc/github-copilot"),
        moved_by=("COPILOT_HOME",),
        transcripts=Transcripts("~/.copilot/session-state/*/events.jsonl", "parent"),
    ),
    KnownAgent(
        name="qwen-code",
        title="Qwen Code",
        programs=("qwen", "qwen-code"),
        directories=("~/.qwen", "/etc/qwen-code"),
        moved_by=("QWEN_HOME", "QWEN_CODE_SYSTEM_SETTINGS_PATH", "QWEN_CODE_SYSTEM_DEFAULTS_PATH"),
        transcripts=Transcripts("~/.qwen/projects/*/chats/*.jsonl", "stem"),
    ),
    KnownAgent(
        name="opencode",
        title="OpenCode",
        programs=("opencode",),
        directories=("~/.config/opencode", "~/.opencode", "/etc/opencode"),
        moved_by=("OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT"),
    ),
    KnownAgent(
        name="openclaw",
        title="OpenClaw",
        programs=("openclaw",),
        directories=("~/.openclaw", "~/.clawdbot"),
        moved_by=("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "OPENCLAW_HOME"),
    ),
    KnownAgent(name="cursor", title="Cursor", programs=("cursor-agent",), directories=("~/.cursor", "/etc/cursor"),
               moved_by=("CURSOR_CONFIG_DIR",)),
    KnownAgent(name="cline", title="Cline", programs=("cline",),
               directories=("~/.cline", "~/Documents/Cline", "~/Documents/Cline/Hooks"), moved_by=("CLINE_DIR",)),
    KnownAgent(name="windsurf", title="Windsurf",
               directories=("~/.codeium", "~/.codeium/windsurf", "~/.windsurf", "/etc/windsurf")),
    KnownAgent(name="kiro", title="Kiro CLI", programs=("kiro-cli",), directories=("~/.kiro", "~/.kiro/agents")),
    KnownAgent(name="droid", title="Factory Droid", programs=("droid",), directories=("~/.factory",)),
    KnownAgent(name="goose", title="Goose", programs=("goose",), directories=("~/.config/goose", "~/.agents")),
    KnownAgent(name="amp", title="Amp", programs=("amp",), directories=("~/.config/amp", "~/.amp")),
    KnownAgent(name="kimi", title="Kimi Code", programs=("kimi",), directories=("~/.kimi", "~/.kimi-code")),
    KnownAgent(name="kilo", title="Kilo Code", programs=("kilo",), directories=("~/.kilo", "~/.config/kilo")),
    KnownAgent(name="crush", title="Crush", programs=("crush",), directories=("~/.config/crush",)),
    KnownAgent(name="auggie", title="Augment", programs=("auggie",), directories=("~/.augment",)),
    KnownAgent(name="continue", title="Continue", programs=("cn",), directories=("~/.continue",)),
    KnownAgent(name="roo", title="Roo Code", directories=("~/.roo",)),
    KnownAgent(name="openhands", title="OpenHands", programs=("openhands",), directories=("~/.openhands",)),
)  # fmt: skip

BY_NAME = {agent.name: agent for agent in AGENTS}

MOVERS = {variable: agent for agent in AGENTS for variable in agent.moved_by}
"""Variables that move an agent's settings, and whose."""

IN_HOME = {
    place.removeprefix("~/").lower(): agent
    for agent in AGENTS
    for place in agent.directories
    if place.startswith("~/")
}  # fmt: skip
ANYWHERE = {place.lower(): agent for agent in AGENTS for place in agent.directories if place.startswith("/")}

AGENT_OF = {program: agent.name for agent in AGENTS for program in agent.programs}
"""Which agent a program is."""
