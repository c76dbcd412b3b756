"""Cline's file hooks. Every answer is a JSON object: without one Cline goes on."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interpose.surfaces.hosts.event_fields import Fields, first_root, objects, read_event, text
from interpose.surfaces.hosts.events import HostEvent, HostFacts, Points, Reply, Unable, spoken
from interpose.surfaces.hosts.hook_places import HookEvent, HookFile, HostSetup

POINTS: Points = {
    "PreToolUse": "tool.before",
    "PostToolUse": "tool.after",
    "UserPromptSubmit": "message.before",
    "TaskStart": "session.start",
    "TaskResume": "session.start",
    "TaskCancel": "session.end",
    "TaskComplete": "session.end",
    "PreCompact": "compact.before",
}

_HOLDERS = {"PreToolUse": "preToolUse", "PostToolUse": "postToolUse", "UserPromptSubmit": "userPromptSubmit"}
"""The field in which an event keeps what it is about."""

FIELDS = Fields(
    event=("hookName",),
    session=("taskId",),
    tool=("toolName",),
    arguments=("parameters",),
    result=("result",),
    milliseconds=("executionTimeMs",),
)

SETUP = HostSetup(
    layout="scripts",
    files=(HookFile("user", "~/Documents/Cline/Hooks"), HookFile("project", ".clinerules/hooks")),
    events=(
        HookEvent("PreToolUse", gate=True),
        HookEvent("PostToolUse"),
        HookEvent("UserPromptSubmit"),
        HookEvent("TaskStart"),
        HookEvent("TaskResume"),
        HookEvent("TaskCancel"),
    ),
    afterwards="Switch on `Enable Hooks` in Cline's settings.",
    canary={
        "hookName": "PreToolUse",
        "taskId": "SESSION",
        "workspaceRoots": ["/"],
        "preToolUse": {"toolName": "execute_command", "parameters": {"command": "COMMAND"}},
    },
    program="cline",
    opens_on=("a hook that can't be started, crashes or takes longer than 30 seconds",),
)


class Cline(Unable, frozen=True):
    """`cancel` stops a call; nothing can be changed on its way."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event."""
        holder = _HOLDERS.get(text(raw, FIELDS.event) or hint)
        about = objects(raw, holder) if holder else {}
        cwd = first_root(raw, "workspaceRoots")
        event = read_event(self.facts, POINTS, FIELDS, raw | {"cwd": cwd} | about, hint)
        failed = event.point == "tool.after" and about.get("success") is False
        return replace(event, is_error=failed)

    def allow(self, _event: HostEvent) -> Reply:
        """Go on."""
        return spoken({"cancel": False})

    def deny(self, _event: HostEvent, reason: str) -> Reply:
        """Stop, and tell both: the person reads the error, the agent the context."""
        return spoken({"cancel": True, "errorMessage": reason, "contextModification": reason})

    def context(self, _event: HostEvent, text: str) -> Reply:
        """A text for the agent's next turn."""
        return spoken({"cancel": False, "contextModification": text})

    def broken(self, reason: str) -> Reply:
        """An object that stops the call: an exit code would not."""
        return spoken({"cancel": True, "errorMessage": reason})


HOST = Cline(HostFacts(name="cline", title="Cline", evidence="docs", setup=SETUP))
