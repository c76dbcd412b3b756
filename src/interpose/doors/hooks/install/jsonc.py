"""JSON with comments and trailing commas, and where everything stands in the text. Nothing looser is taken."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from msgspec import Struct

from interpose.core.types import MAX_DEPTH
from interpose.effects.agents.agent import Looseness

_SPACE = re.compile(r"[ \t\r\n]*+")
_COMMENT = re.compile(r"//[^\r\n]*+|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null")
_WORD = re.compile(r"[A-Za-z0-9_.+-]*+")
_SHOWN = 20

BOM = "\ufeff"


class JsoncError(ValueError):
    """This is no JSON with comments. The text says in which line, and what is wrong there."""


class Member(Struct, frozen=True):
    """A member of an object, or an element of an array, whose `name` is empty.

    `before` is where the token before it ends, be it a comment; `comma` is where the comma after it stands, or -1.
    """

    name: str
    start: int
    before: int
    after_line_comment: bool
    value: Value
    comma: int = -1


class Value(Struct, frozen=True):
    """A value and its place. `data` is what it means."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    data: Any
    members: tuple[Member, ...] = ()

    def member(self, name: str) -> Member | None:
        """The member of this name."""
        return next((member for member in self.members if member.name == name), None)


def parse(text: str) -> Value:
    """The value of a text; a byte order mark may precede it. Raises JsoncError."""
    return _Parser(text).whole()


def departures(text: str) -> list[tuple[Looseness, int]]:
    """What of a text is no plain JSON, and where. Raises JsoncError."""
    if not text.removeprefix(BOM).strip():
        return [("byte order mark", 0)] if text else []
    parser = _Parser(text)
    parser.whole()
    return parser.departures


def error_at(text: str, at: int, what: str) -> JsoncError:
    """An error that names its place as editors count it."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return JsoncError(f"line {line}, column {column}: {what}")


class _Parser:
    """`_at` is where the next token begins, `_end` where the last one ended; comments are tokens, too."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.departures: list[tuple[Looseness, int]] = [("byte order mark", 0)] if text.startswith(BOM) else []
        self._at = self._end = len(BOM) if text.startswith(BOM) else 0
        self._after_line_comment = False
        self._skip()

    def whole(self) -> Value:
        value = self._value(MAX_DEPTH)
        if self._at < len(self._text):
            raise self._wrong(f"expected the end, got {self._shown()}")
        return value

    def _skip(self) -> None:
        """Go on to the next token that is no comment."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if not self._text.startswith("/", self._at):
                return
            comment = _COMMENT.match(self._text, self._at)
            if comment is None:
                raise self._wrong(
                    "a comment that does not end" if self._text.startswith("/*", self._at) else "a lone slash"
                )
            self.departures.append(("comment", self._at))
            self._at = self._end = comment.end()
            self._after_line_comment = comment.group().startswith("//")

    def _take(self, end: int) -> None:
        self._at = self._end = end
        self._after_line_comment = False
        self._skip()

    def _value(self, levels: int) -> Value:
        start = self._at
        match self._text[start : start + 1]:
            case "{" | "[" if not levels:
                raise self._wrong(f"nested deeper than {MAX_DEPTH} levels")
            case "{":
                members = self._members("}", levels - 1)
                data: Any = {member.name: member.value.data for member in members}
                return Value("object", start, self._closed(), data, members)
            case "[":
                members = self._members("]", levels - 1)
                return Value("array", start, self._closed(), [member.value.data for member in members], members)
            case '"':
                return Value("scalar", start, start + len(token := self._string()), json.loads(token))
            case _:
                found = _SCALAR.match(self._text, start)
                if found is None or _WORD.match(self._text, start).end() != found.end():  # type: ignore[union-attr]  # as above
                    raise self._wrong(f"expected a value, got {self._shown()}")
                self._take(found.end())
                return Value("scalar", start, found.end(), self._number(found.group(), start))

    def _number(self, token: str, start: int) -> Any:
        try:
            return json.loads(token)
        except ValueError:  # Python reads no more than some thousand digits
            raise error_at(self._text, start, "a number that is too long") from None

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise self._wrong(f"expected a text in double quotes, got {self._shown()}")
        self._take(found.end())
        return found.group()

    def _members(self, closing: str, levels: int) -> tuple[Member, ...]:
        """Up to the closing bracket, which is not taken."""
        self._take(self._at + 1)
        members: list[Member] = []
        names: set[str] = set()
        while not self._text.startswith(closing, self._at):
            start, before, after_line_comment = self._at, self._end, self._after_line_comment
            name = self._name(names) if closing == "}" else ""
            value = self._value(levels)
            comma = self._at if self._text.startswith(",", self._at) else -1
            members.append(Member(name, start, before, after_line_comment, value, comma))
            if comma >= 0:
                self._take(comma + 1)
                if self._text.startswith(closing, self._at):
                    self.departures.append(("trailing comma", comma))
            elif not self._text.startswith(closing, self._at):
                raise self._wrong(f"expected ',' or '{closing}', got {self._shown()}")
        return tuple(members)

    def _name(self, names: set[str]) -> str:
        start = self._at
        name: str = json.loads(self._string())
        if name in names:
            raise error_at(self._text, start, f"the key {name[:_SHOWN]!r} stands twice in one object")
        names.add(name)
        if not self._text.startswith(":", self._at):
            raise self._wrong(f"expected ':', got {self._shown()}")
        self._take(self._at + 1)
        return name

    def _closed(self) -> int:
        end = self._at + 1
        self._take(end)
        return end

    def _shown(self) -> str:
        rest = self._text[self._at : self._at + _SHOWN].split("\n")[0].strip()
        return repr(rest) if rest else "the end"

    def _wrong(self, what: str) -> JsoncError:
        return error_at(self._text, self._at, what)
