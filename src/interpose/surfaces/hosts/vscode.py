"""The local agent of VS Code. Sessions that run on Copilot's own harness speak the language of Copilot CLI."""

from __future__ import annotations

from interpose.surfaces.hosts.claude_like import EVENTS, ClaudeLike
from interpose.surfaces.hosts.event_fields import Fields
from interpose.surfaces.hosts.events import HostEvent, HostFacts, Reply, refused
from interpose.surfaces.hosts.hook_places import HookEvent, HookFile, HostSetup

SETUP = HostSetup(
    layout="flat",
    files=(
        HookFile("user", "~/.copilot/hooks/interpose.json", also_run_by=("copilot",)),
        HookFile("project", ".github/hooks/interpose.json", also_run_by=("copilot",)),
    ),
    entry={"type": "command"},
    events=(
        HookEvent("PreToolUse", gate=True),
        HookEvent("PostToolUse"),
        HookEvent("UserPromptSubmit"),
        HookEvent("SessionStart"),
        HookEvent("SubagentStart"),
        HookEvent("PreCompact"),
    ),
    canary={
        "hookEventName": "PreToolUse",
        "sessionId": "SESSION",
        "cwd": "/",
        "tool_name": "run_in_terminal",
        "tool_input": {"command": "COMMAND"},
        "tool_use_id": "doctor",
        "timestamp": "2026-01-01T00:00:00.000Z",
    },
    program="code",
    opens_on=("a hook that can't be started, crashes or takes too long",),
)


class VsCode(ClaudeLike, frozen=True):
    """Messages are refused by the exit code: the event knows no decision."""

    def deny(self, event: HostEvent, reason: str) -> Reply:
        """Refuse."""
        return refused(reason) if event.point == "message.before" else ClaudeLike.deny(self, event, reason)


HOST = VsCode(
    # It asks by its own level of permissions, which its events don't name: with "Allow all" nobody is asked.
    HostFacts(name="vscode", title="VS Code", evidence="docs", setup=SETUP, tells_person="systemMessage"),
    EVENTS,
    Fields(event=("hookEventName", "hook_event_name"), session=("sessionId", "session_id")),
)
