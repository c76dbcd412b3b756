"""Codex CLI. What its schema doesn't know makes the hook fail, and then the tool runs: say exactly what it takes."""

from __future__ import annotations

from typing import Any

from interpose.doors.hooks.hosts.claude_like import ClaudeLike
from interpose.doors.hooks.hosts.events import HostEvent, Reply, spoken
from interpose.doors.hooks.hosts.result_shapes import plain_text


class Codex(ClaudeLike, frozen=True):
    """A result is replaced by blocking it: the agent then sees the reason in its place."""

    def replace(self, _event: HostEvent, result: Any) -> Reply:
        """The text that the agent sees instead."""
        return spoken({"decision": "block", "reason": plain_text(result) or "(no output)"})


CODEC = Codex
