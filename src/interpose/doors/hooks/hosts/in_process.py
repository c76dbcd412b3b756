"""Hosts that run our plugin inside their own process. The plugin sends one object and gets one object.

Here `decision` is always said, and only the word `allow` lets a call run: silence, half an answer and any other word
make the plugin refuse.
"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.types import Params
from interpose.doors.hooks.hosts.event_fields import read_event, text
from interpose.doors.hooks.hosts.events import HostEvent, HostFacts, Points, Reply, spoken
from interpose.effects.agents.agent import Fields

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
    failures=("tool.execute.failed", "tool_call_failed"),
)


class InProcess(Struct, frozen=True):
    """The language of our own plugins."""

    facts: HostFacts
    EVENTS: ClassVar[Points] = {}

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event."""
        event = read_event(self.facts, raw, hint, FIELDS)
        if event.name not in self.facts.sets_model:
            return event
        return replace(event, params=Params(model=text(raw, ("model",)), provider=text(raw, ("provider",))))

    def allow(self, event: HostEvent) -> Reply:
        """Go on."""
        return spoken({"decision": "allow", **_agreed(event), **_chosen(event)})

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

    def context(self, event: HostEvent, said: str) -> Reply:
        """A text for the agent: the plugin puts it where its host's model reads it."""
        return spoken({"decision": "allow", "note": said, **_chosen(event)})

    def broken(self, reason: str) -> Reply:
        """Refuse."""
        return spoken({"decision": "deny", "reason": reason})


def _agreed(event: HostEvent) -> dict[str, Any]:
    """For a host whose own prompt would ask the same person the same again."""
    return {"agreed": True} if event.agreed else {}


def _chosen(event: HostEvent) -> dict[str, Any]:
    """The model that a run should use instead of the one that it came with."""
    came, chosen = event.raw, event.params
    if chosen is None:
        return {}
    pairs = (("model", chosen.model), ("provider", chosen.provider))
    changed = {name: value for name, value in pairs if value and value != came.get(name)}
    return {"params": changed} if changed else {}


CODEC = InProcess
