"""Secrets in the columns of a table: the head of the column is the name, each row has a value."""

from __future__ import annotations

from collections.abc import Iterator

from interpose.reading.secrets.assignment import kind_of
from interpose.reading.secrets.effort import LINE, spend
from interpose.reading.secrets.hits import Hit
from interpose.reading.secrets.patterns import pattern
from interpose.reading.secrets.plain_names import KIND, is_secret_value

_TELLING = r"(?:pass(?:word|wd|phrase)?|secret|token|key|credentials?|pwd)"
_SEPARATORS = (b"|", b"\t", b",", b";")
_LONGEST_HEAD = 1000
_EDGES = b" |\r"
_ROWS = 100_000
_QUOTES = b" \t\"'`*"


class TableColumns:
    """Tables of Markdown and of databases, CSV, and values between tabs."""

    spans_lines = False
    _rest = r"[\w |\t,;\"'*-]*"
    _first, _last = rf"{_TELLING}[ \"'*]*[|\t,;]{_rest}", rf"[|\t,;][\w \"'*-]*{_TELLING}[ \"'*]*[|]?[ ]*"
    gate = rf"(?im)(?:^|[\"'`]){_rest}(?:{_first}|{_last})\r?$"

    def find(self, data: bytes, start: int, end: int) -> Iterator[Hit]:
        """What stands in columns whose head tells a secret."""
        done = start
        for match in pattern(self.gate).spans(data, start, end):
            if match[0] < done:
                continue
            done = line_end = _line_end(data, match[1] - 1, len(data))
            head = data[match[0] : line_end].lstrip(b"\n\"'`")
            separator = next((mark for mark in _SEPARATORS if mark in head), b"")
            if separator and len(head) <= _LONGEST_HEAD and not any(char in head for char in b"=(){}<>"):
                heads = [one.strip(_QUOTES) for one in head.strip(_EDGES).split(separator)]
                if len(heads) > 1 and all(heads):
                    # Rows may reach far over the part in which their head was found.
                    yield from _rows(data, line_end + 1, len(data), head.split(separator), separator)


def _line_end(data: bytes, at: int, end: int) -> int:
    newline = data.find(b"\n", at, end)
    return end if newline < 0 else newline


def _rows(data: bytes, at: int, end: int, heads: list[bytes], separator: bytes) -> Iterator[Hit]:
    telling = {
        number: name
        for number, head in enumerate(heads)
        if pattern(rf"(?i)[\w. -]*{_TELLING}").covers(name := head.strip(_QUOTES))
    }
    for _ in range(_ROWS):
        if at >= end or not telling:
            return
        spend(LINE)
        stop = _line_end(data, at, end)
        cells = data[at:stop].split(separator)
        if len(cells) != len(heads):
            return
        place = at
        for number, cell in enumerate(cells):
            if number in telling:
                value = cell.strip(_QUOTES + b"\r")
                kind = _kind(telling[number], value)
                if kind:
                    first = place + cell.find(value)
                    yield Hit(first, first + len(value), *kind)
            place += len(cell) + 1
        at = stop + 1


def _kind(name: bytes, value: bytes) -> tuple[str, bytes, int] | None:
    known = kind_of(name.replace(b" ", b"_"), value, quoted=False)
    if known is not None:
        return known[0], value, known[1]
    return (KIND, value, 2) if is_secret_value(value, b"api " + name) else None
