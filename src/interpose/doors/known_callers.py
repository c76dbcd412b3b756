"""Every HTTP door registers who asks: what asks for decisions is an agent, and may not answer."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.core.platforms.process_values import Ends
from interpose.doors.http_server.messages import Handler, Peer, Refusal, Request, Response, Route
from interpose.people.presence.callers import Callers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from interpose.composition.service.service import Service

_MOST_CONNECTIONS = 1024
_ASKING = ("agent", "relayed")
"""The roles of routes that agents ask at."""
_GONE = Refusal(403, "caller_gone", "the process that asks has closed its end, so it can't be identified")


class KnownCallers:
    """Registers the caller of each connection, once."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._callers: Callers | None = None
        self._seen: OrderedDict[int, Peer] = OrderedDict()
        """Connections whose caller is registered, by the peer's identity: it is kept, so that no other gets it."""

    def registering(self, routes: Iterable[Route]) -> tuple[Route, ...]:
        """The same routes. Those that agents ask at register who asks."""
        return tuple(
            replace(each, handler=self._registers(each.handler)) if each.role in _ASKING else each for each in routes
        )

    def _registers(self, handler: Handler) -> Handler:
        async def registered(request: Request) -> Response:
            await self.register(request)
            return await handler(request)

        return registered

    async def register(self, request: Request) -> None:
        """Raises Refusal for a caller on this machine that does not wait for an answer."""
        agents, peer = self._service.agents, request.peer
        if id(peer) in self._seen:
            return
        if self._callers is None:
            self._callers = Callers(agents)
        if peer.kind == "unix":
            agents.heard(peer.pid, itself=True)
        else:
            ends = Ends(peer.address, peer.port, peer.our_address, peer.our_port)
            if await asyncio.to_thread(self._callers.register, ends) == "gone":
                raise _GONE
        self._seen[id(peer)] = peer
        if len(self._seen) > _MOST_CONNECTIONS:
            self._seen.popitem(last=False)
