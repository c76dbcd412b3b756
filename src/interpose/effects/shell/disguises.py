"""Command names that are not what they seem: spelled with look-alike letters, or no name of a program at all."""

from __future__ import annotations

import unicodedata

_DIRECTION = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that make text read in another order than it runs."""


def doubt_about(name: str, word: str) -> str:
    """Why `name` is hardly the name of a program (`word` is it as given, with its directory), or an empty text."""
    if name[0] == "-" and len(name) < 6 and name[1:2].islower():
        return "An option stands where a command is expected"
    if "=" in name:
        return "This is no valid assignment, and hardly the name of a program"
    if any(char.isspace() for char in name) and "/" not in word and "\\" not in word:
        return "A whole command line stands where the name of a command is expected"
    if hides(name) >= 0 or any(unicodedata.category(char) == "Cf" for char in name):
        return "The name of the command holds characters that nobody sees"
    if not name.isascii() and _mixes_scripts(name):
        return "The name of the command is spelled with letters that only look like others"
    return ""


def hides(text: str) -> int:
    """Where a text holds a character that changes the order in which it is read, or -1."""
    if text.isascii():
        return -1
    return next((index for index, char in enumerate(text) if char in _DIRECTION), -1)


def _mixes_scripts(name: str) -> bool:
    scripts = {unicodedata.name(char, "?").partition(" ")[0] for char in name if char.isalpha()}
    return len(scripts) > 1
