"""Frames on a stream of bytes: one a line."""

from __future__ import annotations

from collections.abc import Callable

from interpose.doors.mcp.links.frames import MAX_FRAME


class TooLongError(ValueError):
    """A line has no end."""


class LineSplitter:
    """Lines out of the pieces in which a stream arrives. Holds one line that has not ended yet, and never more than
    a frame may have."""

    def __init__(self, take: Callable[[bytes], None], limit: int = MAX_FRAME) -> None:
        self._take, self._limit = take, limit
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Hand over each line that ended. Raises TooLongError if one is too long."""
        *ended, rest = data.split(b"\n")
        for line in ended:
            if self._held:
                self._held.append(line)
                line = b"".join(self._held)
                self._held.clear()
                self._size = 0
            if len(line) > self._limit:
                raise TooLongError(f"a line has more than {self._limit} bytes")
            if line and not line.isspace():
                self._take(line)
        if rest:
            self._held.append(rest)
            self._size += len(rest)
            if self._size > self._limit:
                self._held.clear()
                raise TooLongError(f"a line has more than {self._limit} bytes")


def as_line(frame: bytes) -> bytes:
    """A frame as one line.

    INVARIANT: no peer can put a second frame into the first. What was relayed as bytes may have line ends between its
    tokens (an HTTP body may); where JSON is valid they stand nowhere else, and a space says the same there. A lone
    carriage return ends a line for readers with universal newlines.
    """
    if b"\n" in frame or b"\r" in frame:
        frame = frame.replace(b"\n", b" ").replace(b"\r", b" ")
    return frame + b"\n"
