"""A judge that is a program on this machine: the question on its standard input, the answer on its standard output."""

from __future__ import annotations

import asyncio
import os
import signal
from subprocess import DEVNULL, PIPE

from interpose.rules.policy.judge.rulings import MisansweredError, UnavailableError

MAX_BYTES = 1_000_000

_STDOUT = 1


async def run(argv: tuple[str, ...], question: bytes) -> bytes:
    """What the program wrote. It runs without a shell, and its whole process group ends with this call.

    It starts in `/`: where the agent works, a file of the repository could pass for a part of the program.
    """
    loop = asyncio.get_running_loop()
    try:
        transport, talk = await loop.subprocess_exec(
            _Talk, *argv, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True, cwd="/"
        )
    except (OSError, ValueError) as error:
        raise UnavailableError(f"the command does not start ({type(error).__name__})") from None
    try:
        _write(transport.get_pipe_transport(0), question)
        await talk.ended
        if (code := transport.get_returncode()) != 0:
            raise MisansweredError(f"the command ended with exit code {code}")
        return bytes(talk.received)
    finally:
        _end_group(transport.get_pid())
        # INVARIANT: nothing is awaited here. A child that left the group may hold the pipes open for ever.
        transport.close()


class _Talk(asyncio.SubprocessProtocol):
    """Listens until the program has ended and its output too, or there is too much of it."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left = {"output", "process"}

    def pipe_data_received(self, _fd: int, data: bytes) -> None:
        self.received += data
        if len(self.received) > MAX_BYTES and not self.ended.done():
            self.ended.set_exception(MisansweredError(f"answered with more than {MAX_BYTES} bytes"))

    def pipe_connection_lost(self, fd: int, _error: Exception | None) -> None:
        if fd == _STDOUT:
            self._end("output")

    def process_exited(self) -> None:
        self._end("process")

    def _end(self, part: str) -> None:
        self._left.discard(part)
        if not self._left and not self.ended.done():
            self.ended.set_result(None)


def _write(stdin: object, question: bytes) -> None:
    """A program may answer without reading everything; whether it may judge so is its author's business."""
    if isinstance(stdin, asyncio.WriteTransport):
        stdin.write(question)
        stdin.write_eof()


def _end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)  # the group has the id of the process that began it
    except (ProcessLookupError, PermissionError):
        pass  # nobody is left
