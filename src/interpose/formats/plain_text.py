"""Text that the agent chose, shown to people."""

from __future__ import annotations


def plain(text: str) -> str:
    """Text that the agent chose, shown so that it can't move the cursor or repaint the question. Lines stay lines."""
    return text if text.isprintable() else "\n".join(one_line(line) for line in text.split("\n"))


def one_line(text: str) -> str:
    """The same on one line: a line break is shown as `\\n`, and what can't be shown as the escape that Python has."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
