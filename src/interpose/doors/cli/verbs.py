"""The verbs by what people do with them, and which a new user needs. What each is stands in `command_line`."""

from __future__ import annotations

from collections.abc import Mapping

from interpose.effects.ourselves.command_line import ROWS, OwnVerb

GROUPS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "Guard an agent": ("interpose install claude-code", ("install", "uninstall", "doctor", "status", "proxy")),
    "Guard MCP servers": ("interpose mcp wrap -- npx some-server", ("mcp",)),
    "Ask what is decided": ("interpose check 'rm -rf build'", ("check", "run", "demo")),
    "Answer questions": ("interpose approvals watch", ("approvals", "open")),
    "Write rules": ("interpose policy test", ("policy", "config")),
    "Govern agents": ("interpose governance init", ("governance",)),
    "Read the record": ("interpose audit tail -f", ("audit",)),
    "Run the server": ("interpose serve", ("serve",)),
    "Read the documentation": ("interpose help approvals", ("help",)),
}
"""What people do, an example of it, and the verbs for it."""

FIRST: Mapping[str, str] = {
    "install": "guard an agent: shows what it would change in the agent's settings, and asks",
    "status": "show what holds here, and what stands in the way",
    "check": "say what is decided about a command, and why",
    "approvals": "answer what agents ask",
    "policy": "write your own rules, test them, switch packs on",
    "uninstall": "take Interpose out of an agent again",
}
"""What a new user needs, in the order in which they need it."""

UNLISTED = ("hook", "completion")
"""What programs call, and what is run once. The manual page has them."""

HELPS: Mapping[str, str] = {row.name: row.help for row in ROWS if " " not in row.name}


def module_of(verb: OwnVerb) -> str:
    """Where a verb is."""
    return f"interpose.doors.cli.{verb.path[-1].replace('-', '_')}"


def about(verb: OwnVerb) -> str:
    """What a verb is for, and what it does without a subcommand."""
    alone = f"\n\n`interpose {verb.name}` alone is `interpose {verb.name} {verb.alone}`." if verb.alone else ""
    return f"{verb.help}{alone}"
