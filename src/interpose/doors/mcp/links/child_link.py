"""A server that is a process of ours: frames over its input and output.

It is started without a shell, in a process group of its own, with the few variables that every program needs and those
that the configuration names. What it writes to its standard error is logged, within bounds.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
from collections import deque
from collections.abc import Mapping
from time import monotonic
from typing import Any

from msgspec import Struct

from interpose.core.types import EMPTY
from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.links.group_guard import GroupGuard
from interpose.doors.mcp.links.lines import LineSplitter, TooLongError, as_line
from interpose.doors.mcp.links.links import LinkError, Outgoing, ServerSide

log = logging.getLogger("interpose.gateway")

PASSED_ON = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""Variables of ours that a server gets. INVARIANT: none of them carries a secret; tokens are named one by one."""

HIGH_WATER = 4 * 1024 * 1024
"""Bytes that may wait for a server to read them before whoever sends has to wait."""
GRACE, TERM_GRACE = 1.5, 1.0
"""Seconds from the end of its input until SIGTERM, and from there until SIGKILL. Together they are shorter than what
clients give a gateway: two seconds after the end of its input they send SIGTERM, and two seconds later SIGKILL."""
UNREAD = 30.0
"""Seconds that whoever sends waits for a server that does not read."""
SETTLING = 0.1
"""Seconds in which the end of a process and the end of its output find together."""
STDERR_LINE = 2000
STDERR_LINES_A_SECOND = 20
STDERR_KEPT = 5


class ServerProgram(Struct, frozen=True, kw_only=True):
    """How a server is started."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = EMPTY
    cwd: str = ""


def environment(given: Mapping[str, str], ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables of a server."""
    return {name: ours[name] for name in PASSED_ON if name in ours} | dict(given)


class ChildLink:
    """One process."""

    def __init__(self, program: ServerProgram) -> None:
        self._program = program
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._writable = asyncio.Event()
        self._exited = asyncio.Event()
        self._guard: GroupGuard | None = None
        self._closing: asyncio.Task[None] | None = None
        self._gone = ""
        """Why nothing can be sent any more."""

    async def open(self, side: ServerSide, /) -> None:
        """Start the program."""
        program = self._program
        variables = environment(program.env)
        # Looked up here: the variables of the child, its PATH included, are not those that the loop would look in.
        found = shutil.which(program.command, path=variables.get("PATH"))
        if found is None:
            raise LinkError(f"there is no program {program.command!r} in its PATH")
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: _ChildProtocol(self, side, program.name), found, *program.args,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                env=variables, cwd=program.cwd or None, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise LinkError(f"{program.command} can't be started: {error}") from None
        self._transport = transport
        stdin: Any = transport.get_pipe_transport(0)
        if not stdin.is_closing():  # it may have ended already
            stdin.set_write_buffer_limits(high=HIGH_WATER)
        self._stdin = stdin
        self._writable.set()
        self._guard = await GroupGuard.start(transport.get_pid())

    async def send(self, frame: bytes, about: Outgoing, /) -> None:  # noqa: ARG002 - of the protocol
        """One line to its input."""
        if not self._writable.is_set():
            try:
                async with asyncio.timeout(UNREAD):
                    await self._writable.wait()
            except TimeoutError:
                raise LinkError(f"it has not read its input for {UNREAD:g} seconds") from None
        if self._gone or self._stdin is None or self._stdin.is_closing():
            raise LinkError(self._gone or "its input is closed")
        self._stdin.write(as_line(frame))

    def negotiated(self, era: Era, version: str, /) -> None:
        """Pipes have no headers."""

    async def close(self) -> None:
        """End its input, then ask it to end, then end it, with all that it started.

        INVARIANT: this ends only when the process has ended. A caller that is cancelled meanwhile is cancelled after
        that: otherwise a server that ignores the end of its input would survive us.
        """
        if self._closing is None:
            # A task of its own: in one that was cancelled, asyncio.timeout ends as a cancellation until Python 3.11.2.
            self._closing = asyncio.get_running_loop().create_task(self._close())
        cancelled = False
        while not self._closing.done():
            try:
                await asyncio.wait([self._closing])
            except asyncio.CancelledError:
                cancelled = True
        if cancelled:
            raise asyncio.CancelledError
        self._closing.result()

    async def _close(self) -> None:
        self.ended("it was closed")
        transport = self._transport
        if transport is None:
            return
        try:
            stdout: Any = transport.get_pipe_transport(1)
            if stdout is not None and not stdout.is_closing():
                stdout.pause_reading()  # nothing that it still writes is read
            if self._stdin is not None and not self._stdin.is_closing():
                self._stdin.abort() if self._stdin.get_write_buffer_size() else self._stdin.close()
            if not await self._exits_within(GRACE):
                self._signal(signal.SIGTERM)
                await self._exits_within(TERM_GRACE)
        finally:
            self._signal(signal.SIGKILL)  # it, or those that it started and left behind
        await self._exits_within(GRACE)
        transport.close()
        if self._guard is not None:
            await self._guard.dismiss()

    async def _exits_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        except TimeoutError:
            return False
        return True

    def _signal(self, number: int) -> None:
        # INVARIANT: the group is of the child's own making (start_new_session), so its id is the child's.
        if self._transport is not None:
            try:
                os.killpg(self._transport.get_pid(), number)
            except (ProcessLookupError, PermissionError):
                pass

    def cut(self, why: str) -> None:
        """It broke a bound: nothing of it counts any more."""
        self.ended(why)
        self._signal(signal.SIGKILL)

    def ended(self, why: str) -> None:
        """Nothing can be sent from now on."""
        self._gone = self._gone or why
        self._writable.set()

    def exited(self) -> None:
        """The process is no more."""
        self._exited.set()

    def pause(self) -> None:
        """It does not read: whoever sends waits."""
        if not self._gone:
            self._writable.clear()

    def resume(self) -> None:
        """It reads again."""
        self._writable.set()


class _ChildProtocol(asyncio.SubprocessProtocol):
    """What the loop tells of the process."""

    def __init__(self, link: ChildLink, side: ServerSide, name: str) -> None:
        self._link, self._side = link, side
        self._lines = LineSplitter(side.received)
        self._errors = _ErrorOutput(name)
        self._lost = False
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)  # noqa: S101 - pipes of bytes
        if self._lost:
            return
        if fd == 2:
            self._errors.feed(data)
            return
        try:
            self._lines.feed(data)
        except TooLongError as error:
            self._lose(f"it was cut off: {error}", cut=True)

    def pipe_connection_lost(self, fd: int, _error: Exception | None) -> None:
        if fd == 1:
            # It may have ended, and how it did says more; what it wrote before was read by now.
            self._later(self._how() if self._transport.get_returncode() is not None else "it closed its output")
        elif fd == 0:
            self._link.ended("it closed its input")

    def process_exited(self) -> None:
        self._link.exited()
        # What it wrote before it ended is still in the pipe, and a process that it left behind may hold that open.
        self._later(self._how())

    def _later(self, why: str) -> None:
        asyncio.get_running_loop().call_later(SETTLING, lambda: self._lose(self._how() or why))

    def _how(self) -> str:
        code = self._transport.get_returncode()
        if code is None:
            return ""
        how = f"it ended with exit code {code}" if code >= 0 else f"it was ended by signal {-code}"
        last = self._errors.last()
        return f"{how}: {last}" if last else how

    def pause_writing(self) -> None:
        """The pipe is full."""
        self._link.pause()

    def resume_writing(self) -> None:
        """The pipe is free again."""
        self._link.resume()

    def _lose(self, why: str, *, cut: bool = False) -> None:
        if self._lost:
            return
        self._lost = True
        if cut:
            self._link.cut(why)
        else:
            self._link.ended(why)
        self._side.lost(why)


class _ErrorOutput:
    """What a server writes to its standard error: into our log, so many lines a second, and the last for people."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = b""
        self._kept: deque[str] = deque(maxlen=STDERR_KEPT)
        self._second, self._count = 0, 0

    def feed(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:STDERR_LINE]
        for line in lines:
            text = line[:STDERR_LINE].decode("utf-8", "replace").strip()
            if text:
                self._line(text)

    def _line(self, text: str) -> None:
        self._kept.append(text)
        second = int(monotonic())
        if second != self._second:
            if self._count > STDERR_LINES_A_SECOND:
                log.info("server wrote more", extra={"server": self._name, "lines": self._count})
            self._second, self._count = second, 0
        self._count += 1
        if self._count <= STDERR_LINES_A_SECOND:
            log.info("server says", extra={"server": self._name, "text": text})

    def last(self) -> str:
        """The last line that says something."""
        return self._kept[-1] if self._kept else ""
