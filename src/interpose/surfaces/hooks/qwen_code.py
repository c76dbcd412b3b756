"""Qwen Code. It documents rewritten input and ignores it, and it can't replace output."""

from __future__ import annotations

from interpose.surfaces.hooks.claude_like import EVENTS, ClaudeLike
from interpose.surfaces.hooks.events import HostFacts
from interpose.surfaces.hooks.reading import Fields
from interpose.surfaces.hooks.setup import HookEvent, HookFile, HostSetup, shell_event

SETUP = HostSetup(
    layout="groups",
    files=(HookFile("user", "~/.qwen/settings.json"), HookFile("project", ".qwen/settings.json")),
    entry={"type": "command"},
    events=(
        HookEvent("PreToolUse", gate=True, matcher="*"),
        HookEvent("PostToolUse", matcher="*"),
        HookEvent("PostToolUseFailure", matcher="*"),
        HookEvent("PermissionRequest", gate=True, matcher="*"),
        HookEvent("UserPromptSubmit"),
        HookEvent("SessionStart"),
        HookEvent("SessionEnd"),
        HookEvent("SubagentStart"),
        HookEvent("PreCompact"),
    ),
    canary=shell_event("PreToolUse", "run_shell_command", tool_use_id="doctor"),
    program="qwen",
    traces=("~/.qwen/tmp",),
    opens_on=("a hook that can't be started, crashes or is killed",),
)

HOST = ClaudeLike(
    HostFacts(name="qwen-code", title="Qwen Code", evidence="run", setup=SETUP, asks=("PreToolUse",)),
    {
        **EVENTS,
        "PostToolUseFailure": "tool.after",
        "PermissionRequest": "permission.ask",
        **dict.fromkeys(("Notification", "SessionDelete", "TodoCreated", "TodoCompleted", "PostCompact"), "ignored"),
    },
    Fields(key=("tool_use_id", "tool_call_id")),
)
