"""Claude Code."""

from __future__ import annotations

from interpose.surfaces.hooks.claude_like import EVENTS, ClaudeLike
from interpose.surfaces.hooks.events import HostFacts, Points
from interpose.surfaces.hooks.setup import HookEvent, HookFile, HostSetup

_IGNORED = (
    "ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation", "ElicitationResult", "FileChanged",
    "InstructionsLoaded", "MessageDisplay", "Notification", "PermissionDenied", "PostCompact", "PostModelSwitch",
    "PostToolBatch", "PreModelSwitch", "Setup", "StopFailure", "TaskCompleted", "TaskCreated", "TeammateIdle",
    "UserPromptExpansion", "WorktreeCreate", "WorktreeRemove",
)  # fmt: skip

POINTS: Points = {
    **EVENTS,
    "PostToolUseFailure": "tool.after",
    "PermissionRequest": "permission.ask",
    **dict.fromkeys(_IGNORED, "ignored"),
}

SETUP = HostSetup(
    layout="groups",
    files=(
        HookFile("user", "~/.claude/settings.json", "CLAUDE_CONFIG_DIR", "~/.claude"),
        HookFile("project", ".claude/settings.json"),
    ),
    entry={"type": "command"},
    fail_closed={"onFailure": "block"},
    events=(
        HookEvent("PreToolUse", gate=True, matcher="*"),
        HookEvent("PostToolUse", matcher="*"),
        HookEvent("PostToolUseFailure", matcher="*"),
        HookEvent("PermissionRequest", gate=True, matcher="*"),
        HookEvent("UserPromptSubmit"),
        HookEvent("SessionStart"),
        HookEvent("SessionEnd", most=1),
        HookEvent("SubagentStart"),
        HookEvent("PreCompact"),
    ),
    opens_on=("a crash or a timeout of the hook in versions before 2.1.295, which don't know `onFailure`",),
)

HOST = ClaudeLike(
    HostFacts(
        name="claude-code",
        title="Claude Code",
        evidence="run",
        setup=SETUP,
        asks=("PreToolUse",),
        rewrites=("PreToolUse",),
        replaces=("PostToolUse",),
        windows_shell="bash",
    ),
    POINTS,
)
