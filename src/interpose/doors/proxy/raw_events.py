"""Server-sent events with the bytes that they came in: what is not changed is passed on as it was.

Stricter than the standard, since readers differ where it is lax: lines end with a line feed (with or without a carriage
return before it), have one of the fields that it names, and an event has one line of data. What some readers would see
and others not is refused: a byte order mark, another field, a carriage return elsewhere, data in several lines (some
take each for an event), and letters in other fields at which some readers end a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from interpose.core.types import same
from interpose.doors.proxy.wire_values import DoubtfulError

LARGEST_EVENT = 16 << 20
DONE = b"[DONE]"
"""What many servers say last."""
_FIELDS = frozenset({b"data", b"event", b"id", b"retry"})
_encode = msgspec.json.Encoder().encode


class RawEvent(Struct, frozen=True):
    """One event. `data` is None if it has none: a comment, or an empty line too many."""

    raw: bytes
    data: bytes | None = None
    name: str = ""
    id: bytes = b""

    @property
    def says_nothing(self) -> bool:
        """Whether no reader finds anything in it: a comment, or the last word."""
        return self.data is None or self.data.strip() in (b"", DONE)

    @property
    def line_end(self) -> bytes:
        """How its lines end."""
        return b"\r\n" if b"\r\n" in self.raw[-2:] else b"\n"


class RawEvents:
    """Splits a stream. INVARIANT: the bytes of all events, one after the other, are the bytes that came."""

    def __init__(self, largest: int = LARGEST_EVENT) -> None:
        self._largest = largest
        self._line: list[bytes] = []
        self._raw: list[bytes] = []
        self._data: bytes | None = None
        self._name, self._id = "", b""
        self._held = self._rest = 0

    def feed(self, piece: bytes) -> Iterator[RawEvent]:
        """Every event that ended. Raises DoubtfulError."""
        at = 0
        while (end := piece.find(b"\n", at)) >= 0:
            line = piece[at : end + 1]
            if self._line:
                line = b"".join((*self._line, line))
                self._line.clear()
            at = end + 1
            if (event := self._take(line)) is not None:
                yield event
        if at < len(piece):
            self._line.append(piece[at:] if at else piece)
            self._rest += len(piece) - at
            self._bounded()

    def finish(self) -> RawEvent | None:
        """What came without an end: some readers take it for an event. Raises DoubtfulError."""
        if self._line:
            self._take(b"".join(self._line))
            self._line.clear()
        return self._event() if self._raw else None

    def _bounded(self) -> None:
        if self._held + self._rest > self._largest:
            raise DoubtfulError(f"one of its events has more than {self._largest >> 20} MiB")

    def _take(self, line: bytes) -> RawEvent | None:
        self._raw.append(line)
        self._held, self._rest = self._held + len(line), 0
        self._bounded()
        text = line.removesuffix(b"\n").removesuffix(b"\r")
        if b"\r" in text or b"\0" in text:
            raise DoubtfulError("a line of its events has a carriage return or a NUL in it")
        if not text:
            return self._event()
        field, colon, value = text.partition(b":")
        if field not in _FIELDS and (field or not colon):
            raise DoubtfulError("it has a line that is no field of an event")
        value = value.removeprefix(b" ")
        if field == b"data":
            if self._data is not None:
                raise DoubtfulError("an event has more than one line of data")
            self._data = value
            return None
        if not (value.isascii() and value.decode("ascii").isprintable()):
            raise DoubtfulError("a field of its events has letters that may end a line")
        if field == b"event":
            self._name = value.decode("ascii")
        elif field == b"id":
            self._id = value
        return None

    def _event(self) -> RawEvent:
        raw = self._raw[0] if len(self._raw) == 1 else b"".join(self._raw)
        event = RawEvent(raw, self._data, self._name, self._id)
        self._raw, self._data = [], None
        self._name, self._id, self._held = "", b"", 0
        return event


def rewritten(event: RawEvent, before: Any, after: Any) -> bytes:
    """An event whose value became another; the bytes that came if it did not."""
    return event.raw if same(before, after) else written(after, event)


def written(value: Any, like: RawEvent, name: str | None = None) -> bytes:
    """An event with this value, in the form of another. `name` takes the place of its name."""
    end = like.line_end
    named = like.name if name is None else name
    head = b"event: %b%b" % (named.encode(), end) if named else b""
    if like.id and name is None:
        head += b"id: %b%b" % (like.id, end)
    return b"%bdata: %b%b%b" % (head, _encode(value), end, end)
