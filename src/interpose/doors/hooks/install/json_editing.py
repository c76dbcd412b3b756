"""Changes to a text of JSON that leave everything else in it as it is: members are added at the end of their container
in the file's own manner, and taken out again with exactly what came with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec import Struct

from interpose.doors.hooks.install.jsonc import Member, Value

_SAME_LINE_COMMENTS = re.compile(r"(?:[ \t]*+(?:/\*.*?\*/|//[^\r\n]*+))*", re.DOTALL)
_BREAK = re.compile(r"\r\n|\n|\r")
_BREAK_AHEAD = re.compile(r",?[ \t]*+(?:[\r\n]|\Z)")
_DEFAULT_UNIT = "  "


class Edit(Struct, frozen=True):
    """This stretch of a text gets another content."""

    start: int
    end: int
    text: str = ""


class Style(Struct, frozen=True):
    """How a text breaks and indents its lines."""

    newline: str
    unit: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits, none of which overlaps another. Of two at the same place, the first stays the first."""
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += (text[at : edit.start], edit.text)
        at = edit.end
    return "".join((*parts, text[at:]))


def style_of(text: str, root: Value) -> Style:
    """The manner of a text: its first line break, and how its first member is indented if it has its own line."""
    found = _BREAK.search(text)
    first = root.members[0] if root.members else None
    unit = _own_line(text, first) if first else None
    return Style(found.group() if found else "\n", unit or _DEFAULT_UNIT)


def document(data: dict[str, Any]) -> str:
    """A whole text, for a file that is not there."""
    return json.dumps(data, indent=_DEFAULT_UNIT, ensure_ascii=False) + "\n"


def appended(text: str, container: Value, members: Sequence[tuple[str, Any]], style: Style) -> list[Edit]:
    """Add members at the end of an object, or elements, whose names are empty, at the end of an array."""
    if not members:
        return []
    last = container.members[-1] if container.members else None
    trailing = last is not None and last.comma >= 0
    anchor = container.start + 1
    if last is not None:
        anchor = last.comma + 1 if trailing else last.value.end
    comma = [Edit(anchor, anchor, ",")] if last is not None and not trailing else []
    tail = _SAME_LINE_COMMENTS.match(text, anchor).end()  # type: ignore[union-attr]  # it matches nothing, too
    indent = _own_line(text, last) if last else _line_indent(text, container.start) + style.unit
    closing = container.end - 1
    if last is None and not text[anchor:closing].strip(" \t"):
        after = style.newline + _line_indent(text, container.start)
        return [Edit(closing, closing, _lines(members, indent or "", style, trailing=False) + after)]
    if indent is None or (last is None and not _BREAK.search(text, tail, closing)):
        at = tail if last is None else anchor
        return [*comma, Edit(at, at, _inline(members, trailing=trailing))]
    return [*comma, Edit(tail, tail, _lines(members, indent, style, trailing=trailing))]


def removed(text: str, container: Value, gone: Collection[Member]) -> list[Edit]:
    """Take members out. What stays has its commas as if they had never been there."""
    edits: list[Edit] = []
    for member in gone:
        start = member.before
        if member.after_line_comment and not _BREAK_AHEAD.match(text, member.value.end):
            start = _BREAK.search(text, start).end()  # type: ignore[union-attr]  # it ends the line comment
        edits.append(Edit(start, member.value.end))
        if member.comma >= 0:
            edits.append(Edit(member.comma, member.comma + 1))
    left = {id(member) for member in gone}
    kept = [member for member in container.members if id(member) not in left]
    last = container.members[-1]
    if kept and kept[-1] is not last and last.comma < 0:
        edits.append(Edit(kept[-1].comma, kept[-1].comma + 1))
    return edits


def is_blank(text: str, container: Value, gone: Collection[Member]) -> bool:
    """Whether nothing would be left in a container without these members, not even a comment."""
    left = edited(text[: container.end], removed(text, container, gone) if gone else ())
    return not left[container.start + 1 : -1].strip()


def _own_line(text: str, member: Member) -> str | None:
    """The indentation of a member that begins its line; None if it doesn't."""
    between = text[member.before : member.start]
    return re.split(r"[\r\n]", between)[-1] if _BREAK.search(between) else None


def _line_indent(text: str, at: int) -> str:
    line = text[max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _lines(members: Sequence[tuple[str, Any]], indent: str, style: Style, *, trailing: bool) -> str:
    start = style.newline + indent
    shown = [_member(name, json.dumps(value, indent=style.unit, ensure_ascii=False)) for name, value in members]
    return start + f",{start}".join(text.replace("\n", start) for text in shown) + ("," if trailing else "")


def _inline(members: Sequence[tuple[str, Any]], *, trailing: bool) -> str:
    shown = (_member(name, json.dumps(value, ensure_ascii=False)) for name, value in members)
    return " " + ", ".join(shown) + ("," if trailing else "")


def _member(name: str, value: str) -> str:
    return f"{json.dumps(name, ensure_ascii=False)}: {value}" if name else value
