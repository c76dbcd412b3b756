"""Kiro CLI. Hooks live in the file of each agent; only the exit code of `preToolUse` holds a call."""

from __future__ import annotations

from interpose.surfaces.hosts.events import HostFacts
from interpose.surfaces.hosts.exit_code import ExitCode
from interpose.surfaces.hosts.hook_places import HookEvent, HookFile, HostSetup, shell_event

SETUP = HostSetup(
    layout="flat",
    files=(HookFile("user", "~/.kiro/agents/interpose.json"), HookFile("project", ".kiro/agents/interpose.json")),
    top={"name": "interpose", "description": "All tools, each call decided by Interpose", "tools": ["*"]},
    timeout_key="timeout_ms",
    timeout_unit=1000,
    events=(
        HookEvent("preToolUse", gate=True, matcher="*"),
        HookEvent("postToolUse", matcher="*"),
        HookEvent("userPromptSubmit"),
        HookEvent("agentSpawn"),
    ),
    afterwards="Hooks hold for the agent in whose file they are: start it with `kiro-cli chat --agent interpose`.",
    canary=shell_event("preToolUse", "execute_bash"),
    program="kiro-cli",
    opens_on=("a hook that can't be started, crashes or takes too long", "another agent than the one with the hooks"),
)

HOST = ExitCode(
    HostFacts(name="kiro", title="Kiro CLI", evidence="docs", setup=SETUP),
    {
        "preToolUse": "tool.before",
        "postToolUse": "tool.after",
        "userPromptSubmit": "message.before",
        "agentSpawn": "session.start",
        "stop": "ignored",
    },
    gates=("preToolUse",),
    prints=("userPromptSubmit", "agentSpawn"),
)
