"""A copy of a text for matching: as long as the text, but escapes and colours are blanks and what they stand for.

A token after `\\n` in a JSON string, or after a terminal's colour, begins a word here, and a key's lines are lines.
Because the copy has the same length, a position in it is a position in the text.
"""

from __future__ import annotations

from interpose.reading.secrets.effort import spend
from interpose.reading.secrets.patterns import pattern

_MEANINGS = {
    b"n": b" \n",
    b"r": b"  ",
    b"t": b" \t",
    b"b": b"  ",
    b"f": b"  ",
    b'"': b' "',
    b"'": b" '",
    b"\n": b"  ",  # a continued line
    b"\r": b"  ",
}
_LONG_ESCAPES = (
    (b"\\\\\\n", b"    "),  # a continued line, in JSON
    (b":\\\\/\\\\/", b"    ://"),
    (b":\\/\\/", b"  ://"),
)
_MARKER = r"\[redacted:[0-9a-z-]+:[0-9a-f]{8}\]"
_CODE_DIGITS = 4
_ESCAPES = 8
"""Escapes that are one step."""
_LONGEST_COLOUR = 16


def folded(data: bytes) -> bytes:
    """The copy, or the text itself if there is nothing to fold."""
    if b"[redacted:" in data:
        data = _without_markers(data)
    if b"\\" in data:
        spend(data.count(b"\\") // _ESCAPES)
        data = _without_escapes(data)
    return _without_colours(data) if b"\x1b[" in data else data


def _without_markers(data: bytes) -> bytes:
    """What was hidden before must not be taken for a name and its value."""
    out: list[bytes] = []
    at = 0
    for match in pattern(_MARKER).matches(data):
        start, end = match.span()
        out += (data[at:start], b"[", b"*" * (end - start - 2), b"]")
        at = end
    return b"".join([*out, data[at:]])


def _without_escapes(data: bytes) -> bytes:
    for escape, blanks in _LONG_ESCAPES:
        if escape in data:
            data = data.replace(escape, blanks)
    first, *rest = data.split(b"\\")
    out = [first]
    for part in rest:
        meaning = _MEANINGS.get(part[:1])
        if meaning is not None:
            out += (meaning, part[1:])
        elif part[:1] == b"u" and (char := _character(part[1 : 1 + _CODE_DIGITS])):
            out += (b"     ", char, part[1 + _CODE_DIGITS :])
        else:
            out += (b"\\", part)
    return b"".join(out)


def _character(code: bytes) -> bytes:
    """What four hexadecimal digits stand for, or a blank if it is no character of ASCII; nothing if they are none."""
    if len(code) < _CODE_DIGITS or not code.isalnum():
        return b""
    try:
        number = int(code, 16)
    except ValueError:
        return b""
    return bytes([number]) if 0x20 <= number < 0x7F else b" "


def _without_colours(data: bytes) -> bytes:
    first, *rest = data.split(b"\x1b[")
    return b"".join([first, *(_after_colour(part) for part in rest)])


def _after_colour(part: bytes) -> bytes:
    end = part.find(b"m", 0, _LONGEST_COLOUR) + 1
    return b" " * (end + 2) + part[end:]
