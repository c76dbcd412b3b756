"""A copy of a text for matching: as long as the text, but escapes and colours are blanks and what they stand for.

A token after `\\n` in a JSON string, or after a terminal's colour, begins a word here, and a key's lines are lines.
Because the copy has the same length, a position in it is a position in the text.
"""

from __future__ import annotations

_ESCAPES = (
    (b"\\\r\n", b"   "),
    (b"\\\n", b"  "),
    (b":\\/\\/", b"  ://"),
    (b"\\n", b" \n"),
    (b"\\r", b"  "),
    (b"\\t", b"  "),
    (b"\\b", b"  "),
    (b"\\f", b"  "),
    (b'\\"', b' "'),
    (b"\\'", b" '"),
)
_ESCAPE_LENGTH = 4  # of the digits after \u
_LONGEST_COLOUR = 16


def folded(data: bytes) -> bytes:
    """The copy, or the text itself if there is nothing to fold."""
    if b"\\" in data:
        for escape, meaning in _ESCAPES:
            data = data.replace(escape, meaning)
        if b"\\u" in data:
            data = _without_unicode(data)
    return _without_colours(data) if b"\x1b[" in data else data


def _without_unicode(data: bytes) -> bytes:
    first, *rest = data.split(b"\\u")
    return b"".join([first, *(_meaning(part) for part in rest)])


def _meaning(part: bytes) -> bytes:
    """`0026...` after `\\u`: blanks and the character, if it is a printable one of ASCII."""
    try:
        code = int(part[:_ESCAPE_LENGTH], 16)
    except ValueError:
        return b"\\u" + part
    if len(part) < _ESCAPE_LENGTH:
        return b"\\u" + part
    return b"     " + (bytes([code]) if 0x20 <= code < 0x7F else b" ") + part[_ESCAPE_LENGTH:]


def _without_colours(data: bytes) -> bytes:
    first, *rest = data.split(b"\x1b[")
    return b"".join([first, *(_after_colour(part) for part in rest)])


def _after_colour(part: bytes) -> bytes:
    end = part.find(b"m", 0, _LONGEST_COLOUR) + 1
    return b" " * (end + 2) + part[end:]
