"""The local agent of VS Code. Sessions that run on Copilot's own harness speak the language of Copilot CLI."""

from __future__ import annotations

from interpose.doors.hooks.hosts.claude_like import ClaudeLike
from interpose.doors.hooks.hosts.events import HostEvent, Reply, refused


class VsCode(ClaudeLike, frozen=True):
    """Messages are refused by the exit code: the event knows no decision."""

    def deny(self, event: HostEvent, reason: str) -> Reply:
        """Refuse."""
        return refused(reason) if event.point == "message.before" else ClaudeLike.deny(self, event, reason)


CODEC = VsCode
