"""The commands of an agent's host as text: `/review 12`, however a person or a host wrote it."""

from __future__ import annotations

COMMAND_TOOL = "command"
"""The tool of the records in which such a command stands."""
_BLANK = (
    "\t\n\v\f\r \x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028"
    "\u2029\u202f\u205f\u3000\ufeff"
)
"""What hosts take away before and behind a text: all that `str.strip` does, and what JavaScript adds."""


def plain_command(name: str) -> str:
    """The name of a command, however it was written: hosts and people put a slash before it."""
    return _trimmed(name).lstrip(f"/{_BLANK}")


def command_words(text: str) -> tuple[str, str]:
    """The name and the arguments of a command that stand in one text, whatever blanks are between them."""
    name, *rest = plain_command(text).split(maxsplit=1) or [""]
    return name, _trimmed(rest[0]) if rest else ""


def _trimmed(text: str) -> str:
    return text.strip(_BLANK)


def slash_command(text: str) -> tuple[str, str] | None:
    """The name and the arguments of a message that is a command, `/review 12`; None if it is none.

    A path is none: `/home/me/notes.md says ...` has a second slash in its first word.
    """
    text = _trimmed(text)
    if not text.startswith("/"):
        return None
    words = text[1:].split(maxsplit=1)
    if not words or text[1].isspace() or "/" in words[0]:
        return None
    return words[0], words[1].rstrip() if len(words) > 1 else ""
