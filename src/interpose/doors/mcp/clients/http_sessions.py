"""Clients of the old era over HTTP: a session is a conversation whose requests come one POST each.

A session is no proof of who asks. INVARIANT: each request brings its own credential, and a session is only there for
the principal that began it; to all others it does not exist.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from interpose.doors.mcp.clients.http_answers import FrameQueue
from interpose.doors.mcp.gate.contract import Client
from interpose.doors.mcp.links.frames import RequestId
from interpose.doors.mcp.links.links import LinkError

if TYPE_CHECKING:
    from interpose.doors.mcp.clients.conversation import Conversation
    from interpose.doors.mcp.gateway import Gateway

MOST_SESSIONS = 10_000
MOST_A_PRINCIPAL = 1_000
IDLE = 1800.0
"""Seconds without a request, and without a stream, after which a session is over."""
SWEEP = 60.0


class HttpSession:
    """One session: the `ClientLink` of its conversation."""

    def __init__(self, id: str, owner: str) -> None:
        self.id, self.owner = id, owner
        self.conversation: Conversation
        self.posts: dict[RequestId, FrameQueue] = {}
        """The POSTs whose answers are awaited, by the id of their request."""
        self.unasked: FrameQueue | None = None
        """What concerns no request, while the client listens."""
        self.seen = monotonic()

    @property
    def idle(self) -> float:
        """Seconds for which nothing happened."""
        return 0.0 if self.posts or self.unasked is not None else monotonic() - self.seen

    async def send(self, frame: bytes, *, answers: RequestId | None = None, during: RequestId | None = None) -> None:
        """Onto the stream of the request that it belongs to."""
        if answers is not None:
            if (queue := self.posts.pop(answers, None)) is not None:
                queue.put(frame)
                queue.end()
            self.seen = monotonic()
            return
        queue = self.posts.get(during) if during is not None else self.unasked
        if queue is None:
            raise LinkError("the client does not listen")
        await queue.room()
        queue.put(frame)

    def post(self, frame: bytes, *, during: RequestId | None = None) -> bool:
        """The same, if there is room."""
        queue = self.posts.get(during) if during is not None else self.unasked
        if queue is None or queue.full or queue.ended:
            return False
        queue.put(frame)
        return True

    def end(self) -> None:
        """All streams end."""
        for queue in (*self.posts.values(), *([self.unasked] if self.unasked else [])):
            queue.end()
        self.posts.clear()


class HttpSessions:
    """All of them."""

    def __init__(self, gateway: Gateway, clock: Callable[[], float] = monotonic) -> None:
        self._gateway, self._clock = gateway, clock
        self._sessions: dict[str, HttpSession] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, client: Client) -> HttpSession | None:
        """A new one; None if there are too many."""
        mine = [one for one in self._sessions.values() if one.owner == client.principal]
        if len(mine) >= MOST_A_PRINCIPAL or len(self._sessions) >= MOST_SESSIONS:
            oldest = max(mine, key=lambda one: one.idle, default=None)
            if oldest is None or oldest.idle == 0.0:
                return None
            self.end(oldest)
        session = HttpSession(secrets.token_urlsafe(32), client.principal)
        session.conversation = self._gateway.converse(session, client)
        self._sessions[session.id] = session
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SWEEP, self._sweep)
        return session

    def find(self, id: str, principal: str) -> HttpSession | None:
        """The session of this principal."""
        found = self._sessions.get(id)
        if found is None or found.owner != principal:
            return None
        found.seen = self._clock()
        return found

    def end(self, session: HttpSession) -> None:
        """It is over."""
        if self._sessions.pop(session.id, None) is not None:
            session.end()
            self._gateway.spawn(session.conversation.close())

    def hush(self) -> None:
        """Nobody is told anything unasked any more."""
        for session in self._sessions.values():
            if session.unasked is not None:
                session.unasked.end()

    def close(self) -> None:
        """All are over."""
        if self._timer is not None:
            self._timer.cancel()
        for session in list(self._sessions.values()):
            self.end(session)

    def _sweep(self) -> None:
        for session in [one for one in self._sessions.values() if one.idle > IDLE]:
            self.end(session)
        self._timer = asyncio.get_running_loop().call_later(SWEEP, self._sweep) if self._sessions else None
