"""A page of Markdown as text for a terminal: headings, lists, tables and code, wrapped and coloured.

Only the Markdown that our own pages are written in is understood.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from interpose.doors.cli.explaining.verdict_text import columns
from interpose.doors.cli.helping.help_topics import meant_topic, pages_directory, topics
from interpose.doors.cli.helping.project_address import page_address

_CODE, _BOLD, _END, _GLUE = "\ue000", "\ue001", "\ue002", "\ue003"
"""Marks inside of lines while they are wrapped: where a style begins and ends, and a blank that does not break."""
_STYLES = {_CODE: "\x1b[36m", _BOLD: "\x1b[1m"}
_INLINE = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)|!\[(?P<alt>[^\]]*)\]\([^)]*\)|\*\*(?P<bold>.+?)\*\*"
    r"|\[(?P<text>(?:`[^`]*`|!\[[^\]]*\]\([^)]*\)|[^\]`])*)\]\((?P<target>[^)]*)\)"
)
_ITEM = re.compile(r"( *)([-*]|[0-9]+\.) +(.*)")
_LONGEST_GLUED = 40
_NARROWEST_COLUMN = 12
_GAP = 2


def readable(markdown: str, page: Path, across: int, *, coloured: bool) -> str:
    """The page as it is shown. `page` is where it is, so that its links can be named."""
    laid_out = _Layout(page, across, coloured=coloured)
    lines = list(laid_out.blocks(markdown.splitlines()))
    while lines and not lines[0]:
        del lines[0]
    text = "\n".join(line for at, line in enumerate(lines) if line or (at and lines[at - 1]))
    return _inked(text, coloured=coloured).rstrip("\n")


def _inked(text: str, *, coloured: bool) -> str:
    """Marks become colours, or nothing. A style that goes on in the next line begins there again."""
    if not coloured:
        return text.translate(dict.fromkeys(map(ord, (_BOLD, _END)))).replace(_GLUE, " ")
    shown, open_style = [], ""
    for line in text.replace(_GLUE, " ").split("\n"):
        inked = _STYLES.get(open_style, "")
        for letter in line:
            if letter in _STYLES:
                open_style = letter
            elif letter == _END:
                open_style = ""
            inked += _STYLES.get(letter, "\x1b[0m" if letter == _END else letter)
        shown.append(inked + ("\x1b[0m" if open_style else ""))
    return "\n".join(shown)


class _Layout:
    def __init__(self, page: Path, across: int, *, coloured: bool) -> None:
        self._page, self._across, self._coloured = page, across, coloured
        self._topics = topics()
        self._named: set[str] = set()
        """Links that were named already: each is told once."""

    def blocks(self, lines: Sequence[str]) -> Iterator[str]:
        at = 0
        while at < len(lines):
            line = lines[at]
            end = at + 1
            if line.startswith("```"):
                while end < len(lines) and not lines[end].startswith("```"):
                    end += 1
                yield from ("", *(f"    {each}".rstrip() or " " for each in lines[at + 1 : end]), "")
                end += 1
            elif line.startswith("#"):
                heading = self._inline(line.lstrip("#").strip(), plain=True)
                yield from ("", *_wrapped(f"{_BOLD}{heading}{_END}", self._across), "")
            elif line.startswith("|"):
                while end < len(lines) and lines[end].startswith("|"):
                    end += 1
                yield from ("", *self._table(lines[at:end]), "")
            elif line.startswith("<!--"):
                pass
            elif not line.strip():
                yield ""
            else:
                while end < len(lines) and not _begins_block(lines[end]):
                    end += 1
                yield from self._paragraph(lines[at:end])
            at = end

    def _paragraph(self, lines: Sequence[str]) -> Iterator[str]:
        text = " ".join(line.strip() for line in lines)
        if found := _ITEM.match(lines[0]):
            first = f"{found[1]}  {'-' if found[2] in '-*' else found[2]} "
            text = " ".join([found[3], *(line.strip() for line in lines[1:])])
            yield from _wrapped(self._inline(text), self._across, first, " " * len(first))
        elif lines[0].startswith("> "):
            quoted = " ".join(line.removeprefix(">").strip() for line in lines)
            yield from _wrapped(self._inline(quoted), self._across, "  ", "  ")
        else:
            yield from _wrapped(self._inline(text), self._across)

    def _table(self, lines: Sequence[str]) -> Iterator[str]:
        rows = [[self._inline(cell.strip().replace("\\|", "|")) for cell in _cells(line)] for line in lines]
        head, body = rows[0], rows[2:]
        room = self._across - _GAP * (len(head) - 1)
        natural = [max(_width(row[at]) for row in rows if at < len(row)) for at in range(len(head))]
        if sum(natural) > room and room // len(head) < _NARROWEST_COLUMN:
            yield from self._records(head, body)
            return
        widths = _shares(natural, room)
        if any(head):
            yield _joined([f"{_BOLD}{cell}{_END}" if cell else "" for cell in head], widths)[0]
        for row in body:
            shown = _joined(row, widths)
            yield from shown
            if sum(natural) > room:
                yield ""

    def _records(self, head: Sequence[str], body: Sequence[Sequence[str]]) -> Iterator[str]:
        """A table that is too wide: each row as lines of its own."""
        for row in body:
            yield from _wrapped(row[0], self._across)
            for name, cell in zip(head[1:], row[1:], strict=False):
                if cell:
                    yield from _wrapped(f"{name}: {cell}" if name else cell, self._across, "    ", "    ")
            yield ""

    def _inline(self, text: str, *, plain: bool = False) -> str:
        def shown(found: re.Match[str]) -> str:
            if found["code"] is not None:
                code = found["code"]
                return code if plain else self._code(code)
            if found["alt"] is not None:
                return f"[picture: {found['alt']}]"
            if found["bold"] is not None:
                return f"{_BOLD}{self._inline(found['bold'], plain=True)}{_END}"
            return self._link(self._inline(found["text"], plain=plain), found["target"])

        return _INLINE.sub(shown, text)

    def _link(self, text: str, target: str) -> str:
        """What a link says and, once, where it leads: to another page, or to an address."""
        path, _, _ = target.partition("#")
        if not path or path in self._named:
            return text
        self._named.add(path)
        if "://" in path:
            return f"{text} ({target})"
        there = posixpath.normpath(posixpath.join("docs", self._below(), path))
        topic = meant_topic(there)
        if there.startswith("docs/") and there.endswith(".md") and topic in self._topics:
            return f"{text} ({self._code(f'interpose help {topic}')})"
        address = page_address(there)
        return f"{text} ({address})" if address else text

    def _code(self, code: str) -> str:
        """A piece of code, coloured or in its backticks. A short one stays in one line."""
        is_short = len(code) <= min(_LONGEST_GLUED, self._across // 2)
        glued = code.replace(" ", _GLUE) if is_short else code
        return f"{_CODE}{glued}{_END}" if self._coloured else f"`{glued}`"

    def _below(self) -> str:
        """The directory of this page, below that of all pages."""
        return self._page.parent.relative_to(pages_directory()).as_posix()


def _begins_block(line: str) -> bool:
    return not line.strip() or line.startswith(("```", "#", "|", "<!--")) or _ITEM.match(line) is not None


def _width(text: str) -> int:
    """How many columns are taken. Marks take none."""
    return columns(text.replace(_BOLD, "").replace(_END, "").replace(_CODE, ""))


def _wrapped(text: str, across: int, first: str = "", later: str = "") -> list[str]:
    lines, line = [], first
    is_empty = True
    for word in text.split(" "):
        if not word:
            continue
        if not is_empty and _width(line) + 1 + _width(word) > across:
            lines.append(line)
            line, is_empty = later, True
        line += word if is_empty else f" {word}"
        is_empty = False
    return [*lines, line]


def _broken(text: str, width: int) -> str:
    """Text with words that are wider than a column broken where it ends."""
    words = []
    for word in text.split(" "):
        piece = ""
        for letter in word:
            if _width(piece + letter) > max(width, 1):
                words.append(piece)
                piece = ""
            piece += letter
        words.append(piece)
    return " ".join(words)


def _cells(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line.strip().strip("|") if not line.rstrip().endswith("\\|") else line.strip()[1:])


def _shares(natural: Sequence[int], room: int) -> list[int]:
    """Columns that need little get it; the others share what is left."""
    widths, left, open_columns = [0] * len(natural), room, sorted(range(len(natural)), key=natural.__getitem__)
    while open_columns:
        at = open_columns.pop(0)
        widths[at] = min(natural[at], left // (len(open_columns) + 1))
        left -= widths[at]
    return widths


def _joined(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """A row of a table, whose cells are wrapped side by side."""
    cells = [_closed(_wrapped(_broken(cell, width), width)) for cell, width in zip(row, widths, strict=False)]
    height = max(map(len, cells), default=0)
    lines = []
    for at in range(height):
        parts = [(cell[at] if at < len(cell) else "") for cell in cells]
        padded = [part + " " * (width - _width(part)) for part, width in zip(parts, widths, strict=False)]
        lines.append((" " * _GAP).join(padded).rstrip())
    return lines


def _closed(lines: list[str]) -> list[str]:
    """Each line of a cell with its styles begun and ended in it: another cell follows in the same line."""
    shown, style = [], ""
    for line in lines:
        begun = style + line
        for letter in line:
            style = letter if letter in (_CODE, _BOLD) else "" if letter == _END else style
        shown.append(begun + (_END if style else ""))
    return shown
