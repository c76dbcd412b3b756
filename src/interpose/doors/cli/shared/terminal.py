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
_SHALLOW = 8


def is_terminal() -> bool:
    """Whether a person looks at what is printed."""
    return sys.stdout is not None and sys.stdout.isatty()


def colours_wanted() -> bool:
    """Whether stdout is a terminal whose owner did not ask for plain text."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """How many columns text may take on the terminal; None in a pipe or a file, where nobody cuts lines off."""
    if not is_terminal():
        return None
    said = _said()
    if said is None:
        try:
            said = os.get_terminal_size(sys.stdout.fileno()).columns or 80  # a terminal that does not know says 0
        except (OSError, ValueError):
            said = 80
    return _readable(said)


def page_width() -> int | None:
    """The same for help, which is for people wherever it goes: COLUMNS counts in a pipe, too."""
    said = _said()
    return width() if said is None else _readable(said)


def _said() -> int | None:
    said = os.environ.get("COLUMNS", "")[:6]
    return int(said) if said.isascii() and said.isdigit() and int(said) else None


def _readable(columns: int) -> int:
    return max(NARROWEST, min(WIDEST, columns))


def wrapped(text: str, across: int | None, *, first: str = "", later: str = "") -> list[str]:
    """A paragraph in lines of at most `across` columns, behind `first` and then `later`. Words are not broken."""
    if across is None:
        return [first + text]
    from textwrap import wrap

    begin = " " * len(_plain(first))
    lines = wrap(
        text, across, initial_indent=begin, subsequent_indent=later, break_long_words=False, break_on_hyphens=False
    )
    return [first + lines[0][len(begin) :], *lines[1:]] if lines else [first.rstrip()]


def hanging(first: str, text: str) -> str:
    """A label and its text, which goes on below itself if the terminal is too narrow for it."""
    across, indent = width(), len(_plain(first))
    if across is not None and indent > across // 2:
        indent = _SHALLOW  # or little more than a word would stand on each line
    return "\n".join(wrapped(text, across, first=first, later=" " * indent))


def _plain(text: str) -> str:
    """Text without the colours in it."""
    if "\x1b" not in text:
        return text
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def bold(text: str) -> str:
    """A heading."""
    return f"\x1b[1m{text}\x1b[0m" if colours_wanted() else text
