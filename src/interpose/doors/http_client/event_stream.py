"""Server-sent events out of the pieces in which a stream arrives."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class StreamEvent(Struct, frozen=True):
    """One event. `id` and `retry` (milliseconds) are the last that were said."""

    data: bytes
    kind: str = "message"
    id: str = ""
    retry: int | None = None


class EventTooLongError(ValueError):
    """An event has no end."""


class EventSplitter:
    """Events of one stream. Holds one that has not ended yet, and never more than `limit` bytes of it."""

    def __init__(self, take: Callable[[StreamEvent], None], limit: int) -> None:
        self._take, self._limit = take, limit
        self._rest = b""
        self._held: list[bytes] = []
        self._data: list[bytes] = []
        self._size = 0
        self._kind = ""
        self.last_id = ""
        self.retry: int | None = None

    def feed(self, piece: bytes) -> None:
        """Hand over each event that ended. Raises EventTooLongError."""
        self._size += len(piece)
        if b"\n" not in piece and b"\r" not in piece:
            # Kept in pieces: joining them each time would cost more with each.
            self._held.append(piece)
            self._bounded()
            return
        if self._held:
            piece = b"".join((*self._held, piece))
            self._held.clear()
        if b"\r" in piece:
            # A carriage return at the end may be the first half of a line end.
            kept = b"\r" if piece.endswith(b"\r") else b""
            piece = piece.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            if kept:
                self._held.append(kept)
        *lines, rest = piece.split(b"\n")
        if rest:
            self._held.insert(0, rest)
        for line in lines:
            if line:
                self._field(line)
            else:
                self._end()
        if not self._data:
            self._size = sum(map(len, self._held))
        self._bounded()

    def _bounded(self) -> None:
        if self._size > self._limit:
            raise EventTooLongError(f"an event has more than {self._limit} bytes")

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._kind = value[:64].decode("utf-8", "replace")
        elif name == b"id" and len(value) <= 1024 and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) < 10:
            self.retry = int(value)

    def _end(self) -> None:
        if self._data:
            data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            self._data.clear()
            self._take(StreamEvent(data, self._kind or "message", self.last_id, self.retry))
        self._kind = ""
