"""GitHub Copilot CLI. Events in PascalCase carry snake_case fields, those in camelCase carry camelCase ones.

Its question for a permission carries camelCase fields under either name.
"""

from __future__ import annotations

from typing import Any

from interpose.surfaces.hosts.claude_like import EVENTS, ClaudeLike
from interpose.surfaces.hosts.event_fields import Fields, read_event
from interpose.surfaces.hosts.events import HostEvent, HostFacts, Points, Reply, spoken
from interpose.surfaces.hosts.hook_places import HookEvent, HookFile, HostSetup, shell_event
from interpose.surfaces.hosts.result_shapes import plain_text
from interpose.tools import normalize_tool_name

POINTS: Points = {
    **EVENTS,
    "PostToolUseFailure": "tool.after",
    "PermissionRequest": "permission.ask",
    "preToolUse": "tool.before",
    "postToolUse": "tool.after",
    "postToolUseFailure": "tool.after",
    "permissionRequest": "permission.ask",
    "userPromptSubmitted": "message.before",
    "sessionStart": "session.start",
    "sessionEnd": "session.end",
    "subagentStart": "subagent.start",
    "preCompact": "compact.before",
    **dict.fromkeys(
        (
            "agentStop", "subagentStop", "errorOccurred", "notification", "userPromptTransformed",
            "ErrorOccurred", "Notification", "UserPromptTransformed",
        ),
        "ignored",
    ),
}  # fmt: skip

SETUP = HostSetup(
    layout="flat",
    files=(
        HookFile("user", "~/.copilot/hooks/interpose.json", "COPILOT_HOME", "~/.copilot", ("vscode",)),
        HookFile("project", ".github/hooks/interpose.json", also_run_by=("vscode",)),
        HookFile("managed", "/etc/github-copilot/policy.d/interpose.json", also_command="bash"),
    ),
    top={"version": 1},
    entry={"type": "command"},
    timeout_key="timeoutSec",
    events=(
        HookEvent("PreToolUse", gate=True),
        HookEvent("PostToolUse"),
        HookEvent("PostToolUseFailure"),
        HookEvent("PermissionRequest", gate=True),
        HookEvent("UserPromptSubmit"),
        HookEvent("SessionStart"),
        HookEvent("SessionEnd"),
        HookEvent("SubagentStart"),
        HookEvent("PreCompact"),
    ),
    canary=shell_event("PreToolUse", "Bash", timestamp="2026-01-01T00:00:00.000Z"),
    program="copilot",
    traces=("~/.copilot/session-state",),
    opens_on=("a hook that takes longer than its timeout",),
)


class Copilot(ClaudeLike, frozen=True):
    """Decisions about calls may be nested as in Claude Code; everything after a tool must be flat."""

    def read(self, raw: dict[str, Any], hint: str = "") -> HostEvent:
        """The event; camelCase payloads don't name it."""
        return read_event(self.facts, self.points, self.fields, _with_mcp_name(raw), hint or _named_by_shape(raw))

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


HOST = Copilot(
    HostFacts(
        name="copilot",
        title="GitHub Copilot CLI",
        evidence="run",
        setup=SETUP,
        asks=("PreToolUse", "preToolUse"),
        asks_in=("",),
        rewrites=("PreToolUse", "preToolUse"),
        replaces=("PostToolUse", "postToolUse"),
        windows_shell="bash",  # its PowerShell is a tool of its own
    ),
    POINTS,
    Fields(
        event=("hook_event_name", "hookName"),
        session=("session_id", "sessionId"),
        tool=("tool_name", "toolName"),
        arguments=("tool_input", "toolArgs", "toolInput"),
        result=("tool_result", "toolResult"),
        prompt=("prompt", "user_prompt", "userPrompt"),
    ),
)
