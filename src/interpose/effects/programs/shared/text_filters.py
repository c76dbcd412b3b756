"""What small text tools make of a text that is known: enough to follow a command that was hidden behind them."""

from __future__ import annotations

import base64
import binascii
import codecs
from collections.abc import Callable

Change = Callable[[str], str | None]

MAX_RANGES = 64
MAX_SET = 2048
"""Longer lists and sets are not followed: the work is their size times that of the text."""

_CLASSES = {
    "lower": "abcdefghijklmnopqrstuvwxyz",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "digit": "0123456789",
    "space": " \t\n\v\f\r",
    "blank": " \t",
    "punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
}
_CLASSES["alpha"] = _CLASSES["upper"] + _CLASSES["lower"]
_CLASSES["alnum"] = _CLASSES["digit"] + _CLASSES["alpha"]
_CLASSES["xdigit"] = "0123456789ABCDEFabcdef"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\"}


def decoded(data: bytes) -> str | None:
    """Bytes as text, or None when they are no text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def reversed_lines(text: str) -> str:
    """`rev`: each line back to front."""
    return "".join(line.rstrip("\n")[::-1] + ("\n" if line.endswith("\n") else "") for line in lines(text))


def reversed_order(text: str) -> str:
    """`tac`: the last line first."""
    return "".join(line if line.endswith("\n") else line + "\n" for line in reversed(lines(text)))


def lines(text: str) -> list[str]:
    """Lines with their newline. Only the newline ends one: `str.splitlines` knows more ends than the shell does."""
    return [part + "\n" for part in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if text[-1:] not in ("", "\n") else []
    )


def from_base(text: str, bits: int) -> str | None:
    """`base64 -d` and `base32 -d`, as forgiving as they are."""
    compact = "".join(text.split())
    try:
        if bits == 32:
            return decoded(base64.b32decode(compact + "=" * (-len(compact) % 8), casefold=True))
        return decoded(base64.b64decode(compact + "=" * (-len(compact) % 4), altchars=None))
    except (binascii.Error, ValueError):
        return None


def to_base(text: str, bits: int) -> str:
    """`base64` and `base32`."""
    data = text.encode(errors="surrogateescape")
    return (base64.b32encode(data) if bits == 32 else base64.b64encode(data)).decode() + "\n"


def from_hex(text: str) -> str | None:
    """`xxd -r -p`: hexadecimal digits, whatever stands between them."""
    digits = "".join(char for char in text if char in "0123456789abcdefABCDEF")
    return decoded(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def to_hex(text: str) -> str:
    """`xxd -p`."""
    return text.encode(errors="surrogateescape").hex() + "\n"


def rot13(text: str) -> str:
    """`rot13`."""
    return codecs.encode(text, "rot13")


def translation(options: set[str], first: str, second: str | None) -> Change | None:
    """`tr`: the change it makes, or None when it is not simple."""
    source = _characters(first)
    if source is None:
        return None
    members = frozenset(source)
    if "-c" in options:
        if "-d" in options:
            return lambda text: "".join(char for char in text if char in members)
        return None
    if "-d" in options:
        return lambda text: "".join(char for char in text if char not in members)
    if second is None:
        return (lambda text: _squeezed(text, members)) if "-s" in options else None
    target = _characters(second)
    if not target:
        return None
    target += target[-1] * (len(source) - len(target))
    table = str.maketrans(dict(zip(source, target, strict=False)))
    if "-s" in options:
        return lambda text: _squeezed(text.translate(table), frozenset(target))
    return lambda text: text.translate(table)


def _squeezed(text: str, which: frozenset[str]) -> str:
    return "".join(
        char for index, char in enumerate(text) if char not in which or index == 0 or text[index - 1] != char
    )


def _characters(spec: str) -> str | None:
    """The characters of a tr set: ranges, classes, escapes. None for what is not understood."""
    if len(spec) > MAX_SET:
        return None
    found: list[str] = []
    index = 0
    while index < len(spec):
        if spec.startswith("[:", index) and (end := spec.find(":]", index)) > 0:
            members = _CLASSES.get(spec[index + 2 : end])
            if members is None:
                return None
            found.append(members)
            index = end + 2
            continue
        char, index = _one(spec, index)
        if spec[index : index + 1] == "-" and index + 1 < len(spec):
            last, index = _one(spec, index + 1)
            if ord(last) - ord(char) > 1024:
                return None
            found.append("".join(map(chr, range(ord(char), ord(last) + 1))))
        else:
            found.append(char)
    return "".join(found)


def _one(spec: str, index: int) -> tuple[str, int]:
    if spec[index] != "\\" or index + 1 >= len(spec):
        return spec[index], index + 1
    octal = spec[index + 1 : index + 4]
    while octal and not all(char in "01234567" for char in octal):
        octal = octal[:-1]
    if octal:
        return chr(int(octal, 8)), index + 1 + len(octal)
    return _ESCAPES.get(spec[index + 1], spec[index + 1]), index + 2


def _number(text: str) -> int | None:
    """A count as typed. Longer ones than this are no counts."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def selection(ranges: str) -> Callable[[int], bool] | None:
    """`1,3-5,7-` of cut: which positions, counted from one, are chosen."""
    chosen: list[tuple[int, int]] = []
    parts = ranges.split(",")
    if len(parts) > MAX_RANGES:
        return None
    for part in parts:
        first, dash, last = part.partition("-")
        low = _number(first or "1")
        high = _number(last) if last else (1 << 30 if dash else low)
        if low is None or high is None or not (first or last):
            return None
        chosen.append((low, high))
    return lambda position: any(low <= position <= high for low, high in chosen)


def cut_characters(ranges: str) -> Change | None:
    """`cut -c`."""
    wanted = selection(ranges)
    if wanted is None:
        return None
    return lambda text: _by_line(text, lambda line: "".join(c for at, c in enumerate(line, 1) if wanted(at)))


def cut_fields(ranges: str, delimiter: str, joiner: str | None) -> Change | None:
    """`cut -d -f`."""
    wanted = selection(ranges)
    if wanted is None or not delimiter:
        return None

    def fields(line: str) -> str:
        if delimiter not in line:
            return line
        parts = [part for at, part in enumerate(line.split(delimiter), 1) if wanted(at)]
        return (delimiter if joiner is None else joiner).join(parts)

    return lambda text: _by_line(text, fields)


def _by_line(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(line.removesuffix("\n")) + "\n" for line in lines(text))


def first_lines(count: str) -> Change | None:
    """`head -n`, also with a count from the end."""
    number = _number(count.removeprefix("-"))
    if number is None:
        return None
    end = -number if count.startswith("-") else number
    return lambda text: "".join(lines(text)[:end])


def last_lines(count: str) -> Change | None:
    """`tail -n`, also with `+N`."""
    start = _start(count)
    return None if start is None else lambda text: "".join(lines(text)[start:])


def first_characters(count: str) -> Change | None:
    """`head -c`, for text without wide characters."""
    number = _number(count)
    return None if number is None else lambda text: text[:number] if text.isascii() else None


def last_characters(count: str) -> Change | None:
    """`tail -c`, also with `+N`."""
    start = _start(count)
    return None if start is None else lambda text: text[start:] if text.isascii() else None


def _start(count: str) -> int | None:
    """Where a tail begins: counted from the start with `+N`, from the end otherwise."""
    number = _number(count.lstrip("+-"))
    if number is None:
        return None
    if count.startswith("+"):
        return max(number - 1, 0)
    return -number if number else 1 << 30
