"""Cursor. One call may raise a generic event and one of its own kind: either of them is enough to hold it.

Its `ask` shows no dialogue and, for generic events, holds nothing: it is never said here.
"""

from __future__ import annotations

from typing import Any

from interpose.doors.hooks.hosts.event_fields import first_root, json_text, read_event, text
from interpose.doors.hooks.hosts.events import EventError, HostEvent, Reply, Unable, refused, spoken


class Cursor(Unable, frozen=True):
    """Flat, in snake_case. Under `failClosed` silence refuses, so every gate is answered aloud."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event; those of one kind of tool as a call of that tool."""
        event = raw.get("hook_event_name") or hint
        seen = raw | _call_fields(event, raw)
        if not seen.get("cwd"):
            seen["cwd"] = first_root(raw, "workspace_roots")
        if isinstance(output := seen.get("tool_output"), str):
            seen["tool_output"] = _output(output)
        return read_event(self.facts, seen, hint)

    def allow(self, event: HostEvent) -> Reply:
        """Go on."""
        match event.point:
            case "tool.before" | "permission.ask":
                return spoken({"permission": "allow"})
            case "message.before":
                return spoken({"continue": True})
            case _:
                return Reply()

    def deny(self, event: HostEvent, reason: str) -> Reply:
        """Refuse. The agent reads `user_message`."""
        if event.point == "message.before":
            return spoken({"continue": False, "user_message": reason})
        return spoken({"permission": "deny", "user_message": reason, "agent_message": reason})

    def rewrite(self, _event: HostEvent, arguments: dict[str, Any], _reason: str) -> Reply:
        """All arguments."""
        return spoken({"permission": "allow", "updated_input": arguments})

    def replace(self, _event: HostEvent, result: Any) -> Reply:
        """Another result of an MCP tool."""
        return spoken({"updated_mcp_tool_output": result})

    def context(self, event: HostEvent, text: str) -> Reply:
        """A text beside the result. A message must be told to go on."""
        goes_on = {"continue": True} if event.point == "message.before" else {}
        return spoken({**goes_on, "additional_context": text})

    def broken(self, reason: str) -> Reply:
        """Exit code 2 refuses."""
        return refused(reason)


_MCP = "MCP:"


def _call_fields(event: Any, raw: dict[str, Any]) -> dict[str, Any]:
    match event:
        case "beforeShellExecution" | "afterShellExecution":
            where = {"cwd": raw["cwd"]} if raw.get("cwd") else {}
            return {"tool_name": "Shell", "tool_input": {"command": text(raw, ("command",), needed=True), **where}}
        case "beforeReadFile" | "beforeTabFileRead":
            return {"tool_name": "Read", "tool_input": {"file_path": text(raw, ("file_path",), needed=True)}}
        case "beforeMCPExecution" | "afterMCPExecution" if isinstance(name := raw.get("tool_name"), str):
            return {"tool_name": name if name.startswith(_MCP) else _MCP + name}
        case _:
            return {}


def _output(output: str) -> Any:
    """Results come as the text of JSON; what only looks like it is the text of the tool."""
    try:
        return json_text(output, "tool_output")
    except EventError:
        return output


CODEC = Cursor
