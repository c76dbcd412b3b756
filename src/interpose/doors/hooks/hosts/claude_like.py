"""The language of Claude Code, which several hosts speak with differences of their own."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

from interpose.doors.hooks.hosts.event_fields import read_event
from interpose.doors.hooks.hosts.events import HostEvent, HostFacts, Points, Reply, refused, spoken


class ClaudeLike(Struct, frozen=True):
    """A host that reads decisions from `hookSpecificOutput`. No opinion is no output."""

    facts: HostFacts
    EVENTS: ClassVar[Points] = {
        "PreToolUse": "tool.before",
        "PostToolUse": "tool.after",
        "UserPromptSubmit": "message.before",
        "SessionStart": "session.start",
        "SessionEnd": "session.end",
        "SubagentStart": "subagent.start",
        "PreCompact": "compact.before",
        "SubagentStop": "subagent.stop",
        "Stop": "session.idle",
    }
    """What all of them have."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event."""
        return read_event(self.facts, raw, hint)

    def allow(self, _event: HostEvent) -> Reply:
        """Nothing: the host's own permissions still hold."""
        return Reply()

    def deny(self, event: HostEvent, reason: str) -> Reply:
        """Refuse, in the form of the event."""
        match event.point:
            case "permission.ask":
                return specific(event, decision={"behavior": "deny", "message": reason})
            case "message.before" | "command.before":
                return spoken({"decision": "block", "reason": reason})
            case _:
                return permission(event, "deny", reason)

    def ask(self, event: HostEvent, reason: str) -> Reply:
        """The host's own prompt."""
        return permission(event, "ask", reason)

    def rewrite(self, event: HostEvent, arguments: dict[str, Any], _reason: str) -> Reply:
        """`updatedInput` counts only beside `allow`."""
        return specific(event, permissionDecision="allow", updatedInput=arguments)

    def replace(self, event: HostEvent, result: Any) -> Reply:
        """Another result, in the tool's own shape."""
        return specific(event, updatedToolOutput=result)

    def context(self, event: HostEvent, text: str) -> Reply:
        """A text beside the result."""
        return specific(event, additionalContext=text)

    def broken(self, reason: str) -> Reply:
        """Exit code 2 blocks with or without a fail-closed switch."""
        return refused(reason)


def permission(event: HostEvent, decision: str, reason: str) -> Reply:
    """What is to become of a call."""
    return specific(event, permissionDecision=decision, permissionDecisionReason=reason)


def specific(event: HostEvent, **fields: Any) -> Reply:
    """What is said about one event."""
    return spoken({"hookSpecificOutput": {"hookEventName": event.name, **fields}})


CODEC = ClaudeLike
