"""OpenCode. Its `permission.ask` hook is declared and never called, so a question waits in our queue.

What its own settings make it ask about it tells of by an event, and takes the answer over its API: see the plugin.
"""

from __future__ import annotations

from interpose.surfaces.hosts.events import HostFacts
from interpose.surfaces.hosts.hook_places import HookFile, HostSetup
from interpose.surfaces.hosts.in_process import InProcess

SETUP = HostSetup(
    layout="plugin",
    files=(
        HookFile("user", "~/.config/opencode/plugins/interpose.js", "XDG_CONFIG_HOME", "~/.config"),
        HookFile("project", ".opencode/plugins/interpose.js"),
    ),
    plugin="opencode.js",
    canary={
        "event": "tool.execute.before",
        "session": "SESSION",
        "cwd": "/",
        "tool": "bash",
        "call": "doctor",
        "arguments": {"command": "COMMAND"},
    },
    program="opencode",
    traces=("~/.local/share/opencode",),
    opens_on=("a start of OpenCode with its plugins switched off",),
)

HOST = InProcess(
    HostFacts(
        name="opencode",
        title="OpenCode",
        evidence="run",
        setup=SETUP,
        rewrites=("tool.execute.before",),
        replaces=("tool.execute.after", "tool.execute.failed"),
        hears=("chat.message", "tool.execute.after", "tool.execute.failed", "subagent.started", "session.compacted"),
        commands=("command.execute.before",),
        prompts=("permission.asked",),
    ),
    {
        "tool.execute.before": "tool.before",
        "tool.execute.after": "tool.after",
        "tool.execute.failed": "tool.after",
        "chat.message": "message.before",
        "command.execute.before": "command.before",
        "permission.asked": "permission.ask",
        "session.created": "session.start",
        "session.idle": "session.idle",
        "session.deleted": "session.end",
        "session.compacted": "compact.after",
        "subagent.started": "subagent.start",
    },
)
