"""Work in a child process, whose end is ours to decide: what hangs is killed, and what crashes takes nobody along.

A thread would not do: native code that holds the interpreter lock can't be left, and a crash ends the whole process.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from time import monotonic

from interpose.core.errors import text_of

Send = Callable[[bytes], None]

_DONE, _FAILED = b"+", b"-"
_KILL = 9  # SIGKILL, without a module for one number
_LINGER = 2.0
"""Seconds that a child has to close what it opened, once it has said everything."""


class ChildError(Exception):
    """The child gave no answer; the text says why."""


def start_in_child(work: Callable[[Send], object], deadline: float) -> Callable[[], bytes]:
    """Start the work in a child that has no standard streams. What comes back waits for what it sends, once.

    Raises ChildError if it failed, ended without a word or was not done at the deadline (of the monotonic clock).
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _perform(work, reading, writing)
    os.close(writing)

    def answer() -> bytes:
        linger = 0.0  # a child that missed the deadline gets no more time: the host waits no longer either
        try:
            data = _received(reading, deadline)
            linger = _LINGER
        finally:
            _end(child, reading, linger)
        if data.startswith(_DONE):
            return data[1:]
        raise ChildError(data[1:].decode("utf-8", "replace") or "the process that decides has crashed")

    return answer


def _perform(work: Callable[[Send], object], reading: int, writing: int) -> None:
    try:
        os.close(reading)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        work(lambda data: _send(writing, _DONE, data))
    except BaseException as error:  # noqa: BLE001 - whatever it is, our parent has to hear of it
        _send(writing, _FAILED, text_of(error).encode("utf-8", "replace"))
    finally:
        os._exit(0)


def _send(writing: int, word: bytes, data: bytes) -> None:
    said = b"%b%d:%b" % (word, len(data), data)
    while said:
        said = said[os.write(writing, said) :]


def _received(reading: int, deadline: float) -> bytes:
    """INVARIANT: what is not whole is nothing."""
    data = bytearray()
    poll = select.poll()
    poll.register(reading, select.POLLIN | select.POLLHUP)
    while True:
        head, colon, rest = data.partition(b":")
        if colon and len(rest) >= int(head[1:]):
            return bytes(head[:1] + rest[: int(head[1:])])
        left = deadline - monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise ChildError("no decision in time")
        part = os.read(reading, 1 << 20)
        if not part:
            return b""
        data += part


def _end(child: int, reading: int, linger: float) -> None:
    """The pipe ends when the child does. One that doesn't is killed."""
    poll = select.poll()
    poll.register(reading, select.POLLHUP)
    if not poll.poll(linger * 1000):
        os.kill(child, _KILL)
    os.close(reading)
    os.waitpid(child, 0)
