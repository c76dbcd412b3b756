"""What `echo` and `printf` print, as text: hidden code is often spelled with their escapes."""

from __future__ import annotations

from collections.abc import Sequence

from interpose.effects.invocation import UNKNOWN

MAX_TEXT = 1 << 16
"""Longer output is not built: a width of a billion is one short word."""

_SIMPLE = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
           "\\": "\\", '"': '"', "'": "'", "?": "?"}  # fmt: skip
_HEX = "0123456789abcdefABCDEF"


def unescape(text: str, *, percent_b: bool = False) -> tuple[str, bool]:
    """The text with backslash escapes read, and whether `\\c` ended the output. `percent_b`: octal is `\\0nnn` too."""
    if "\\" not in text:
        return text, False
    raw = bytearray()
    index = 0
    while index < len(text):
        char = text[index]
        index += 1
        if char != "\\" or index == len(text):
            raw += char.encode("utf-8", "surrogatepass")
            continue
        char = text[index]
        index += 1
        if char == "c" and percent_b:
            return raw.decode("utf-8", "replace"), True
        if char in _SIMPLE:
            raw += _SIMPLE[char].encode()
        elif char in "01234567":
            limit = 4 if percent_b and char == "0" else 3
            digits = char + _take(text, index, "01234567", limit - 1)
            index += len(digits) - 1
            raw.append(int(digits, 8) & 0xFF)
        elif char in "xuU" and (digits := _take(text, index, _HEX, {"x": 2, "u": 4, "U": 8}[char])):
            index += len(digits)
            code = int(digits, 16)
            raw += bytes([code]) if char == "x" else _encoded(code)
        else:
            raw += ("\\" + char).encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "replace"), False


def echo(words: Sequence[str]) -> str:
    """What bash's `echo` prints for these arguments."""
    newline, escapes = True, False
    start = 0
    for word in words:
        if len(word) < 2 or word[0] != "-" or word.strip("neE") != "-":
            break
        start += 1
        newline = newline and "n" not in word
        for letter in word[1:]:
            escapes = letter == "e" if letter in "eE" else escapes
    text = " ".join(words[start:])
    if escapes:
        text, stopped = unescape(text, percent_b=True)
        newline = newline and not stopped
    return text + "\n" if newline else text


def printf(form: str, words: Sequence[str]) -> str:
    """What `printf` prints. The format is used again while arguments are left."""
    out: list[str] = []
    size = position = 0
    while True:
        before = position
        text, position, stopped = _once(form, words, position)
        out.append(text)
        size += len(text)
        if stopped or position >= len(words) or position == before or size > MAX_TEXT:
            return "".join(out)


def _once(form: str, words: Sequence[str], position: int) -> tuple[str, int, bool]:
    out: list[str] = []
    index = 0
    while index < len(form):
        percent = form.find("%", index)
        if percent < 0:
            percent = len(form)
        text, stopped = unescape(form[index:percent])
        out.append(text)
        if percent == len(form):
            break
        directive, index = _directive(form, percent)
        if directive == "%%":
            out.append("%")
            continue
        if directive.endswith("T"):
            out.append(UNKNOWN)
            position += 1
            continue
        for _ in range(directive.count("*")):
            position += 1
        word = words[position] if position < len(words) else ""
        position += 1
        text, stopped = _convert(directive, word)
        out.append(text)
        if stopped:
            return "".join(out), position, True
    return "".join(out), position, False


def _directive(form: str, start: int) -> tuple[str, int]:
    end = start + 1
    if form[end : end + 1] == "(":
        close = form.find(")", end)
        end = close + 1 if close >= 0 else len(form)
    while end < len(form) and form[end] in "0123456789-+ #.*'hlLqjzt":
        if form[end] == "q":
            break
        end += 1
    return form[start : end + 1], end + 1


def _convert(directive: str, word: str) -> tuple[str, bool]:
    kind = directive[-1]
    if UNKNOWN in word and kind not in "sbq":
        return UNKNOWN, False
    stopped = False
    match kind:
        case "s" | "q":
            text = word
        case "b":
            text, stopped = unescape(word, percent_b=True)
        case "c":
            text = word[:1]
        case "d" | "i" | "u" | "x" | "X" | "o":
            text = _number(word, kind)
        case _:
            text = UNKNOWN if len(directive) > 1 else "%"
    return _fit(text, directive[1:-1]), stopped


def _number(word: str, kind: str) -> str:
    if len(word) > 20:
        return UNKNOWN
    try:
        value = ord(word[1]) if word[:1] in "'\"" and len(word) > 1 else int(word or "0", 0)
    except ValueError:
        return "0"
    return format(value, {"x": "x", "X": "X", "o": "o"}.get(kind, "d"))


def _fit(text: str, shape: str) -> str:
    width, _, precision = shape.lstrip("-+ #0'").partition(".")
    if precision.isdecimal():
        text = text[: int(precision[:6])]
    if width.isdecimal():
        columns = min(int(width[:6]), MAX_TEXT)
        text = (
            text.ljust(columns) if shape.startswith("-") else text.rjust(columns, "0" if shape.startswith("0") else " ")
        )
    return text


def _take(text: str, start: int, alphabet: str, limit: int) -> str:
    end = start
    while end < len(text) and end - start < limit and text[end] in alphabet:
        end += 1
    return text[start:end]


def _encoded(code: int) -> bytes:
    return chr(code).encode("utf-8", "surrogatepass") if code <= 0x10FFFF else b""
