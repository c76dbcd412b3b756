"""Hosts that run our plugin inside their own process. The plugin sends one object and gets one object.

Here `decision` is always said, and only the word `allow` lets a call run: silence, half an answer and any other word
make the plugin refuse.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from interpose.surfaces.hosts.event_fields import Fields, read_event
from interpose.surfaces.hosts.events import HostEvent, HostFacts, Points, Reply, spoken

FIELDS = Fields(
    event=("event",),
    session=("session",),
    agent=("agent",),
    tool=("tool",),
    arguments=("arguments",),
    result=("result",),
    error=("error",),
    key=("call",),
    prompt=("text",),
    command=("command",),
    command_arguments=("arguments",),
    failures=(),
)


class InProcess(Struct, frozen=True):
    """The language of our own plugins."""

    facts: HostFacts
    points: Points

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event."""
        return read_event(self.facts, self.points, FIELDS, raw, hint)

    def allow(self, event: HostEvent) -> Reply:
        """Go on."""
        return spoken({"decision": "allow", **_agreed(event)})

    def deny(self, _event: HostEvent, reason: str) -> Reply:
        """Refuse."""
        return spoken({"decision": "deny", "reason": reason})

    def ask(self, _event: HostEvent, reason: str) -> Reply:
        """The host's own approval."""
        return spoken({"decision": "ask", "reason": reason})

    def rewrite(self, event: HostEvent, arguments: dict[str, Any], _reason: str) -> Reply:
        """All arguments."""
        return spoken({"decision": "allow", "arguments": arguments, **_agreed(event)})

    def replace(self, _event: HostEvent, result: Any) -> Reply:
        """Another result."""
        return spoken({"decision": "allow", "result": result})

    def context(self, _event: HostEvent, text: str) -> Reply:
        """A text for the host's log: these hosts have no other place for it."""
        return spoken({"decision": "allow", "note": text})

    def broken(self, reason: str) -> Reply:
        """Refuse."""
        return spoken({"decision": "deny", "reason": reason})


def _agreed(event: HostEvent) -> dict[str, Any]:
    """For a host whose own prompt would ask the same person the same again."""
    return {"agreed": True} if event.agreed else {}
