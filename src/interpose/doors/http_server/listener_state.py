"""What the connections of a listener share: routes, limits, and how much of them is in use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import nsmallest
from typing import Protocol

from msgspec import Struct

from interpose.core.config.settings import ServerLimits
from interpose.doors.http_server.anonymous_budget import AnonymousBudget
from interpose.doors.http_server.answer_heads import AnswerHeads
from interpose.doors.http_server.messages import RefusalPage
from interpose.doors.http_server.routing import Router
from interpose.doors.http_server.trust import Door

_MOST_BUFFERED = 64 << 20
_OWNERS_PART = 8


class Answered(Struct, frozen=True):
    """One answer, for metrics and logs. `path` is the route's own, empty for a request that was refused before it.

    `problem` is the body of an answer that is an error.
    """

    method: str
    path: str
    status: int
    elapsed_ns: int
    request_id: str = ""
    client: str = ""
    problem: bytes = b""


Observe = Callable[[Answered], None]


class OpenConnection(Protocol):
    """A connection, as far as others are concerned with it."""

    @property
    def idle_since(self) -> float | None:
        """Since when nothing is asked of us; None while something is."""

    @property
    def held(self) -> int:
        """Bytes of a body that is not whole."""

    def check(self, now: float) -> None:
        """Enforce the limits of time."""

    def overload(self) -> None:
        """Give up the body that is being read."""

    def drain(self) -> None:
        """End as soon as everything that was asked is answered."""

    def abort(self) -> None:
        """End now."""


class Endpoint:
    """One address that is listened on. Its door is replaced when trust is reloaded."""

    def __init__(self, door: Door) -> None:
        self.door = door


class Site:
    """The shared state of a listener."""

    def __init__(
        self,
        router: Router,
        limits: ServerLimits,
        observe: Observe | None = None,
        refusal_page: RefusalPage | None = None,
    ) -> None:
        self.router = router
        self.refusal_page = refusal_page
        self.limits = limits
        self.observe = observe
        self.heads = AnswerHeads()
        self.anonymous = AnonymousBudget(limits.anonymous_per_second, limits.anonymous_at_once)
        self.clients: dict[OpenConnection, bool] = {}
        """In the order in which they came, and whether each is the owner's."""
        self.draining = False
        self.deserted = asyncio.Event()
        self.most_clients = limits.max_connections
        self._most_buffered = max(_MOST_BUFFERED, 2 * limits.max_body_bytes)
        self._buffered = 0

    def enter(self, client: OpenConnection, *, owner: bool = False) -> bool:
        """Whether there is room for one more. Those that are idle for longest make room, some at a time.

        Some room is for the `owner` of the server, who connects to the Unix socket: any user of the machine can fill
        the rest. For the same reason an idle connection of the owner makes room only for another one of the owner: it
        may be one that has just connected and has not sent its request yet.
        """
        kept_free = 0 if owner else self.most_clients // _OWNERS_PART
        if len(self.clients) >= self.most_clients - kept_free:
            may_end = (found for found, owners in self.clients.items() if owner or not owners)
            idle = [(since, found) for found in may_end if (since := found.idle_since) is not None]
            for _, oldest in nsmallest(max(1, self.most_clients // 64), idle, key=_since):
                oldest.abort()
                self.clients.pop(oldest, None)
            if not idle:
                return False
        self.clients[client] = owner
        return True

    def leave(self, client: OpenConnection) -> None:
        """A client is gone."""
        self.clients.pop(client, None)
        if not self.clients:
            self.deserted.set()

    def hold(self, size: int) -> None:
        """Count bytes of bodies. When they are too many, the largest that is not whole is given up."""
        self._buffered += size
        if size > 0 and self._buffered > self._most_buffered:
            max(self.clients, key=lambda client: client.held).overload()

    def sweep(self, now: float) -> None:
        """Once in a while: the limits of time, without a timer for each request."""
        self.heads.tick()
        for client in tuple(self.clients):
            client.check(now)


def _since(pair: tuple[float, OpenConnection]) -> float:
    return pair[0]
