"""A stream on its way to the agent: everything passes as it came, and calls wait for their rulings.

INVARIANT: an event is passed on when it is whole and was read, never before. What can't be read ends the stream with an
error that the agent understands, and nothing that was held is passed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterator, Sequence

from interpose.surfaces.model_proxy.found_calls import (
    MOST_CALLS,
    AnswerStream,
    CallsToJudge,
    FoundCall,
    Ruling,
    StreamStep,
)
from interpose.surfaces.model_proxy.raw_events import RawEvents
from interpose.surfaces.model_proxy.wire_values import UnreadableError

LARGEST_HELD = 32 << 20
"""Bytes of one answer that wait at the same time."""
PATIENCE = 10.0
"""Seconds between two signs of life while a person is asked."""

Judge = Callable[[Sequence[FoundCall]], Awaitable[list[Ruling]]]


class HeldStream:
    """One streamed answer. `stopped` is why it was ended here, if it was."""

    def __init__(self, answer: AnswerStream, judge: Judge) -> None:
        self._answer, self._judge = answer, judge
        self._events = RawEvents()
        self._calls = self._held = 0
        self.stopped = ""

    async def passed(self, pieces: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """What the agent gets of the pieces in which an answer comes. Whatever these raise goes on up."""
        try:
            async for piece in pieces:
                for event in self._events.feed(piece):
                    self._held += len(event.raw)
                    async for part in self._taken(self._answer.event(event)):
                        yield part
                    if self._held > LARGEST_HELD:
                        raise UnreadableError(f"more than {LARGEST_HELD >> 20} MiB of it wait for a call to end")
            if (last := self._events.finish()) is not None:
                async for part in self._taken(self._answer.event(last)):
                    yield part
            async for part in self._taken(self._answer.end()):
                yield part
        except UnreadableError as error:
            self.stopped = str(error)
            yield self._answer.broken(f"Interpose ended this answer: {error}")

    async def _taken(self, steps: Iterator[StreamStep]) -> AsyncIterator[bytes]:
        for step in steps:
            if isinstance(step, CallsToJudge):
                async for part in self._ruled(step):
                    yield part
            else:
                self._held = max(0, self._held - len(step))
                yield step

    async def _ruled(self, step: CallsToJudge) -> AsyncIterator[bytes]:
        self._calls += len(step.calls)
        if self._calls > MOST_CALLS:
            raise UnreadableError(f"it has more than {MOST_CALLS} calls")
        judging = asyncio.ensure_future(self._judge(step.calls))
        try:
            while not judging.done():
                await asyncio.wait({judging}, timeout=PATIENCE)
                if not judging.done() and self._answer.waiting:
                    yield self._answer.waiting
            rulings = judging.result()
        finally:
            judging.cancel()
        self._held = 0
        for part in step.written(rulings):
            yield part
