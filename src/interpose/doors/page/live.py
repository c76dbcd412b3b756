"""`GET /live`: tells a page that something changed, so that it looks again, and how many questions wait. It never says
what changed.

INVARIANT: nothing waits in a queue for a browser: however much is decided, a page hears of it at most twice a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any

from interpose.doors.http.answering import done
from interpose.doors.http_server.messages import Refusal, Request, Response, Route
from interpose.doors.page.frame import count_waiting, waiting_text
from interpose.doors.page.page_visits import Tab, Visits
from interpose.doors.page.screens import Screen, tabs_of

if TYPE_CHECKING:
    from interpose.composition.service.question_events import QuestionEvent
    from interpose.composition.service.service import Service
    from interpose.core.types import HookPoint, Verdict

PATH = "/live"
EVERY_SECONDS = 0.5
PING_TURNS = 30
SESSION_TURNS = 60
"""After so many turns without a word a stream says that it is there, and looks whether its session still is."""
_HEADERS = (("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no"))


class DecisionCount:
    """How many decisions there were in this process. It is counted on the way of each: one addition."""

    def __init__(self, service: Service) -> None:
        self.number = 0
        service.activity.listeners = (*service.activity.listeners, self._heard)

    def _heard(self, _point: HookPoint, _verdict: Verdict[Any]) -> None:
        self.number += 1


def routes(visits: Visits, screens: Sequence[Screen]) -> tuple[Route, ...]:
    """The one route. Who may not open the tab behind which something waits is not told how much."""
    count = DecisionCount(visits.service)

    async def live(request: Request) -> Response:
        found = await visits.who(request, used=False)
        if found is None:
            raise Refusal(401, "unauthorized", "this browser is not signed in")
        tabs = [tab for _, tab in tabs_of(found.session.role, screens) if tab.waiting is not None]
        stream = _LiveStream(visits, request, count, tabs)
        if not await done(lambda: visits.service.events.watch(stream.rung)):
            raise Refusal(503, "too_many_watchers", "too many pages are open", (("Retry-After", "5"),))
        return Response(headers=_HEADERS, stream=stream.pieces())

    return (Route("GET", PATH, live, "visitor", "Hears that something changed", hangs_up=True),)


class _LiveStream:
    """What one page hears."""

    def __init__(self, visits: Visits, request: Request, count: DecisionCount, tabs: Sequence[Tab]) -> None:
        self._visits, self._request, self._count, self._tabs = visits, request, count, tabs
        self._loop = asyncio.get_running_loop()
        self._bell = asyncio.Event()
        self._asked = self._over = False

    def rung(self, event: QuestionEvent | None) -> None:
        """Something happened to a question, told by any thread."""
        self._asked, self._over = True, self._over or event is None
        try:
            self._loop.call_soon_threadsafe(self._bell.set)
        except RuntimeError:
            self._visits.service.events.leave(self.rung)  # the loop was closed: nobody reads any more

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """`questions`, with how many wait, and `decided`: each at most once in a turn."""
        seen, turn = self._count.number, 0
        try:
            yield f"retry: 1000\nevent: here\ndata: {await self._waiting()}\n\n".encode()
            while not self._over:
                await self._next_turn()
                turn += 1
                said = b""
                if self._asked:
                    self._asked = False
                    said += f"event: questions\ndata: {await self._waiting()}\n\n".encode()
                if self._count.number != seen:
                    seen = self._count.number
                    said += b"event: decided\ndata: \n\n"
                if not said and turn % PING_TURNS == 0:
                    said = b": still here\n\n"
                if turn % SESSION_TURNS == 0 and await self._visits.who(self._request, used=False) is None:
                    return
                if said:
                    yield said
        finally:
            self._visits.service.events.leave(self.rung)

    async def _waiting(self) -> str:
        """How many questions wait, as the tab shows it; empty for who may not know."""
        return waiting_text(await count_waiting(self._visits.service, self._tabs)) if self._tabs else ""

    async def _next_turn(self) -> None:
        """The end of a turn. A question ends it at once: somebody waits for that."""
        try:
            await asyncio.wait_for(self._bell.wait(), EVERY_SECONDS)
        except TimeoutError:
            return
        self._bell.clear()
        await asyncio.sleep(EVERY_SECONDS / 5)  # more of the same comes along
