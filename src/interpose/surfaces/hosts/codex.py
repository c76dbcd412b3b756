"""Codex CLI. What its schema doesn't know makes the hook fail, and then the tool runs: say exactly what it takes."""

from __future__ import annotations

from typing import Any

from interpose.surfaces.hosts.claude_like import EVENTS, ClaudeLike
from interpose.surfaces.hosts.events import HostEvent, HostFacts, Reply, spoken
from interpose.surfaces.hosts.hook_places import STATUS, HookEvent, HookFile, HostSetup, shell_event
from interpose.surfaces.hosts.result_shapes import plain_text

SETUP = HostSetup(
    layout="groups",
    files=(
        HookFile("user", "~/.codex/hooks.json", "CODEX_HOME", "~/.codex"),
        HookFile("project", ".codex/hooks.json"),
        HookFile(
            "managed",
            "/etc/codex/hooks.json",
            beside="/etc/codex/requirements.toml",
            beside_text="[features]\nhooks = true\n",
        ),
    ),
    entry={"type": "command"},
    while_it_runs=STATUS,
    events=(
        HookEvent("PreToolUse", gate=True, matcher="*"),
        HookEvent("PostToolUse", matcher="*"),
        HookEvent("PermissionRequest", gate=True),
        HookEvent("UserPromptSubmit"),
        HookEvent("SessionStart"),
        HookEvent("SessionEnd", most=1),
        HookEvent("SubagentStart"),
        HookEvent("PreCompact"),
    ),
    afterwards="Start codex and trust the new hooks with /hooks: until then Codex does not run them, and says nothing.",
    canary=shell_event("PreToolUse", "Bash", tool_use_id="doctor", turn_id="doctor", model="doctor"),
    program="codex",
    traces=("~/.codex/sessions",),
    opens_on=(
        "hooks that were not trusted with /hooks, or were changed since",
        "a hook that takes longer than its timeout",
        "text typed into a shell that already runs: `write_stdin` asks no hook",
    ),
)


class Codex(ClaudeLike, frozen=True):
    """A result is replaced by blocking it: the agent then sees the reason in its place."""

    def replace(self, _event: HostEvent, result: Any) -> Reply:
        """The text that the agent sees instead."""
        return spoken({"decision": "block", "reason": plain_text(result) or "(no output)"})


HOST = Codex(
    HostFacts(
        name="codex",
        title="Codex CLI",
        evidence="run",
        setup=SETUP,
        rewrites=("PreToolUse",),
        replaces=("PostToolUse",),
        hears=("UserPromptSubmit", "PostToolUse"),
        unasked_input=("write_stdin",),
    ),
    {**EVENTS, "PermissionRequest": "permission.ask", "PostCompact": "ignored"},
)
