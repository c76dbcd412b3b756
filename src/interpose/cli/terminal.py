"""How wide and how colourful a terminal is, and text that fits it.

What goes to a file or a pipe is neither coloured nor wrapped: a program that reads lines finds them whole.
"""

from __future__ import annotations

import os
import sys

NARROWEST = 40
"""Text that is wrapped more narrowly can't be read."""
WIDEST = 100
"""Nor can text be read that runs over a whole screen."""


def is_terminal() -> bool:
    """Whether a person looks at what is printed."""
    return sys.stdout is not None and sys.stdout.isatty()


def colours_wanted() -> bool:
    """Whether stdout is a terminal whose owner did not ask for plain text."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """How many columns text may take: what COLUMNS says, or the terminal; None where nobody cuts lines off."""
    said = os.environ.get("COLUMNS", "")
    if said.isascii() and said.isdigit() and int(said[:6]) > 0:
        return max(NARROWEST, min(WIDEST, int(said[:6])))
    if not is_terminal():
        return None
    try:
        return max(NARROWEST, min(WIDEST, os.get_terminal_size(sys.stdout.fileno()).columns))
    except OSError:
        return 80


def wrapped(text: str, across: int | None, *, first: str = "", later: str = "") -> list[str]:
    """A paragraph in lines of at most `across` columns, behind `first` and then `later`. Words are not broken."""
    if across is None:
        return [first + text]
    from textwrap import wrap

    return wrap(
        text, across, initial_indent=first, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    ) or [first.rstrip()]


def bold(text: str) -> str:
    """A heading."""
    return f"\x1b[1m{text}\x1b[0m" if colours_wanted() else text
