"""Qwen Code. It documents rewritten input and ignores it."""

from __future__ import annotations

from typing import Any

from interpose.doors.hooks.hosts.claude_like import ClaudeLike
from interpose.doors.hooks.hosts.events import HostEvent, Reply, spoken
from interpose.doors.hooks.hosts.result_shapes import plain_text


class QwenCode(ClaudeLike, frozen=True):
    """A result is replaced by stopping after it: the agent then sees the reason in its place, and the run goes on."""

    def replace(self, _event: HostEvent, result: Any) -> Reply:
        """The text that the agent sees instead."""
        return spoken({"continue": False, "stopReason": plain_text(result) or "(no output)"})


CODEC = QwenCode
