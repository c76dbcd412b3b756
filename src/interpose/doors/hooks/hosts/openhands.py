"""OpenHands. The exit code holds a call; what the agent should read is a field of a JSON object."""

from __future__ import annotations

from typing import Any

from interpose.doors.hooks.hosts.event_fields import read_event
from interpose.doors.hooks.hosts.events import HostEvent, Reply, one_line, spoken
from interpose.doors.hooks.hosts.exit_code import ExitCode

_KIND = "kind"
"""The name of the class that holds the arguments, which OpenHands puts among them."""


class OpenHands(ExitCode, frozen=True):
    """Arguments come with the name of their class, and with every argument that was not given as null."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event, with the arguments that the agent gave."""
        given = raw.get("tool_input")
        return read_event(self.facts, raw | {"tool_input": _given(given)} if isinstance(given, dict) else raw, hint)

    def context(self, event: HostEvent, text: str) -> Reply:
        """What the agent reads with a message or at the start; nothing after a tool."""
        if event.name in self.facts.prints:
            return spoken({"additionalContext": text})
        return Reply(b"", one_line(text))


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an MCP server's tool are a field of their own, and all the agent's."""
    if arguments.get(_KIND) == "MCPToolAction" and isinstance(inner := arguments.get("data"), dict):
        return inner
    return {name: value for name, value in arguments.items() if name != _KIND and value is not None}


CODEC = OpenHands
