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
    packages: tuple[str, ...] = ()
    """Other names under which a package registry has it."""
    hooks_since: tuple[int, ...] = ()
    """The first version that is known to run hooks; empty where nobody looked."""
    one_shot: bool = False
    """Whether a plain prompt makes it work, without an option for that and without a terminal."""
    directories: tuple[str, ...] = ()
    """What holds its settings, as a whole: `~` is the home of a user."""
    in_projects: tuple[str, ...] = ()
    """Directories of a project that hold its settings, as a whole."""
    settings: str = ""
    """What holds hooks, permissions or code that the agent loads, in the patterns of `paths/catalogue.py`."""
    servers: str = ""
    """What decides which tool servers the agent starts, in the same patterns."""
    in_home: tuple[str, ...] = ()
    """Names that are settings only where they are in a home directory itself."""
    moved_by: tuple[str, ...] = ()
    """Variables that make it read its settings elsewhere."""
    marks: tuple[str, ...] = ()
    """Variables that it sets for the commands that it runs."""
    transcripts: Transcripts | None = None


AGENTS: tuple[KnownAgent, ...] = (
    KnownAgent(
        name="claude-code",
        title="Claude Code",
        programs=("claude", "claude-code"),
        packages=("@anthropic-ai/claude-code",),
        hooks_since=(2,),
        directories=("~/.claude", "/etc/claude-code"),
        in_projects=(".claude",),
        settings="""
            .claude/settings.json .claude/settings.local.json .claude/managed-settings.json .claude/hooks/
            .claude/plugins/ /etc/claude-code/ library/application%20support/claudecode/
        """,
        servers=".mcp.json claude_desktop_config.json",
        in_home=(".claude.json",),
        marks=("CLAUDECODE",),
        moved_by=("CLAUDE_CONFIG_DIR",),
        transcripts=Transcripts("~/.claude/projects/*/*.jsonl", "stem"),
    ),
    KnownAgent(
        name="codex",
        title="Codex CLI",
        programs=("codex",),
        packages=("@openai/codex",),
        directories=("~/.codex", "/etc/codex"),
        in_projects=(".codex",),
        settings="""
            .codex/config.toml .codex/hooks.json .codex/hooks/ .codex/rules/ .codex/plugins/ /etc/codex/
        """,
        marks=("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"),
        moved_by=("CODEX_HOME",),
        transcripts=Transcripts("~/.codex/sessions/*/*/*/rollout-*.jsonl", "tail"),
    ),
    KnownAgent(
        name="gemini-cli",
        title="Gemini CLI",
        programs=("gemini", "gemini-cli"),
        packages=("@google/gemini-cli",),
        directories=("~/.gemini", "/etc/gemini-cli"),
        in_projects=(".gemini",),
        settings="""
            .gemini/settings.json .gemini/hooks/ .gemini/policies/ .gemini/trustedfolders.json
            .gemini/extensions/ .gemini/config/ /etc/gemini-cli/
        """,
        marks=("GEMINI_CLI",),
        moved_by=("GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"),
        transcripts=Transcripts("~/.gemini/tmp/*/chats/session-*.jsonl", "start"),
    ),
    KnownAgent(
        name="copilot",
        title="GitHub Copilot CLI",
        programs=("copilot",),
        packages=("@github/copilot",),
        directories=("~/.copilot", "/etc/github-copilot"),
        in_projects=(".github/hooks", ".github/copilot"),
        settings="""
            .copilot/config.json .copilot/settings.json .copilot/hooks/ .github/hooks/ .github/copilot/
            /etc/github-copilot/
        """,
        servers=".copilot/mcp-config.json .vscode/mcp.json code/user/mcp.json",
        marks=("COPILOT_CLI",),
        moved_by=("COPILOT_HOME",),
        transcripts=Transcripts("~/.copilot/session-state/*/events.jsonl", "parent"),
    ),
    KnownAgent(
        name="qwen-code",
        title="Qwen Code",
        programs=("qwen", "qwen-code"),
        packages=("@qwen-code/qwen-code",),
        directories=("~/.qwen", "/etc/qwen-code"),
        in_projects=(".qwen",),
        settings=".qwen/settings.json .qwen/hooks/ .qwen/extensions/ /etc/qwen-code/",
        servers=".qwen/mcp.json",
        marks=("QWEN_CODE",),
        moved_by=("QWEN_HOME", "QWEN_CODE_SYSTEM_SETTINGS_PATH", "QWEN_CODE_SYSTEM_DEFAULTS_PATH"),
        transcripts=Transcripts("~/.qwen/projects/*/chats/*.jsonl", "stem"),
    ),
    KnownAgent(
        name="opencode",
        title="OpenCode",
        programs=("opencode",),
        packages=("opencode-ai",),
        directories=("~/.config/opencode", "~/.opencode", "/etc/opencode"),
        in_projects=(".opencode",),
        settings="""
            .config/opencode/ opencode.json opencode.jsonc .opencode/plugin/ .opencode/plugins/ .opencode/tool/
            .opencode/tools/ /etc/opencode/ library/application%20support/opencode/
        """,
        marks=("OPENCODE",),
        moved_by=("OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT"),
    ),
    KnownAgent(
        name="openclaw",
        title="OpenClaw",
        programs=("openclaw", "clawdbot"),
        packages=("clawdbot",),
        directories=("~/.openclaw", "~/.clawdbot"),
        settings=".openclaw/openclaw.json .openclaw/config.json .openclaw/plugins/ .clawdbot/clawdbot.json",
        moved_by=("OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "OPENCLAW_HOME"),
    ),
    KnownAgent(
        name="cursor",
        title="Cursor",
        programs=("cursor-agent",),
        directories=("~/.cursor", "/etc/cursor"),
        in_projects=(".cursor",),
        settings="""
            .cursor/hooks.json .cursor/hooks/ .cursor/cli-config.json .cursor/cli.json .cursor/permissions.json
            /etc/cursor/
        """,
        servers=".cursor/mcp.json",
        marks=("CURSOR_AGENT",),
        moved_by=("CURSOR_CONFIG_DIR",),
    ),
    KnownAgent(
        name="cline",
        title="Cline",
        programs=("cline",),
        packages=("@cline/cli",),
        directories=("~/.cline", "~/Documents/Cline", "~/Documents/Cline/Hooks"),
        in_projects=(".clinerules/hooks",),
        settings=".clinerules/hooks/ documents/cline/hooks/ .cline/hooks/ .cline/data/settings/",
        servers="cline_mcp_settings.json",
        marks=("CLINE_ACTIVE",),
        moved_by=("CLINE_DIR",),
    ),
    KnownAgent(
        name="windsurf",
        title="Windsurf",
        directories=("~/.codeium", "~/.codeium/windsurf", "~/.windsurf", "/etc/windsurf"),
        in_projects=(".windsurf",),
        settings=".windsurf/hooks.json .codeium/windsurf/hooks.json /etc/windsurf/",
        servers=".windsurf/mcp_config.json .codeium/windsurf/mcp_config.json",
    ),
    KnownAgent(
        name="kiro",
        title="Kiro CLI",
        programs=("kiro-cli",),
        directories=("~/.kiro", "~/.kiro/agents"),
        in_projects=(".kiro",),
        settings=".kiro/hooks/ .kiro/agents/interpose.json .kiro/settings/cli.json",
        servers=".kiro/settings/mcp.json",
    ),
    KnownAgent(
        name="droid",
        title="Factory Droid",
        programs=("droid",),
        packages=("@factory/cli",),
        directories=("~/.factory",),
        in_projects=(".factory",),
        settings=".factory/settings.json .factory/settings.local.json .factory/hooks.json .factory/hooks/",
        servers=".factory/mcp.json",
    ),
    KnownAgent(
        name="goose",
        title="Goose",
        programs=("goose",),
        packages=("goose-ai",),
        directories=("~/.config/goose", "~/.agents"),
        settings=".config/goose/config.yaml .config/goose/permission.yaml",
    ),
    KnownAgent(
        name="amp",
        title="Amp",
        programs=("amp",),
        packages=("@sourcegraph/amp", "@ampcode/cli"),
        directories=("~/.config/amp", "~/.amp"),
        settings=".amp/settings.json .config/amp/settings.json .config/amp/plugins/",
    ),
    KnownAgent(
        name="kimi",
        title="Kimi Code",
        programs=("kimi",),
        packages=("kimi-cli",),
        directories=("~/.kimi", "~/.kimi-code"),
        settings=".kimi/config.toml .kimi-code/config.toml",
        servers=".kimi/mcp.json .kimi-code/mcp.json",
    ),
    KnownAgent(
        name="kilo",
        title="Kilo Code",
        programs=("kilo", "kilocode"),
        packages=("@kilocode/cli",),
        directories=("~/.kilo", "~/.config/kilo"),
        settings=".config/kilo/ .kilo/kilo.json .kilo/kilo.jsonc .kilo/plugin/ .kilo/plugins/",
    ),
    KnownAgent(
        name="crush",
        title="Crush",
        programs=("crush",),
        packages=("@charmland/crush", "github.com/charmbracelet/crush"),
        directories=("~/.config/crush",),
        settings=".crush.json .config/crush/crush.json",
    ),
    KnownAgent(
        name="auggie",
        title="Augment",
        programs=("auggie",),
        packages=("@augmentcode/auggie",),
        directories=("~/.augment",),
        settings=".augment/settings.json",
    ),
    KnownAgent(
        name="continue",
        title="Continue",
        programs=("cn",),
        packages=("@continuedev/cli",),
        directories=("~/.continue",),
        settings=".continue/config.yaml .continue/config.json .continue/permissions.yaml",
    ),
    KnownAgent(
        name="roo",
        title="Roo Code",
        directories=("~/.roo",),
        settings=".roo/",
        servers=".roo/mcp.json",
    ),
    KnownAgent(
        name="aider",
        title="Aider",
        programs=("aider",),
        packages=("aider-chat",),
        settings=".aider.conf.yml",
    ),
    KnownAgent(
        name="openhands",
        title="OpenHands",
        programs=("openhands",),
        packages=("openhands-ai",),
        directories=("~/.openhands",),
        settings=".openhands/config.toml .openhands/hooks.json .openhands/hooks/",
    ),
    KnownAgent(
        name="pi", title="Pi", programs=("pi",), packages=("@mariozechner/pi-coding-agent",), directories=("~/.pi",)
    ),
    KnownAgent(
        name="open-interpreter", title="Open Interpreter", one_shot=True, programs=("interpreter", "open-interpreter")
    ),
    KnownAgent(name="gptme", title="gptme", one_shot=True, programs=("gptme",), directories=("~/.config/gptme",)),
    KnownAgent(name="plandex", title="Plandex", one_shot=True, programs=("plandex", "pdx")),
    KnownAgent(
        name="swe-agent", title="SWE-agent", one_shot=True, programs=("sweagent", "swe-agent", "mini-swe-agent")
    ),
    KnownAgent(
        name="claude-code-router",
        title="Claude Code Router",
        one_shot=True,
        programs=("ccr",),
        packages=("@musistudio/claude-code-router",),
        directories=("~/.claude-code-router",),
    ),
    KnownAgent(
        name="grok-cli",
        title="Grok CLI",
        programs=("grok",),
        packages=("@vibe-kit/grok-cli",),
        directories=("~/.grok",),
    ),
    KnownAgent(
        name="iflow", title="iFlow", programs=("iflow",), packages=("@iflow-ai/iflow-cli",), directories=("~/.iflow",)
    ),
    KnownAgent(name="codebuff", title="Codebuff", one_shot=True, programs=("codebuff",)),
    KnownAgent(
        name="letta",
        title="Letta Code",
        programs=("letta",),
        packages=("@letta-ai/letta-code",),
        directories=("~/.letta",),
    ),
    KnownAgent(
        name="junie", title="Junie", programs=("junie",), packages=("@jetbrains/junie",), directories=("~/.junie",)
    ),
    KnownAgent(
        name="vibe", title="Mistral Vibe", programs=("vibe",), packages=("mistral-vibe",), directories=("~/.vibe",)
    ),
    KnownAgent(name="rovodev", title="Rovo Dev", programs=("rovodev",), directories=("~/.rovodev",)),
    KnownAgent(
        name="amazon-q",
        title="Amazon Q Developer CLI",
        programs=("q", "qchat", "amazon-q"),
        directories=("~/.aws/amazonq",),
        settings=".aws/amazonq/cli-agents/ .amazonq/cli-agents/",
        servers=".aws/amazonq/mcp.json .amazonq/mcp.json",
    ),
    KnownAgent(name="jules", title="Jules", one_shot=True, programs=("jules",), packages=("@google/jules",)),
    KnownAgent(name="devin", title="Devin", one_shot=True, programs=("devin",)),
    KnownAgent(name="gpt-engineer", title="gpt-engineer", one_shot=True, programs=("gpte", "gpt-engineer")),
    KnownAgent(
        name="nanocoder",
        title="Nanocoder",
        one_shot=True,
        programs=("nanocoder",),
        packages=("@nanocollective/nanocoder",),
    ),
    KnownAgent(name="octofriend", title="Octofriend", one_shot=True, programs=("octofriend", "octo")),
    KnownAgent(
        name="nanobot", title="nanobot", programs=("nanobot",), packages=("nanobot-ai",), directories=("~/.nanobot",)
    ),
    KnownAgent(name="cody", title="Cody", programs=("cody",), packages=("@sourcegraph/cody",)),
    KnownAgent(name="qodo", title="Qodo", one_shot=True, programs=("qodo",)),
    KnownAgent(name="ra-aid", title="RA.Aid", one_shot=True, programs=("ra-aid",)),
    KnownAgent(name="smol", title="smol developer", one_shot=True, programs=("smol-developer", "smol-dev")),
    KnownAgent(name="trae", title="Trae Agent", one_shot=True, programs=("trae-cli", "trae-agent")),
)

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

IN_PROJECTS = frozenset(place for agent in AGENTS for place in agent.in_projects)
"""Directories of a project that hold an agent's settings."""

MARKS = tuple(mark for agent in AGENTS for mark in agent.marks)
"""Variables by which a command is known to be an agent's."""

_LONGEST_PROCESS_NAME = 15
PROCESS_NAMES = frozenset(program[:_LONGEST_PROCESS_NAME] for agent in AGENTS for program in agent.programs)
"""Names that agents' processes have. The kernel keeps fifteen letters of one."""

AGENT_OF = {program: agent.name for agent in AGENTS for program in agent.programs}
"""Which agent a program is."""

PACKAGES = {package: agent for agent in AGENTS for package in (*agent.programs, *agent.packages)}
"""Names under which a package registry may have an agent."""
