"""Gemini CLI. Its `ask` ends a run without a terminal and overrides its own policy's refusal: it is never said here."""

from __future__ import annotations

from typing import Any

from interpose.surfaces.hosts.event_fields import Fields, read_event
from interpose.surfaces.hosts.events import HostEvent, HostFacts, Points, Reply, Unable, refused, spoken
from interpose.surfaces.hosts.hook_places import HookEvent, HookFile, HostSetup, shell_event
from interpose.surfaces.hosts.result_shapes import plain_text

POINTS: Points = {
    "BeforeTool": "tool.before",
    "AfterTool": "tool.after",
    "BeforeAgent": "message.before",
    "SessionStart": "session.start",
    "SessionEnd": "session.end",
    "PreCompress": "compact.before",
    **dict.fromkeys(("AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "Notification"), "ignored"),
}

SETUP = HostSetup(
    layout="groups",
    files=(
        HookFile("user", "~/.gemini/settings.json"),
        HookFile("project", ".gemini/settings.json"),
        HookFile("managed", "/etc/gemini-cli/settings.json", top={"hooksConfig": {"enabled": True}}),
    ),
    entry={"type": "command", "name": "interpose"},
    takes=("comment",),
    timeout_unit=1000,
    events=(
        HookEvent("BeforeTool", gate=True, matcher="*"),
        HookEvent("AfterTool", matcher="*"),
        HookEvent("BeforeAgent"),
        HookEvent("SessionStart"),
        HookEvent("SessionEnd"),
        HookEvent("PreCompress"),
    ),
    afterwards="A project's hooks hold only in a folder that Gemini CLI trusts.",
    canary=shell_event("BeforeTool", "run_shell_command"),
    program="gemini",
    traces=("~/.gemini/tmp",),
    opens_on=("a hook that takes longer than its timeout",),
)


class Gemini(Unable, frozen=True):
    """Decisions are flat."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event. MCP tools are named by their context: `mcp_a_b_c` leaves open where the server's name ends."""
        return read_event(self.facts, POINTS, Fields(), _with_mcp_name(raw), hint)

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


HOST = Gemini(
    HostFacts(
        name="gemini-cli",
        title="Gemini CLI",
        evidence="run",
        setup=SETUP,
        tells_person="systemMessage",
        rewrites=("BeforeTool",),
        replaces=("AfterTool",),
        hears=("BeforeAgent", "AfterTool"),
    )
)
