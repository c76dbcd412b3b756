"""Characters that a person does not see and a model reads, and text that is out of sight."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_FILLERS = frozenset("\u00ad\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0")
"""Characters of other classes that show nothing."""
_JOINER, _NON_JOINER, _EMOJI_STYLE = "\u200d", "\u200c", "\ufe0f"
_LINES = frozenset("\n\r\t")
_BLANKS = re.compile(r"\s+")
_MOST_BLANKS, _MOST_LINES = 100, 25
_ANSI = re.compile(r"\x1b|\u009b")


def hidden_in(text: str) -> Iterator[str]:
    """What is hidden in a text, in words; each kind once."""
    if text.isascii() and text.isprintable():
        if _is_out_of_sight(text):
            yield "text behind so many blanks that nobody sees it"
        return
    if _ANSI.search(text):
        yield "escape codes that steer a terminal"
    said: set[str] = set()
    for place, char in enumerate(text):
        if (what := _hidden(text, place, char)) and what not in said:
            said.add(what)
            yield what
    if _is_out_of_sight(text):
        yield "text behind so many blanks that nobody sees it"


def _is_out_of_sight(text: str) -> bool:
    """Whether text follows so many blanks or empty lines that a person has stopped to look."""
    return any(
        blanks.end() < len(text)
        and (max(map(len, blanks.group().split("\n"))) > _MOST_BLANKS or blanks.group().count("\n") > _MOST_LINES)
        for blanks in _BLANKS.finditer(text)
    )


def is_hidden(text: str, place: int) -> bool:
    """Whether the character at a place is one that a person does not see."""
    return bool(_hidden(text, place, text[place]))


def _hidden(text: str, place: int, char: str) -> str:
    code = ord(char)
    if char.isascii():
        return "" if char in _LINES or (0x20 <= code < 0x7F) else "control characters"
    if 0xE0000 <= code <= 0xE007F:
        return "" if _is_flag(text, place) else "letters of the block of tags, which only a model reads"
    if code in range(0xFE00, 0xFE10) or code in range(0xE0100, 0xE01F0):
        if char in (_EMOJI_STYLE, "\ufe0e") and _follows_symbol(text, place):
            return ""
        return "variation selectors, which can carry hidden text"
    if char in (_JOINER, _NON_JOINER) and _joins(text, place):
        return ""
    if code in range(0x202A, 0x202F) or code in range(0x2066, 0x206A) or code in (0x061C, 0x200E, 0x200F):
        return "characters that turn the direction of text"
    if char in _FILLERS:
        return "characters that show nothing"
    match unicodedata.category(char):
        case "Cf":
            return "characters of no width"
        case "Cc":
            return "control characters"
        case "Co":
            return "characters of private use"
        case "Cs" | "Cn":
            return "characters that nobody has defined"
        case "Zl" | "Zp":
            return ""
        case _:
            return ""


def _is_flag(text: str, place: int) -> bool:
    """The flags of England, Scotland and Wales are a black flag with a few tags behind it."""
    start = place
    while start > 0 and 0xE0000 <= ord(text[start]) <= 0xE007F and place - start < 8:
        start -= 1
    return text[start] == "\U0001f3f4"


def _follows_symbol(text: str, place: int) -> bool:
    before = text[place - 1] if place else ""
    if before == "":
        return False
    return unicodedata.category(before) in ("So", "Sk", "Sm", "Po") or before in "0123456789#*\u2139\u3030"


def _joins(text: str, place: int) -> bool:
    """Whether it stands between signs that need it: parts of an emoji, or letters of a script that is joined."""
    if place == 0 or place + 1 >= len(text):
        return False
    around = text[place - 1], text[place + 1]
    return all(
        unicodedata.category(char) in ("So", "Sk", "Mn", "Mc") or char == _EMOJI_STYLE or 0x0600 <= ord(char) <= 0x0DFF
        for char in around
    )


def without_hidden(text: str) -> str:
    """The text as a person sees it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char for place, char in enumerate(text) if not is_hidden(text, place))


def spelled_out(text: str) -> str:
    """The text with everything hidden in it written down: `<U+202E RIGHT-TO-LEFT OVERRIDE>`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spelled(char) if is_hidden(text, place) else char for place, char in enumerate(text))


def _spelled(char: str) -> str:
    code = ord(char)
    if 0xE0020 <= code <= 0xE007E:
        return f"<tag {chr(code - 0xE0000)}>"
    name = unicodedata.name(char, "")
    return f"<U+{code:04X}{f' {name}' if name else ''}>"
