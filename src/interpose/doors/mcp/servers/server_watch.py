"""What is watched at one server: its lists always, and the resources that clients subscribed to.

An old server tells of its lists by itself and takes `resources/subscribe`; a modern one tells what its one
`subscriptions/listen` names, so that is opened anew when another resource is wanted.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from interpose.doors.mcp.links.eras import meta_for
from interpose.doors.mcp.links.exchanges import ServerExchange
from interpose.doors.mcp.links.frames import INTERNAL_ERROR, RpcError
from interpose.doors.mcp.links.negotiation import Negotiated
from interpose.doors.mcp.servers.server_connection import ServerConnection

if TYPE_CHECKING:
    from interpose.doors.mcp.servers.supervised_server import SupervisedServer

MAX_WATCHED = 1000
"""Resources that are watched at one server."""
AGAIN_AFTER = 5.0
"""Seconds until a stream that ended is opened again."""


class ServerWatch:
    """See the module."""

    def __init__(self, server: SupervisedServer) -> None:
        self._server = server
        self._wanted: Counter[str] = Counter()
        self._connection: ServerConnection | None = None
        self._task: asyncio.Task[None] | None = None
        self._listening: ServerExchange | None = None
        self._changed = asyncio.Event()

    def connected(self, connection: ServerConnection, negotiated: Negotiated) -> None:
        """It runs: watch it."""
        self._connection = connection
        self._changed = asyncio.Event()
        work = self._listen(connection) if negotiated.era == "modern" else self._subscribe_all(connection)
        self._task = asyncio.ensure_future(work)

    def disconnected(self) -> None:
        """It is gone: what was wanted is asked for again when it comes back."""
        self._connection = self._listening = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def want(self, uri: str) -> None:
        """Somebody wants to hear of this resource. Raises RpcError."""
        if uri not in self._wanted and len(self._wanted) >= MAX_WATCHED:
            raise RpcError(INTERNAL_ERROR, f"{MAX_WATCHED} resources are watched at {self._server.name} already")
        self._wanted[uri] += 1
        if self._wanted[uri] > 1:
            return
        try:
            connection, _ = await self._server.ready()
            if connection.era == "modern":
                self._changed.set()
            else:
                await connection.request("resources/subscribe", {"uri": uri})
        except BaseException:
            self._wanted[uri] -= 1
            if not self._wanted[uri]:
                del self._wanted[uri]
            raise

    async def unwant(self, uri: str) -> None:
        """Nobody of those who wanted it wants it any more, or one less."""
        if uri not in self._wanted:
            return
        self._wanted[uri] -= 1
        if self._wanted[uri] > 0:
            return
        del self._wanted[uri]
        if (connection := self._connection) is not None:
            if connection.era == "modern":
                self._changed.set()
            else:
                try:
                    await connection.request("resources/unsubscribe", {"uri": uri})
                except RpcError:
                    pass  # it tells of something that nobody hears: no harm

    def cancelled(self, id: Any) -> None:
        """The server ended a stream."""
        if self._listening is not None and self._listening.id == id:
            self._listening.settle(RpcError(INTERNAL_ERROR, "the server ended its stream"))

    async def _subscribe_all(self, connection: ServerConnection) -> None:
        for uri in list(self._wanted):
            try:
                await connection.request("resources/subscribe", {"uri": uri})
            except RpcError:
                continue

    async def _listen(self, connection: ServerConnection) -> None:
        """Keep one stream open, for what is wanted now."""
        while True:
            self._changed.clear()
            wanted: dict[str, Any] = {
                "toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True
            }  # fmt: skip
            if self._wanted:
                wanted["resourceSubscriptions"] = list(self._wanted)
            meta = meta_for({}, self._server.declared, connection.era, connection.version)
            before = self._listening
            try:
                self._listening = await connection.begin(
                    "subscriptions/listen", {"notifications": wanted}, meta, seconds=0
                )
            except RpcError:
                return
            if before is not None:
                connection.cancel(before, "another stream took its place")
            ending = asyncio.ensure_future(self._listening.outcome())
            changing = asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait([ending, changing], return_when=asyncio.FIRST_COMPLETED)
            finally:
                changing.cancel()
                if not ending.done():
                    ending.cancel()
            if ending.done() and not ending.cancelled():
                connection.forget(self._listening)
                self._listening = None
                error = ending.exception()
                if isinstance(error, RpcError) and error.code != INTERNAL_ERROR:
                    return  # it has no streams
                await asyncio.sleep(AGAIN_AFTER)
