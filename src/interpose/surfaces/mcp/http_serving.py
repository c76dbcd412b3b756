"""The gateway as a part of an HTTP server: its routes, who is let in, and how it starts and stops."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.surfaces.http_server.listener import Listener, Tcp, trust_of
from interpose.surfaces.http_server.messages import Route
from interpose.surfaces.http_server.trust import Trust
from interpose.surfaces.mcp.gateway import SHARED
from interpose.surfaces.mcp.http_clients import HttpClients
from interpose.surfaces.mcp.opening import open_gateway

if TYPE_CHECKING:
    from interpose.config.gateway_servers import GatewayServer
    from interpose.config.settings import Config
    from interpose.service.service import Service


class ServedGateway:
    """See the module. Made inside the event loop."""

    def __init__(self, service: Service, servers: Mapping[str, GatewayServer], *, version: str) -> None:
        """Raises ConfigError."""
        settings = service.config.gateway
        self._path = settings.http.path
        self._tokens = None
        if settings.oauth.issuer:
            from interpose.surfaces.mcp.client_tokens import ClientTokens

            self._tokens = ClientTokens(settings.oauth)
        self._gateway = open_gateway(service, servers, version=version)
        self._clients = HttpClients(self._gateway, self._tokens.challenge if self._tokens else Trust().challenge)

    def trusting(self, trust: Trust) -> Trust:
        """The same trust, and in the issuer of tokens if there is one."""
        if self._tokens is None:
            return trust
        return replace(trust, verify=self._tokens.caller, challenge=self._tokens.challenge)

    def routes(self) -> tuple[Route, ...]:
        """Where clients come."""
        return (*self._clients.routes(self._path), *(self._tokens.routes(self._path) if self._tokens else ()))

    def start(self) -> None:
        """Start the servers."""
        if self._tokens is not None:
            self._tokens.start()
        self._gateway.start(SHARED)

    def hush(self) -> None:
        """The end begins: what would never end by itself ends."""
        self._clients.hush()

    async def close(self) -> None:
        """All that was asked is answered: stop the servers."""
        self._clients.sessions.close()
        if self._tokens is not None:
            await self._tokens.close()
        await self._gateway.close()


async def serve_http(
    service: Service,
    servers: Mapping[str, GatewayServer],
    started: Callable[[tuple[str, ...]], object],
    *,
    version: str,
) -> None:
    """Serve clients until we are told to stop. `started` is told the addresses. Raises ServerError, ConfigError."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, told.set)
    config: Config = service.config
    gateway, where = ServedGateway(service, servers, version=version), config.gateway.http
    trust = gateway.trusting(trust_of(config.server))
    listener = Listener(
        gateway.routes(),
        [Tcp(where.host, where.port)],
        trust,
        config.server.limits,
        tls=config.server.tls,
        shutdown_timeout=config.server.shutdown_timeout,
    )
    await listener.start()
    try:
        gateway.start()
        started(tuple(f"{address}{where.path}" for address in listener.addresses))
        await told.wait()
    finally:
        gateway.hush()
        await listener.stop()
        await gateway.close()
