"""Claude Code."""

from __future__ import annotations

from typing import Any

from interpose.surfaces.hosts.claude_like import EVENTS, ClaudeLike, specific
from interpose.surfaces.hosts.events import HostEvent, HostFacts, Points, Reply, spoken
from interpose.surfaces.hosts.hook_places import HookEvent, HookFile, HostSetup, shell_event

_IGNORED = (
    "ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation", "ElicitationResult", "FileChanged",
    "InstructionsLoaded", "MessageDisplay", "Notification", "PermissionDenied", "PostCompact", "PostModelSwitch",
    "PostToolBatch", "PreModelSwitch", "Setup", "StopFailure", "TaskCompleted", "TaskCreated", "TeammateIdle",
    "WorktreeCreate", "WorktreeRemove",
)  # fmt: skip

POINTS: Points = {
    **EVENTS,
    "PostToolUseFailure": "tool.after",
    "PermissionRequest": "permission.ask",
    # Not among those that are installed: versions that don't know an event pass over the whole file. A prompt that is a
    # command comes as a prompt before, in every version, and is judged there.
    "UserPromptExpansion": "command.before",
    **dict.fromkeys(_IGNORED, "ignored"),
}

SETUP = HostSetup(
    layout="groups",
    files=(
        HookFile("user", "~/.claude/settings.json", "CLAUDE_CONFIG_DIR", "~/.claude", ("cursor", "vscode")),
        HookFile("project", ".claude/settings.json", also_run_by=("copilot", "cursor", "vscode")),
        HookFile("managed", "/etc/claude-code/managed-settings.json"),
    ),
    entry={"type": "command"},
    line="statusLine",
    takes=("byte order mark",),
    fail_closed={"onFailure": "block"},
    fail_closed_since="2.1.295",
    events=(
        HookEvent("PreToolUse", gate=True, matcher="*"),
        HookEvent("PostToolUse", matcher="*"),
        HookEvent("PostToolUseFailure", matcher="*"),
        HookEvent("PermissionRequest", gate=True, matcher="*"),
        HookEvent("UserPromptSubmit"),
        HookEvent("SessionStart"),
        HookEvent("SessionEnd", most=1),
        HookEvent("SubagentStart"),
        HookEvent("SubagentStop", tells=True),
        HookEvent("PreCompact"),
    ),
    canary=shell_event("PreToolUse", "Bash", tool_use_id="doctor"),
    program="claude",
    traces=("~/.claude/projects",),
    opens_on=("a crash or a timeout of the hook in versions before 2.1.295, which don't know `onFailure`",),
)


class ClaudeCode(ClaudeLike, frozen=True):
    """It takes a rewrite together with its permission only."""

    def rewrite(self, event: HostEvent, arguments: dict[str, Any], reason: str) -> Reply:
        """Where its person would be asked, the person is asked about the changed call, unless a person changed it.

        INVARIANT: an agent that provokes a rewrite gets no permission by it that the host would not have given.
        """
        bypassed = event.raw.get("permission_mode") == "bypassPermissions"
        decision = "allow" if bypassed or event.agreed else "ask"
        return specific(
            event, permissionDecision=decision, permissionDecisionReason=reason, updatedInput=arguments
        )  # fmt: skip

    def context(self, event: HostEvent, text: str) -> Reply:
        """At the start of a session its person reads it, too."""
        said = {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}
        return spoken({"systemMessage": text, **said} if event.point == "session.start" else said)


HOST = ClaudeCode(
    HostFacts(
        name="claude-code",
        title="Claude Code",
        evidence="run",
        setup=SETUP,
        tells_person="systemMessage",
        asks=("PreToolUse",),
        mode_field="permission_mode",
        # Not `auto`, where a classifier answers; not `bypassPermissions`, where what its own check of paths would ask
        # about runs; not `dontAsk`, and none that we have not seen.
        asks_in=("default", "acceptEdits", "plan"),
        # It puts our `ask` to its person there, as far as it was seen to run: its classifier was never reachable.
        hands_over_in=("auto",),
        tells_version=("AI_AGENT", r"claude-code_(\d+-\d+-\d+)(?:_|$)"),
        says_it_asks=("PermissionRequest",),
        hears=("UserPromptSubmit", "PostToolUse", "SubagentStart"),
        unheard_beside=("<task-notification>",),
        rewrites=("PreToolUse",),
        replaces=("PostToolUse",),
        windows_shell="bash",
    ),
    POINTS,
)
