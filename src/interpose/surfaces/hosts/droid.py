"""Factory Droid. Nobody has shown us that it takes rewritten input, so a rewrite is a refusal."""

from __future__ import annotations

from interpose.surfaces.hosts.claude_like import EVENTS, ClaudeLike
from interpose.surfaces.hosts.events import HostFacts
from interpose.surfaces.hosts.hook_places import HookEvent, HookFile, HostSetup, shell_event

SETUP = HostSetup(
    layout="groups",
    files=(HookFile("user", "~/.factory/hooks.json"), HookFile("project", ".factory/hooks.json")),
    key="",
    entry={"type": "command"},
    events=(
        HookEvent("PreToolUse", gate=True, matcher="*"),
        HookEvent("PostToolUse", matcher="*"),
        HookEvent("UserPromptSubmit"),
        HookEvent("SessionStart"),
        HookEvent("SessionEnd"),
        HookEvent("PreCompact"),
    ),
    canary=shell_event("PreToolUse", "Execute", tool_use_id="doctor"),
    program="droid",
    traces=("~/.factory/sessions",),
    opens_on=("a hook that can't be started, crashes or takes too long",),
)

HOST = ClaudeLike(
    HostFacts(
        name="droid",
        title="Factory Droid",
        evidence="docs",
        setup=SETUP,
        tells_person="systemMessage",
        asks=("PreToolUse",),
        mode_field="permission_mode",
        asks_in=("default",),  # what its other modes do with a question nobody has shown us
    ),
    {**EVENTS, "Notification": "ignored"},
)
