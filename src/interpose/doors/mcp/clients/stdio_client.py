"""The client that started us: frames over our own standard input and output."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Callable
from typing import Any

from interpose.doors.mcp.links.frames import RequestId
from interpose.doors.mcp.links.lines import LineSplitter, TooLongError, as_line
from interpose.doors.mcp.links.links import ClientSide, LinkError

HIGH_WATER = 4 * 1024 * 1024
"""Bytes that may wait for the client to read them before whoever answers has to wait, and notifications are dropped."""


def own_streams() -> tuple[int, int]:
    """Our input and output as descriptors that nobody else has.

    INVARIANT: on the client's streams there are frames and nothing else. A line that some package prints goes to the
    standard error, and no child inherits them.
    """
    sys.stdout.flush()
    given, taken = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return given, taken


class StdioClient:
    """One client on two descriptors."""

    def __init__(self) -> None:
        self._reader: Any = None
        self._writer: Any = None
        self._writable = asyncio.Event()
        self.ended = asyncio.Event()
        """The client closed its side, or it can't be reached any more."""
        self.left = asyncio.Event()
        """It reads no answers any more."""

    async def connect(self, reads: int, writes: int, side: ClientSide) -> None:
        """Take frames from one descriptor, and send them to the other."""
        loop = asyncio.get_running_loop()
        if _is_file(writes):
            self._writer = _FileWriter(writes)
        else:
            self._writer, _ = await loop.connect_write_pipe(lambda: _ClientOutput(self), os.fdopen(writes, "wb", 0))
            self._writer.set_write_buffer_limits(high=HIGH_WATER)
        self._writable.set()
        reading = _ClientInput(self, side)
        if _is_file(reads):
            threading.Thread(target=_read_file, args=(reads, loop, reading), daemon=True).start()
        else:
            self._reader, _ = await loop.connect_read_pipe(lambda: reading, os.fdopen(reads, "rb", 0))

    async def send(
        self,
        frame: bytes,
        *,
        answers: RequestId | None = None,  # noqa: ARG002 - one stream carries everything
        during: RequestId | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """One line to the client."""
        if not self._writable.is_set():
            await self._writable.wait()
        if self._writer is None or self._writer.is_closing():
            raise LinkError("the client is gone")
        self._writer.write(as_line(frame))

    def post(self, frame: bytes, *, during: RequestId | None = None) -> bool:  # noqa: ARG002 - as above
        """One line that may be lost."""
        if self._writer is None or self._writer.is_closing() or not self._writable.is_set():
            return False
        self._writer.write(as_line(frame))
        return True

    @property
    def gone(self) -> bool:
        """Whether it reads no answers any more."""
        return self._writer is None or bool(self._writer.is_closing())

    async def flush(self, seconds: float = 2.0) -> None:
        """Wait until what was sent is written, for a bounded time."""
        if self._writer is None or not hasattr(self._writer, "get_write_buffer_size"):
            return
        try:
            async with asyncio.timeout(seconds):
                # One that is closed can't be asked for its size.
                while not self._writer.is_closing() and self._writer.get_write_buffer_size():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            pass

    def close(self) -> None:
        """Let go of both descriptors."""
        for one in (self._reader, self._writer):
            if one is not None:
                one.close()

    def pause(self) -> None:
        """The client does not read."""
        self._writable.clear()

    def resume(self) -> None:
        """The client reads again, or never will."""
        self._writable.set()


def _is_file(descriptor: int) -> bool:
    """A file, or a device such as /dev/null: no loop can wait for it, and uvloop ends the process if it is asked to."""
    mode = os.fstat(descriptor).st_mode
    return not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor))


class _FileWriter:
    """A regular file instead of a pipe (`interpose mcp wrap ... > answers`): the loop can't wait for one."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "wb", 0)

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def is_closing(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        self._file.close()


def _read_file(descriptor: int, loop: asyncio.AbstractEventLoop, reading: _ClientInput) -> None:
    with os.fdopen(descriptor, "rb", 0) as file:
        while data := file.read(65536):
            _on(loop, reading.data_received, data)
    _on(loop, reading.connection_lost, None)


def _on(loop: asyncio.AbstractEventLoop, call: Callable[[Any], None], value: Any) -> None:
    try:
        loop.call_soon_threadsafe(call, value)
    except RuntimeError:
        pass  # the loop ended before the file did


class _ClientInput(asyncio.Protocol):
    def __init__(self, client: StdioClient, side: ClientSide) -> None:
        self._client = client
        self._lines = LineSplitter(side.received)
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self._lines.feed(data)
        except TooLongError:
            if self._transport is not None:
                self._transport.close()
            self._client.ended.set()

    def connection_lost(self, _error: Exception | None) -> None:
        self._client.ended.set()


class _ClientOutput(asyncio.Protocol):
    def __init__(self, client: StdioClient) -> None:
        self._client = client

    def pause_writing(self) -> None:
        self._client.pause()

    def resume_writing(self) -> None:
        self._client.resume()

    def connection_lost(self, _error: Exception | None) -> None:
        self._client.resume()
        self._client.left.set()
        self._client.ended.set()
