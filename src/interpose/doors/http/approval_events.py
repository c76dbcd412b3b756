"""`GET /api/v1/approvals/events`: what happens to questions, as it happens (server-sent events)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from msgspec import json as fast

from interpose.doors.http.answering import STORE, done
from interpose.doors.http.operation_routes import served
from interpose.doors.http_server.messages import Refusal, Request, Response, Route

if TYPE_CHECKING:
    from interpose.composition.service.question_events import QuestionEvent
    from interpose.composition.service.service import Service

EVENTS = "text/event-stream"
PING_SECONDS = 15.0
"""Seconds without a word until a stream says that it is still there."""
MOST_WAITING = 1000
"""Events that wait for a client to read them. One that is slower is let go, and comes again."""


def routes(service: Service) -> tuple[Route, ...]:
    """The one route."""

    async def events(_request: Request) -> Response:
        stream = _EventStream(service)
        if not await done(lambda: service.events.watch(stream.put)):
            raise Refusal(503, "too_many_watchers", "too many watch already: look from time to time instead")
        headers = (("Content-Type", EVENTS), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"))
        return Response(headers=headers, stream=stream.pieces())

    return (
        served(
            "question-events", events,
            codes=((503, "too_many_watchers"), STORE), produces=(EVENTS,), hangs_up=True,
        ),
    )  # fmt: skip


class _EventStream:
    """Events on their way to one client."""

    def __init__(self, service: Service) -> None:
        self._service, self._loop = service, asyncio.get_running_loop()
        self._queue: asyncio.Queue[QuestionEvent | None] = asyncio.Queue()

    def put(self, event: QuestionEvent | None) -> None:
        """One more, from any thread."""
        try:
            self._loop.call_soon_threadsafe(self._add, event)
        except RuntimeError:
            self._service.events.leave(self.put)  # the loop was closed: nobody reads any more

    def _add(self, event: QuestionEvent | None) -> None:
        if self._queue.qsize() >= MOST_WAITING:
            self._service.events.leave(self.put)
            event = None
        self._queue.put_nowait(event)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        number = 0
        try:
            while True:
                try:
                    event = await asyncio.wait_for(self._queue.get(), PING_SECONDS)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                if event is None:
                    return
                number += 1
                yield b"id: %d\nevent: %s\ndata: %s\n\n" % (number, event.event.encode(), fast.encode(event))
        finally:
            self._service.events.leave(self.put)
