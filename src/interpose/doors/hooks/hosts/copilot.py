"""GitHub Copilot CLI. Events in PascalCase carry snake_case fields, those in camelCase carry camelCase ones.

Its question for a permission carries camelCase fields under either name.
"""

from __future__ import annotations

from typing import Any

from interpose.core.tools import normalize_tool_name
from interpose.doors.hooks.hosts.claude_like import ClaudeLike
from interpose.doors.hooks.hosts.event_fields import read_event
from interpose.doors.hooks.hosts.events import HostEvent, Reply, spoken
from interpose.doors.hooks.hosts.result_shapes import plain_text


class Copilot(ClaudeLike, frozen=True):
    """Decisions about calls may be nested as in Claude Code; everything after a tool must be flat."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event; camelCase payloads don't name it."""
        return read_event(self.facts, _with_mcp_name(raw), hint or _named_by_shape(raw))

    def deny(self, event: HostEvent, reason: str) -> Reply:
        """Refuse, in the form of the event."""
        match event.point:
            case "permission.ask":
                return spoken({"behavior": "deny", "message": reason})
            case "message.before":
                return spoken({"decision": "block", "reason": reason, "additionalContext": reason})
            case _:
                return spoken({"permissionDecision": "deny", "permissionDecisionReason": reason})

    def ask(self, _event: HostEvent, reason: str) -> Reply:
        """Copilot's own prompt; a refusal where nobody sits."""
        return spoken({"permissionDecision": "ask", "permissionDecisionReason": reason})

    def rewrite(self, _event: HostEvent, arguments: dict[str, Any], _reason: str) -> Reply:
        """All arguments."""
        return spoken({"permissionDecision": "allow", "modifiedArgs": arguments})

    def replace(self, _event: HostEvent, result: Any) -> Reply:
        """The text that the agent sees instead."""
        return spoken({"modifiedResult": {"resultType": "success", "textResultForLlm": plain_text(result)}})

    def context(self, _event: HostEvent, text: str) -> Reply:
        """A text beside the result."""
        return spoken({"additionalContext": text})


def _named_by_shape(raw: dict[str, Any]) -> str:
    if "toolName" not in raw:
        return ""
    if "toolResult" in raw:
        return "postToolUse"
    return "postToolUseFailure" if "error" in raw else "preToolUse"


def _with_mcp_name(raw: dict[str, Any]) -> dict[str, Any]:
    """Tools of MCP servers are `server-tool`, and `server/tool` in its question. No tool of its own looks like that.

    Servers have hyphens in their names more often than tools have. Whoever builds on that is caught by the question,
    which follows and leaves nothing open.
    """
    key = "tool_name" if "tool_name" in raw else "toolName"
    name = raw.get(key)
    if not isinstance(name, str) or normalize_tool_name(name) != name.strip().lower():
        return raw
    server, _, tool = name.partition("/") if "/" in name else name.rpartition("-")
    return raw | {key: f"mcp__{server}__{tool}"} if server and tool else raw


CODEC = Copilot
