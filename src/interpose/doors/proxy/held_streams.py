"""A stream on its way to the agent: everything passes as it came, and calls wait for their rulings.

INVARIANT: an event is passed on when it is whole and was read, never before. What can't be read ends the stream with an
error that the agent understands, and nothing that was held is passed on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from interpose.core.errors import name_of
from interpose.doors.proxy.found_calls import MOST_CALLS, AnswerStream, CallsToJudge, FoundCall, Ruling, StreamStep
from interpose.doors.proxy.raw_events import RawEvents
from interpose.doors.proxy.wire_values import DoubtfulError

LARGEST_HELD = 32 << 20
"""Bytes of one answer that wait at the same time."""
PATIENCE = 10.0
"""Seconds between two signs of life while a person is asked."""

COULD_NOT = "it could not be read"
log = logging.getLogger("interpose.proxy")

Judge = Callable[[Sequence[FoundCall]], Awaitable[list[Ruling]]]


T = TypeVar("T")


def _sure(steps: Iterator[T]) -> Iterator[T]:
    """INVARIANT: what goes wrong in reading is no reason to pass on what was not read."""
    try:
        yield from steps
    except DoubtfulError:
        raise
    except Exception as error:
        log.exception("an answer could not be read")
        raise DoubtfulError(f"{COULD_NOT}: {name_of(error)}") from None


def _written(step: CallsToJudge, judging: asyncio.Future[list[Ruling]]) -> Iterator[bytes]:
    yield from step.written(judging.result())


class HeldStream:
    """One streamed answer. `stopped` is why it was ended here, if it was."""

    def __init__(self, answer: AnswerStream, judge: Judge) -> None:
        self._answer, self._judge = answer, judge
        self._events = RawEvents()
        self._calls = self._held = 0
        self.stopped = ""

    async def passed(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """What the agent gets of the pieces in which an answer comes. Whatever these raise goes on up."""
        ready: list[bytes] = []
        try:
            while True:
                piece = await anext(pieces, None)
                for step in _sure(self._last() if piece is None else self._fed(piece)):
                    if not isinstance(step, CallsToJudge):
                        ready.append(step)
                        continue
                    if ready:
                        yield b"".join(ready)
                        ready.clear()
                    judging = self._judging(step)
                    try:
                        while not (await asyncio.wait({judging}, timeout=PATIENCE))[0]:
                            if self._answer.waiting:
                                yield self._answer.waiting
                        ready += _sure(_written(step, judging))
                    finally:
                        judging.cancel()
                if ready:
                    yield b"".join(ready)
                    ready.clear()
                if piece is None:
                    return
        except DoubtfulError as error:
            self.stopped = str(error)
            if ready:
                yield b"".join(ready)
            yield self._answer.broken(f"Interpose ended this answer: {error}")

    def _fed(self, piece: bytes) -> Iterator[StreamStep]:
        for event in self._events.feed(piece):
            self._held += len(event.raw)
            for step in self._answer.event(event):
                self._held = 0 if isinstance(step, CallsToJudge) else max(0, self._held - len(step))
                yield step
            if self._held > LARGEST_HELD:
                raise DoubtfulError(f"more than {LARGEST_HELD >> 20} MiB of it wait for a call to end")

    def _last(self) -> Iterator[StreamStep]:
        if (last := self._events.finish()) is not None:
            yield from self._answer.event(last)
        yield from self._answer.end()

    def _judging(self, step: CallsToJudge) -> asyncio.Future[list[Ruling]]:
        self._calls += len(step.calls)
        if self._calls > MOST_CALLS:
            raise DoubtfulError(f"it has more than {MOST_CALLS} calls")
        return asyncio.ensure_future(self._judge(step.calls))
