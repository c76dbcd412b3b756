"""A server that is kept running: started, agreed with, watched, and started anew when it ends.

Whoever needs it waits while it starts; after a failure nobody waits, and it is tried again with growing pauses.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Protocol

from msgspec import Struct

from interpose.doors.mcp.gate.contract import ServerListing
from interpose.doors.mcp.links.eras import CONNECTION_CLOSED, Declared
from interpose.doors.mcp.links.exchanges import ServerQuestion
from interpose.doors.mcp.links.frames import METHOD_NOT_FOUND, RpcError
from interpose.doors.mcp.links.links import LinkError, ServerLink
from interpose.doors.mcp.links.negotiation import Negotiated, negotiate
from interpose.doors.mcp.servers.server_connection import ServerConnection
from interpose.doors.mcp.servers.server_listings import Kind, Listed, ServerListings
from interpose.doors.mcp.servers.server_watch import ServerWatch

log = logging.getLogger("interpose.gateway")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
STEADY = 60.0
"""Seconds that a server must have been up for its failures to be forgotten."""
EARLY_SECONDS, MOST_EARLY = 0.5, 16
"""How long a question waits for us to know that its server runs, and how many do."""

KIND_OF_CHANGE: Mapping[str, tuple[Kind, ...]] = {
    "notifications/tools/list_changed": ("tools",),
    "notifications/prompts/list_changed": ("prompts",),
    "notifications/resources/list_changed": ("resources", "resourceTemplates"),
}


class ServerTimes(Struct, frozen=True, kw_only=True):
    """How long things may take, in seconds."""

    start: float = 60.0
    """Until it said what it speaks."""
    probe: float = 5.0
    """Of those, until the old way is tried."""
    request: float = 300.0


class ServerHearing(Protocol):
    """Who hears of a server: the gateway."""

    def changed(self, server: str, kind: Kind, /) -> None:
        """What it shows is not what it showed."""
        ...

    def updated(self, server: str, uri: str, /) -> None:
        """A resource that somebody watches has changed."""
        ...

    def notified(self, server: str, method: str, params: dict[str, Any], /) -> None:
        """Anything else that it says unasked."""
        ...

    def asked(self, server: str, question: ServerQuestion, /) -> None:
        """It asks something outside of any call."""
        ...


class SupervisedServer:
    """One server of the configuration. See the module."""

    def __init__(
        self,
        name: str,
        connect: Callable[[], ServerLink],
        hearing: ServerHearing,
        times: ServerTimes | None = None,
        *,
        pause: Callable[[int], float] | None = None,
    ) -> None:
        """`connect` makes a new link each time; `pause` says how many seconds to wait after so many failures."""
        self.name, self._connect, self._hearing, self.times = name, connect, hearing, times or ServerTimes()
        self._pause = pause or backoff
        self._declared: asyncio.Future[Declared] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._connection: ServerConnection | None = None
        self._settled = asyncio.Event()
        """Set while it is known whether it runs: clear means that it is starting."""
        self._ended = asyncio.Event()
        self._why = "it was not started"
        self._probing = True
        self.negotiated: Negotiated | None = None
        self._early: set[asyncio.Task[None]] = set()
        self.listings = ServerListings(self)
        self.watch = ServerWatch(self)

    @property
    def declared(self) -> Declared:
        """What it was told of the client."""
        return self._declared.result()

    @property
    def running(self) -> bool:
        """Whether it answers now."""
        return self._connection is not None

    @property
    def why(self) -> str:
        """Why it does not run."""
        return "" if self.running else self._why

    @property
    def failure(self) -> str:
        """Why it does not run, if that is known; empty while it starts."""
        return self.why if self._settled.is_set() else ""

    def start(self) -> None:
        """Start it. It is agreed with when `introduce` says who is there."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    def introduce(self, declared: Declared) -> None:
        """Who asks: what the first client declared is what servers of the old era hear, once and for all."""
        if not self._declared.done():
            self._declared.set_result(declared)

    async def ready(self) -> tuple[ServerConnection, Negotiated]:
        """Its connection. Waits while it starts. Raises RpcError if it does not run."""
        if self._connection is None:
            await self._settled.wait()
        connection, negotiated = self._connection, self.negotiated
        if connection is None or negotiated is None:
            raise RpcError(CONNECTION_CLOSED, f"{self.name} does not run: {self._why}")
        return connection, negotiated

    async def listing(self, kind: Kind, *, fresh: bool = False) -> Listed:
        """What it shows. Raises RpcError."""
        return await self.listings.get(kind, fresh=fresh)

    def as_listing(self, kind: Kind, listed: Listed) -> ServerListing:
        """The same as the catalogue takes it."""
        told = self.negotiated.instructions if self.negotiated else ""
        return ServerListing(server=self.name, kind=kind, items=listed.items, instructions=told)

    async def close(self) -> None:
        """Stop it for good."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _run(self) -> None:
        failures = 0
        try:
            while True:
                self._ended = asyncio.Event()
                connection = ServerConnection(self.name, self._connect(), self, self.times.request)
                since = monotonic()
                try:
                    await self._up(connection)
                    await self._ended.wait()
                except LinkError as error:
                    self._why = str(error)
                finally:
                    was_up = self._connection is not None
                    self._connection = self.negotiated = None
                    self._settled.set()
                    await connection.close()
                failures = 0 if was_up and monotonic() - since > STEADY else failures + 1
                pause = self._pause(failures)
                log.warning(
                    "server does not run", extra={"server": self.name, "why": self._why, "again_in": round(pause, 1)}
                )
                if was_up:
                    self._all_changed()
                await asyncio.sleep(pause)
                self._settled.clear()
        finally:
            self._settled.set()

    async def _up(self, connection: ServerConnection) -> None:
        await connection.open()
        declared = await asyncio.shield(self._declared)
        probing = self._probing
        try:
            found = await self._negotiate(connection, declared, probing)
        except LinkError:
            # One that ended instead of refusing a question that it does not know is asked the old way next time.
            self._probing = not (probing and self._ended.is_set())
            raise
        self.negotiated, self._connection = found, connection
        self.listings.forget()
        self._settled.set()
        log.info("server runs", extra={"server": self.name, "era": found.era, "version": found.version})
        self._all_changed()
        self.watch.connected(connection, found)

    async def _negotiate(self, connection: ServerConnection, declared: Declared, modern: bool) -> Negotiated:
        """Agree, or notice that it ended meanwhile."""
        times = self.times
        agreeing = asyncio.ensure_future(
            negotiate(connection, declared, probe=times.probe, seconds=times.start, modern=modern)
        )
        ending = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait([agreeing, ending], return_when=asyncio.FIRST_COMPLETED)
            if agreeing.done() and not self._ended.is_set():
                return agreeing.result()
            raise LinkError(self._why)
        finally:
            ending.cancel()
            agreeing.cancel()
            await asyncio.gather(agreeing, ending, return_exceptions=True)

    def _all_changed(self) -> None:
        for kind in ("tools", "prompts", "resources"):
            self._hearing.changed(self.name, kind)

    # what the connection says

    def notified(self, method: str, params: dict[str, Any], /) -> None:
        """A notification that belongs to no request."""
        if method in KIND_OF_CHANGE:
            kinds = KIND_OF_CHANGE[method]
            for kind in kinds:
                self.listings.forget(kind)
            self._hearing.changed(self.name, kinds[0])
        elif method == "notifications/resources/updated":
            if isinstance(uri := params.get("uri"), str):
                self._hearing.updated(self.name, uri)
        elif method == "notifications/cancelled":
            self.watch.cancelled(params.get("requestId"))
        elif method != "notifications/subscriptions/acknowledged":
            self._hearing.notified(self.name, method, params)

    def asked(self, question: ServerQuestion, /) -> None:
        """A question that belongs to no request."""
        if self.negotiated is not None:
            self._hearing.asked(self.name, question)
        elif len(self._early) < MOST_EARLY:
            # It may have heard that it runs a moment before we know it ourselves.
            task = asyncio.get_running_loop().create_task(self._asked_early(question))
            self._early.add(task)
            task.add_done_callback(self._early.discard)
        else:
            question.refuse(METHOD_NOT_FOUND, "Nobody can be asked yet")

    async def _asked_early(self, question: ServerQuestion) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), EARLY_SECONDS)
        if self.negotiated is None:
            question.refuse(METHOD_NOT_FOUND, "Nobody can be asked yet")
        else:
            self._hearing.asked(self.name, question)

    def lost(self, why: str, /) -> None:
        """Its connection is gone."""
        self._why = why
        self._connection = None
        self.watch.disconnected()
        self._ended.set()


def backoff(failures: int) -> float:
    """Seconds until the next try: twice as long each time, at most a minute, and never the same for two servers."""
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(failures - 1, 10)) if failures else FIRST_PAUSE
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - a pause, no secret
