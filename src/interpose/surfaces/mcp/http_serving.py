"""The gateway as an HTTP server: who is let in, where it listens, and how it stops."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.surfaces.http_server.listener import Listener, Tcp, trust_of
from interpose.surfaces.mcp.gateway import SHARED, Gateway
from interpose.surfaces.mcp.http_clients import HttpClients

if TYPE_CHECKING:
    from interpose.config.settings import Config
    from interpose.surfaces.mcp.client_tokens import ClientTokens


async def serve_http(gateway: Gateway, config: Config, started: Callable[[tuple[str, ...]], object]) -> None:
    """Serve clients until we are told to stop. `started` is told the addresses. Raises ServerError."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, told.set)
    settings, trust = config.gateway.http, trust_of(config.server)
    issued: ClientTokens | None = None
    if config.gateway.oauth.issuer:
        from interpose.surfaces.mcp.client_tokens import ClientTokens

        issued = ClientTokens(config.gateway.oauth)
        trust = replace(trust, verify=issued.caller, challenge=issued.challenge)
    clients = HttpClients(gateway, trust.challenge)
    listener = Listener(
        (*clients.routes(settings.path), *(issued.routes(settings.path) if issued else ())),
        [Tcp(settings.host, settings.port)], trust, config.server.limits, tls=config.server.tls,
        shutdown_timeout=config.server.shutdown_timeout,
    )  # fmt: skip
    await listener.start()
    try:
        if issued is not None:
            issued.start()
        gateway.start(SHARED)
        started(tuple(f"{address}{settings.path}" for address in listener.addresses))
        await told.wait()
    finally:
        clients.hush()
        await listener.stop()
        clients.sessions.close()
        if issued is not None:
            await issued.close()
        await gateway.close()
