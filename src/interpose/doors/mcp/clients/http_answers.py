"""The answer to one POST of a client: JSON if that is all there is to say, else a stream of events.

Which of the two is decided as late as possible: when something is to be told before the answer, or when the answer
takes so long that somebody between might give up on it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping

import msgspec
from msgspec import UNSET, Struct, UnsetType

from interpose.doors.http_server.messages import Headers, Response
from interpose.doors.mcp.links.eras import MISSING_CAPABILITY, UNSUPPORTED_VERSION
from interpose.doors.mcp.links.frames import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    failure,
)
from interpose.doors.mcp.links.links import LinkError

PING = 15.0
"""Seconds without a word until a stream says that it is still there."""
MOST_WAITING = 1000
MOST_BYTES = 4 << 20
"""Frames, and bytes of them, that wait for a client to read them."""

EVENTS: Headers = (("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no"))
STATUS: Mapping[int, int] = {
    PARSE_ERROR: 400, INVALID_REQUEST: 400, INVALID_PARAMS: 400, HEADER_MISMATCH: 400, MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400, METHOD_NOT_FOUND: 404,
}  # fmt: skip
"""What an error is in HTTP, in the modern era. Those that are not here are answers like any other."""


class _ErrorCode(Struct):
    code: int = 0


class _Outcome(Struct):
    error: _ErrorCode | UnsetType = UNSET


_outcome = msgspec.json.Decoder(_Outcome)


class FrameQueue:
    """Frames on their way to a client that may read slowly."""

    def __init__(self) -> None:
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._loop = asyncio.get_running_loop()
        self._come: asyncio.Future[None] | None = None
        self._room: asyncio.Event | None = None
        self.ended = False

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def full(self) -> bool:
        """Whether whoever sends must wait."""
        return len(self._frames) >= MOST_WAITING or self._bytes >= MOST_BYTES

    def put(self, frame: bytes) -> None:
        """One more."""
        self._frames.append(frame)
        self._bytes += len(frame)
        self._wake()

    def end(self) -> None:
        """Nothing more comes; whoever waits is woken."""
        self.ended = True
        self._wake()
        if self._room is not None:
            self._room.set()

    async def room(self) -> None:
        """Wait until there is room. Raises LinkError if the client is gone."""
        while self.full and not self.ended:
            self._room = self._room or asyncio.Event()
            self._room.clear()
            await self._room.wait()
        if self.ended:
            raise LinkError("the client is gone")

    def take(self) -> bytes | None:
        """The next one, if it is there."""
        if not self._frames:
            return None
        frame = self._frames.popleft()
        self._bytes -= len(frame)
        if self._room is not None and not self.full:
            self._room.set()
        return frame

    async def wait(self, seconds: float) -> bool:
        """Wait until something is there, or the end, or so many seconds. Whether nothing is there then."""
        if self._frames or self.ended:
            return False
        self._come = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._wake)
        try:
            await self._come
        finally:
            timer.cancel()
            self._come = None
        return not self._frames and not self.ended

    def _wake(self) -> None:
        if self._come is not None and not self._come.done():
            self._come.set_result(None)


def event(frame: bytes) -> bytes:
    """A frame as an event. INVARIANT: no frame can end its event: line ends stand between tokens alone."""
    if b"\n" in frame or b"\r" in frame:
        frame = frame.replace(b"\n", b" ").replace(b"\r", b" ")
    return b"event: message\r\ndata: %b\r\n\r\n" % frame


async def events(queue: FrameQueue) -> AsyncGenerator[bytes, None]:
    """The stream of a queue until it ends."""
    while True:
        frame = queue.take()
        if frame is not None:
            yield event(frame)
        elif queue.ended:
            return
        else:
            quiet = await queue.wait(PING)
            if quiet:
                yield b": still there\r\n\r\n"


def whole(frame: bytes, *, modern: bool, headers: Headers = ()) -> Response:
    """An answer that is all there is to say."""
    status = 200
    if modern:
        try:
            found = _outcome.decode(frame)
        except (msgspec.DecodeError, RecursionError):
            found = _Outcome()
        if isinstance(found.error, _ErrorCode):
            status = STATUS.get(found.error.code, 200)
    return Response(status, frame, headers)


def refused(status: int, code: int, message: str, *, id: int | str | None = None, headers: Headers = ()) -> Response:
    """An answer that says what was wrong with a request."""
    return Response(status, failure(id, code, message), headers)
