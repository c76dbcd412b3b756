"""OpenClaw. Its hook fails closed by itself; results can only be watched."""

from __future__ import annotations

from interpose.surfaces.hosts.events import HostFacts
from interpose.surfaces.hosts.hook_places import HookFile, HostSetup
from interpose.surfaces.hosts.in_process import InProcess

SETUP = HostSetup(
    layout="plugin",
    files=(HookFile("user", "~/.openclaw/plugins/interpose"), HookFile("project", ".openclaw/plugins/interpose")),
    plugin="openclaw.js",
    afterwards="openclaw plugins install --link PATH --force && openclaw plugins enable interpose",
    canary={
        "event": "before_tool_call",
        "session": "SESSION",
        "cwd": "/",
        "tool": "exec",
        "call": "doctor",
        "arguments": {"command": "COMMAND"},
    },
    program="openclaw",
    traces=("~/.openclaw/agents",),
    opens_on=("the plugin being disabled",),
)

HOST = InProcess(
    HostFacts(
        name="openclaw",
        title="OpenClaw",
        evidence="docs",
        setup=SETUP,
        asks=("before_tool_call",),
        asks_in=("",),
        rewrites=("before_tool_call",),
    ),
    {
        "before_tool_call": "tool.before",
        "after_tool_call": "tool.after",
        "session_start": "session.start",
        "session_end": "session.end",
        "subagent_spawned": "subagent.start",
        "before_compaction": "compact.before",
    },
)
