"""The escapes of `$'...'`, which `echo -e` and `printf` share."""

from __future__ import annotations

import re

from interpose.effects.late_patterns import late

_ESCAPE = late(
    r"\\(?:x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)",
    re.DOTALL,
)
_SIMPLE = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def ansi_c(text: str) -> str:
    """The value of `$'text'`. A NUL ends the string, as in bash."""
    if "\\" not in text:
        return text
    value = _join_bytes(_ESCAPE.sub(_replace, text))
    return value.partition("\0")[0]


def _replace(match: re.Match[str]) -> str:
    escape = match.group()[1:]
    kind = escape[0]
    if kind in _SIMPLE and len(escape) == 1:
        return _SIMPLE[kind]
    if kind == "x" and len(escape) > 1:
        return _byte(int(escape[1:], 16))
    if kind in "uU" and len(escape) > 1:
        code = int(escape[1:], 16)
        return chr(code) if code < 0xD800 or 0xE000 <= code <= 0x10FFFF else "\ufffd"
    if kind in "01234567":
        return _byte(int(escape, 8) & 0xFF)
    if kind == "c" and len(escape) > 1:
        return chr(ord(escape[1].upper()) & 0x1F)
    return match.group()


def _byte(code: int) -> str:
    return chr(code) if code < 0x80 else chr(0xDC00 + code)


def _join_bytes(text: str) -> str:
    """Bytes above 127 were written one by one: together they may be UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if _only_escaped(text) else text


def _only_escaped(text: str) -> bool:
    return not any(0xD800 <= ord(character) < 0xDC80 or 0xDCFF < ord(character) <= 0xDFFF for character in text)
