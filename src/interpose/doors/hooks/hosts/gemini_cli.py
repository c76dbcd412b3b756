"""Gemini CLI. Its `ask` ends a run without a terminal and overrides its own policy's refusal: it is never said here."""

from __future__ import annotations

from typing import Any

from interpose.doors.hooks.hosts.event_fields import read_event
from interpose.doors.hooks.hosts.events import HostEvent, Reply, Unable, refused, spoken
from interpose.doors.hooks.hosts.result_shapes import plain_text


class Gemini(Unable, frozen=True):
    """Decisions are flat."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event. MCP tools are named by their context: `mcp_a_b_c` leaves open where the server's name ends."""
        return read_event(self.facts, _with_mcp_name(raw), hint)

    def allow(self, _event: HostEvent) -> Reply:
        """Nothing."""
        return Reply()

    def deny(self, _event: HostEvent, reason: str) -> Reply:
        """Refuse."""
        return spoken({"decision": "deny", "reason": reason})

    def rewrite(self, event: HostEvent, arguments: dict[str, Any], _reason: str) -> Reply:
        """`tool_input` takes the place of all arguments."""
        return spoken({"hookSpecificOutput": {"hookEventName": event.name, "tool_input": arguments}})

    def replace(self, _event: HostEvent, result: Any) -> Reply:
        """The agent sees the reason in place of the output."""
        return spoken({"decision": "deny", "reason": plain_text(result) or "(no output)"})

    def context(self, event: HostEvent, text: str) -> Reply:
        """A text beside the result."""
        return spoken({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}})

    def broken(self, reason: str) -> Reply:
        """Exit code 2 with text refuses."""
        return refused(reason)


def _with_mcp_name(raw: dict[str, Any]) -> dict[str, Any]:
    context = raw.get("mcp_context")
    if not isinstance(context, dict):
        return raw
    server, tool = context.get("server_name"), context.get("tool_name")
    if not isinstance(server, str) or not isinstance(tool, str) or not tool:
        return raw
    return raw | {"tool_name": f"mcp__{server}__{tool}"}


CODEC = Gemini
