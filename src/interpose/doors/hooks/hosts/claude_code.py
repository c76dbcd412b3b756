"""Claude Code."""

from __future__ import annotations

from typing import Any

from interpose.doors.hooks.hosts.claude_like import ClaudeLike, specific
from interpose.doors.hooks.hosts.events import HostEvent, Reply, spoken


class ClaudeCode(ClaudeLike, frozen=True):
    """It takes a rewrite together with its permission only."""

    def rewrite(self, event: HostEvent, arguments: dict[str, Any], reason: str) -> Reply:
        """Where its person would be asked, the person is asked about the changed call, unless a person changed it.

        INVARIANT: an agent that provokes a rewrite gets no permission by it that the host would not have given.
        """
        bypassed = event.raw.get("permission_mode") == "bypassPermissions"
        decision = "allow" if bypassed or event.agreed else "ask"
        return specific(
            event, permissionDecision=decision, permissionDecisionReason=reason, updatedInput=arguments
        )  # fmt: skip

    def context(self, event: HostEvent, text: str) -> Reply:
        """At the start of a session its person reads it, too."""
        said = {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}
        return spoken({"systemMessage": text, **said} if event.point == "session.start" else said)


CODEC = ClaudeCode
