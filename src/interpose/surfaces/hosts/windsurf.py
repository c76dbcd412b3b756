"""Windsurf Cascade. Each kind of tool has its events; only the exit code of those before a tool holds anything."""

from __future__ import annotations

from typing import Any

from interpose.surfaces.hosts.event_fields import Fields, objects, read_event, text
from interpose.surfaces.hosts.events import EventError, HostEvent, HostFacts, Points
from interpose.surfaces.hosts.exit_code import ExitCode
from interpose.surfaces.hosts.hook_places import HookEvent, HookFile, HostSetup

POINTS: Points = {
    "pre_run_command": "tool.before",
    "pre_read_code": "tool.before",
    "pre_write_code": "tool.before",
    "pre_mcp_tool_use": "tool.before",
    "post_mcp_tool_use": "tool.after",
    "pre_user_prompt": "message.before",
    "post_setup_worktree": "ignored",
    "post_cascade_response": "ignored",
    "post_run_command": "ignored",  # these carry no result
    "post_read_code": "ignored",
    "post_write_code": "ignored",
}

_GATES = ("pre_run_command", "pre_read_code", "pre_write_code", "pre_mcp_tool_use", "pre_user_prompt")
_TOOLS = {"run_command": "run_command", "read_code": "read_file", "write_code": "edit_file"}

FIELDS = Fields(event=("agent_action_name",), session=("trajectory_id",), key=())

SETUP = HostSetup(
    layout="flat",
    files=(
        HookFile("user", "~/.codeium/windsurf/hooks.json"),
        HookFile("project", ".windsurf/hooks.json"),
        HookFile("managed", "/etc/windsurf/hooks.json"),
    ),
    entry={"show_output": True},
    timeout_key="",
    events=(*(HookEvent(name, gate=True) for name in _GATES), HookEvent("post_mcp_tool_use")),
    canary={
        "agent_action_name": "pre_run_command",
        "trajectory_id": "SESSION",
        "tool_info": {"command_line": "COMMAND", "cwd": "/"},
    },
    program="windsurf",
    opens_on=("a hook that can't be started, crashes or takes too long",),
)


class Windsurf(ExitCode, frozen=True):
    """What an event is about lies in `tool_info`, under a name for each kind."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event."""
        name = text(raw, FIELDS.event) or hint
        return read_event(self.facts, POINTS, FIELDS, raw | _seen(name, raw), hint)


def _seen(name: str, raw: dict[str, Any]) -> dict[str, Any]:
    kind = name.partition("_")[2]
    if POINTS.get(name, "ignored") == "ignored":
        return {}
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


HOST = Windsurf(
    HostFacts(name="windsurf", title="Windsurf", evidence="hearsay", setup=SETUP), POINTS, FIELDS, gates=_GATES
)
