"""Text that the agent chose, shown to people."""

from __future__ import annotations


def plain(text: str) -> str:
    """Text that the agent chose, shown so that it can't move the cursor or repaint the question."""
    return "".join(char if char.isprintable() or char == "\n" else f"\\x{ord(char):02x}" for char in text)
