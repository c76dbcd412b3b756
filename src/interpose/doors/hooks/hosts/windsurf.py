"""Windsurf Cascade. Each kind of tool has its events; only the exit code of those before a tool holds anything."""

from __future__ import annotations

from typing import Any

from interpose.doors.hooks.hosts.event_fields import objects, read_event, text
from interpose.doors.hooks.hosts.events import EventError, HostEvent
from interpose.doors.hooks.hosts.exit_code import ExitCode

_TOOLS = {"run_command": "run_command", "read_code": "read_file", "write_code": "edit_file"}


class Windsurf(ExitCode, frozen=True):
    """What an event is about lies in `tool_info`, under a name for each kind."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event."""
        name = text(raw, self.facts.fields.event) or hint
        point = self.facts.points.get(name, "ignored")
        return read_event(self.facts, raw if point == "ignored" else raw | _seen(name, raw), hint)


def _seen(name: str, raw: dict[str, Any]) -> dict[str, Any]:
    kind = name.partition("_")[2]
    info = objects(raw, "tool_info")
    cwd = {"cwd": text(info, ("cwd",))}
    if kind == "user_prompt":
        return {"prompt": text(info, ("user_prompt",), needed=True)}
    if kind == "mcp_tool_use":
        server, tool = text(info, ("mcp_server_name",)), text(info, ("mcp_tool_name",), needed=True)
        about = {"tool_input": info["mcp_tool_arguments"]} if "mcp_tool_arguments" in info else {}
        result = {"tool_response": info["mcp_result"]} if "mcp_result" in info else {}
        return {"tool_name": f"mcp__{server}__{tool}", **about, **result, **cwd}
    needed = "command_line" if kind == "run_command" else "file_path"
    if not info.get(needed):
        raise EventError(f"'tool_info.{needed}' is missing or empty")
    return {"tool_name": _TOOLS[kind], "tool_input": info, **cwd}


CODEC = Windsurf
