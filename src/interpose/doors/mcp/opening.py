"""The gateway put together: servers of the configuration, the gate over a service, the pins, and one client or many."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from interpose.core.config.gateway_servers import GatewayServer
from interpose.core.config.server_variables import filled
from interpose.core.errors import ConfigError
from interpose.core.types import EMPTY, Context
from interpose.doors.mcp.clients.stdio_client import StdioClient
from interpose.doors.mcp.gate.contract import Client, Era
from interpose.doors.mcp.gate.gate import McpGate
from interpose.doors.mcp.gate.gate_context import client_context
from interpose.doors.mcp.gate.pins import PinnedCatalogue
from interpose.doors.mcp.gateway import Behind, Gateway
from interpose.doors.mcp.links.child_link import ChildLink, ServerProgram
from interpose.doors.mcp.links.eras import Declared, text_of
from interpose.doors.mcp.links.frames import RequestId
from interpose.doors.mcp.links.links import LinkError, Outgoing, ServerLink, ServerSide
from interpose.doors.mcp.servers.supervised_server import ServerTimes
from interpose.record.pins.definitions import connection_of

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.doors.http_client.addresses import Reach

DRAIN = 30.0
"""Seconds that requests under way have to end after the client closed its side."""


def open_gateway(
    service: Service, servers: Mapping[str, GatewayServer], *, version: str = "", transparent: bool = False
) -> Gateway:
    """A gateway before these servers. `transparent`: it is its one server, to its client. Inside the event loop."""
    there = {name: server for name, server in servers.items() if server.enabled}
    settings, here = service.config.gateway, os.getcwd()  # noqa: PTH109 - a text is wanted

    def identify(client: Client, declared: Declared, meta: Mapping[str, Any], id: RequestId) -> Context:
        return client_context(
            settings, meta=meta, principal=client.principal, token_session=client.context.session_id,
            client=text_of(declared.info.get("name")), cwd=here, request_id=str(id)[:64],
            headers={"traceparent": client.traceparent} if client.traceparent else EMPTY,
        )  # fmt: skip

    connections = {
        name: connection_of(
            command=one.command, args=one.args, env={} if transparent else one.env, cwd=one.cwd, url=one.url,
            headers=one.headers, transport=one.transport if one.url else "",
        )
        for name, one in there.items()
    }  # fmt: skip
    return Gateway(
        [_behind(name, one, transparent=transparent) for name, one in there.items()],
        McpGate(service),
        # Who wraps a command configures no server: each command line is one of its own, with the client's environment.
        PinnedCatalogue(service.pins, connections, mode=settings.pins, by_command=transparent),
        version=version, transparent=transparent, search=settings.search, identify=identify,
    )  # fmt: skip


def _behind(name: str, server: GatewayServer, *, transparent: bool) -> Behind:
    prefix = "" if transparent else name if server.prefix is None else server.prefix
    times = ServerTimes(start=server.start_timeout, request=server.timeout)
    # What a client gave to a server that it wrapped is no text of a configuration, and nothing is filled in.
    connect = link_of(name, server, None if transparent else os.environ)
    return Behind(name=name, connect=connect, prefix=prefix, times=times, methods=server.methods)


def link_of(name: str, server: GatewayServer, environ: Mapping[str, str] | None) -> Callable[[], ServerLink]:
    """What connects to a server: called anew for each connection. `environ` fills in its variables. Raises ConfigError
    if the address is none, unless variables have to make it one."""
    made = _http_link(name, server) if server.url and (environ is None or not _has_variables(server)) else None

    def connect() -> ServerLink:
        nonlocal made
        if made is None:
            try:
                ready = server if environ is None else filled(server, environ)
                made = _http_link(name, ready) if ready.url else _child_link(name, ready)
            except (ValueError, ConfigError) as error:
                return UnreadyLink(str(error))
        return made()

    return connect


def _has_variables(server: GatewayServer) -> bool:
    return b"${" in msgspec.json.encode(server)


def _child_link(name: str, server: GatewayServer) -> Callable[[], ServerLink]:
    program = ServerProgram(name=name, command=server.command, args=server.args, env=server.env, cwd=server.cwd)
    return lambda: ChildLink(program)


class UnreadyLink:
    """To a server that can't be started as it is configured. The others run."""

    def __init__(self, why: str) -> None:
        self._why = why

    async def open(self, _side: ServerSide, /) -> None:
        """Says why."""
        raise LinkError(self._why)

    async def send(self, _frame: bytes, _about: Outgoing, /) -> None:
        """Says why."""
        raise LinkError(self._why)

    def negotiated(self, era: Era, version: str, /) -> None:
        """Nobody to agree with."""

    async def close(self) -> None:
        """Nothing was opened."""


def _http_link(name: str, server: GatewayServer) -> Callable[[], ServerLink]:
    from interpose.doors.http_client.addresses import parse_url
    from interpose.doors.mcp.links.http_link import HttpLink, HttpPlace
    from interpose.doors.mcp.links.sse_link import SseLink

    try:
        url = parse_url(server.url)
    except ValueError as error:
        raise ConfigError((f"gateway.servers.{name}.url: {error}",)) from None
    # A name may lead anywhere tomorrow; an address in numbers, or this machine, is what a person wrote down.
    reach: Reach = "named" if url.named else "private" if server.private else "public"
    place = HttpPlace(name=name, url=url, headers=server.headers, reach=reach)
    tokens = None
    if server.oauth is not None:
        from interpose.doors.mcp.servers.server_oauth import open_tokens

        tokens = open_tokens(name, server.url, server.oauth)
    made = SseLink if server.transport == "sse" else HttpLink
    return lambda: made(place, tokens)


async def serve_stdio(gateway: Gateway, reads: int, writes: int) -> None:
    """Serve the client on these two descriptors until it goes, or until we are told to stop."""
    client = StdioClient()
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, told.set)
    gateway.start()
    conversation = gateway.converse(client, Client())
    await client.connect(reads, writes, conversation)
    waiting = [asyncio.ensure_future(one.wait()) for one in (client.ended, told)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if not told.is_set() and not client.gone:
        draining = asyncio.ensure_future(conversation.drained(DRAIN))
        leaving = asyncio.ensure_future(client.left.wait())
        await asyncio.wait([draining, leaving, waiting[1]], return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        draining.cancel()
    await gateway.close()
    await client.flush()
    client.close()
    for task in waiting:
        task.cancel()
