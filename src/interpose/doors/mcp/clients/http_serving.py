"""The gateway as a part of an HTTP server: its routes, who is let in, and how it starts and stops."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.core.errors import InterposeError, text_of
from interpose.doors.http_server.listener import Listener, Tcp, trust_of
from interpose.doors.http_server.messages import Route
from interpose.doors.http_server.trust import Trust
from interpose.doors.known_callers import KnownCallers
from interpose.doors.mcp.clients.http_clients import HttpClients
from interpose.doors.mcp.gateway import SHARED
from interpose.doors.mcp.opening import open_gateway

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.core.config.gateway_servers import GatewayServer
    from interpose.core.config.settings import Config, ServerSettings

log = logging.getLogger("interpose.gateway")

LOOK_AGAIN = 1.0
"""Seconds between two looks at the files of tokens and certificates."""


class ServedGateway:
    """See the module. Made inside the event loop."""

    def __init__(self, service: Service, servers: Mapping[str, GatewayServer], *, version: str) -> None:
        """Raises ConfigError."""
        settings = service.config.gateway
        self._path = settings.http.path
        self._tokens = None
        if settings.oauth.issuer:
            from interpose.doors.mcp.clients.client_tokens import ClientTokens

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
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    config: Config = service.config
    gateway, where = ServedGateway(service, servers, version=version), config.gateway.http
    trust = gateway.trusting(trust_of(config.server))
    listener = Listener(
        KnownCallers(service).registering(gateway.routes()),
        [Tcp(where.host, where.port)],
        trust,
        config.server.limits,
        tls=config.server.tls,
        shutdown_timeout=config.server.shutdown_timeout,
    )
    await listener.start()
    following = asyncio.ensure_future(_follow(listener, gateway, config.server))
    try:
        gateway.start()
        started(tuple(f"{address}{where.path}" for address in listener.addresses))
        await told.wait()
    finally:
        following.cancel()
        gateway.hush()
        await listener.stop()
        await gateway.close()


async def _follow(listener: Listener, gateway: ServedGateway, settings: ServerSettings) -> None:
    """Take over tokens that were made or taken back, and certificates, when their files change."""
    files = [file for file in (settings.tokens_file, settings.tls.cert_file, settings.tls.client_ca_file) if file]
    seen = [_stamp(file) for file in files]
    while True:
        await asyncio.sleep(LOOK_AGAIN)
        if (now := [_stamp(file) for file in files]) == seen:
            continue
        seen = now
        try:
            await listener.reload(gateway.trusting(trust_of(settings)), settings.tls)
            log.info("tokens and certificates were read again")
        except InterposeError as error:
            log.error("tokens and certificates stay as they were: %s", text_of(error))


def _stamp(file: str) -> tuple[int, ...]:
    try:
        found = Path(file).stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
