"""Qwen Code. It documents rewritten input and ignores it."""

from __future__ import annotations

from typing import Any

from interpose.surfaces.hosts.claude_like import EVENTS, ClaudeLike
from interpose.surfaces.hosts.event_fields import Fields
from interpose.surfaces.hosts.events import HostEvent, HostFacts, Reply, spoken
from interpose.surfaces.hosts.hook_places import HookEvent, HookFile, HostSetup, shell_event
from interpose.surfaces.hosts.result_shapes import plain_text

_MOST = 995
"""Seconds. It reads 1000 and more as milliseconds, and a hook that takes longer than those lets the call run."""

SETUP = HostSetup(
    layout="groups",
    files=(
        HookFile("user", "~/.qwen/settings.json"),
        HookFile("project", ".qwen/settings.json"),
        HookFile("managed", "/etc/qwen-code/settings.json", top={"disableAllHooks": False}),
    ),
    entry={"type": "command"},
    takes=("comment", "byte order mark"),
    events=(
        HookEvent("PreToolUse", gate=True, matcher="*", most=_MOST),
        HookEvent("PostToolUse", matcher="*", most=_MOST),
        HookEvent("PostToolUseFailure", matcher="*", most=_MOST),
        HookEvent("PermissionRequest", gate=True, matcher="*", most=_MOST),
        HookEvent("UserPromptSubmit", most=_MOST),
        HookEvent("SessionStart", most=_MOST),
        HookEvent("SessionEnd", most=_MOST),
        HookEvent("SubagentStart", most=_MOST),
        HookEvent("PreCompact", most=_MOST),
    ),
    canary=shell_event("PreToolUse", "run_shell_command", tool_use_id="doctor"),
    program="qwen",
    traces=("~/.qwen/projects", "~/.qwen/tmp"),
    opens_on=("a hook that takes longer than its timeout",),
)


class QwenCode(ClaudeLike, frozen=True):
    """A result is replaced by stopping after it: the agent then sees the reason in its place, and the run goes on."""

    def replace(self, _event: HostEvent, result: Any) -> Reply:
        """The text that the agent sees instead."""
        return spoken({"continue": False, "stopReason": plain_text(result) or "(no output)"})


HOST = QwenCode(
    HostFacts(
        name="qwen-code",
        title="Qwen Code",
        evidence="run",
        setup=SETUP,
        asks=("PreToolUse",),
        mode_field="permission_mode",
        asks_in=("default", "plan", "auto-edit", "auto", "yolo"),
        replaces=("PostToolUse",),
    ),
    {
        **EVENTS,
        "PostToolUseFailure": "tool.after",
        "PermissionRequest": "permission.ask",
        **dict.fromkeys(("Notification", "SessionDelete", "TodoCreated", "TodoCompleted", "PostCompact"), "ignored"),
    },
    Fields(key=("tool_use_id", "tool_call_id")),
)
