"""OpenClaw. Its hooks about calls and runs fail closed by themselves. Results are rewritten by a middleware of its own.

Hooks about messages, models and prompts need its person's word: `hooks.allowConversationAccess` of the plugin.
"""

from __future__ import annotations

from interpose.surfaces.hosts.events import HostFacts
from interpose.surfaces.hosts.hook_places import HookFile, HostSetup
from interpose.surfaces.hosts.in_process import InProcess

SETUP = HostSetup(
    layout="plugin",
    files=(HookFile("user", "~/.openclaw/plugins/interpose"), HookFile("project", ".openclaw/plugins/interpose")),
    plugin="openclaw.js",
    afterwards="openclaw plugins install --link PATH --force && openclaw plugins enable interpose && "
    "openclaw config set plugins.entries.interpose.hooks.allowConversationAccess true",
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
    opens_on=("the plugin being disabled", "`openclaw agent exec`, which calls no hook of a plugin"),
)

HOST = InProcess(
    HostFacts(
        name="openclaw",
        title="OpenClaw",
        evidence="run",
        setup=SETUP,
        asks=("before_tool_call",),
        asks_in=("",),
        rewrites=("before_tool_call",),
        replaces=("tool_result", "tool_call_failed"),
        hears=("before_agent_run", "tool_result", "tool_call_failed", "subagent_spawned", "after_compaction"),
        sets_model=("before_agent_run",),
    ),
    {
        "before_tool_call": "tool.before",
        "tool_result": "tool.after",
        "tool_call_failed": "tool.after",
        "after_tool_call": "tool.after",
        "before_agent_run": "message.before",
        "session_start": "session.start",
        "session_end": "session.end",
        "subagent_spawned": "subagent.start",
        "before_compaction": "compact.before",
        "after_compaction": "compact.after",
    },
)
