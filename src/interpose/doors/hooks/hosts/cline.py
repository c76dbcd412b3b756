"""Cline's file hooks. Every answer is a JSON object: without one Cline goes on."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interpose.doors.hooks.hosts.event_fields import first_root, objects, read_event, text
from interpose.doors.hooks.hosts.events import HostEvent, Reply, Unable, spoken

_HOLDERS = {"PreToolUse": "preToolUse", "PostToolUse": "postToolUse", "UserPromptSubmit": "userPromptSubmit"}
"""The field in which an event keeps what it is about."""


class Cline(Unable, frozen=True):
    """`cancel` stops a call; nothing can be changed on its way."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event."""
        holder = _HOLDERS.get(text(raw, self.facts.fields.event) or hint)
        about = objects(raw, holder) if holder else {}
        cwd = first_root(raw, "workspaceRoots")
        event = read_event(self.facts, raw | {"cwd": cwd} | about, hint)
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


CODEC = Cline
