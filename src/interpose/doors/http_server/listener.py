"""Where the server listens, from the first connection to the last answer.

listener = Listener(routes, [Tcp("127.0.0.1", 8080)], trust)
await listener.start()
...
await listener.stop()      # every request that was accepted is answered
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import select
import socket
import ssl
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from interpose.core.config.settings import ServerLimits, ServerSettings, TlsSettings
from interpose.core.errors import ServerError
from interpose.doors.http_server.connection import Connection
from interpose.doors.http_server.listener_state import Endpoint, Observe, Site
from interpose.doors.http_server.messages import RefusalPage, Routes
from interpose.doors.http_server.routing import Router
from interpose.doors.http_server.tls import tls_context
from interpose.doors.http_server.tokens import open_tokens
from interpose.doors.http_server.trust import Door, Trust, is_loopback, make_trust
from interpose.doors.http_server.unix_socket import UnixSocket

T = TypeVar("T")
log = logging.getLogger("interpose.http")

BACKLOG = 1024
OWN_FILES = 256
"""Files that are kept for ourselves when the process may open few: the ledger, the store, the log."""
GRACE = 0.25
"""Seconds without a request until a connection counts as idle at a stop; its client may be about to send one."""


class Tcp(Struct, frozen=True):
    """A TCP address. Port 0 takes any that is free."""

    host: str
    port: int = 0


class Unix(Struct, frozen=True):
    """A Unix socket: its owner's alone, or for the group of its directory, too."""

    path: str
    for_group: bool = False


Address = Tcp | Unix


class _Bound:
    """One socket that is listened on. `server` is replaced when certificates are."""

    def __init__(self, sock: socket.socket, endpoint: Endpoint, url: str, unix: UnixSocket | None = None) -> None:
        self.socket = sock
        self.endpoint = endpoint
        self.url = url
        self.unix = unix
        self.server: asyncio.AbstractServer | None = None

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
        if self.unix is not None:
            self.unix.close()
        self.socket.close()


class Listener:
    """A server on some addresses."""

    def __init__(
        self,
        routes: Routes,
        where: Sequence[Address],
        trust: Trust,
        limits: ServerLimits | None = None,
        *,
        tls: TlsSettings | None = None,
        shutdown_timeout: float = 10.0,
        observe: Observe | None = None,
        refusal_page: RefusalPage | None = None,
    ) -> None:
        """`observe` is told of every answer; it must be quick and must not raise. `refusal_page` makes what a browser
        shows of a refusal; without it all refusals are JSON."""
        self._where = tuple(where)
        self._trust = trust
        self._tls = tls or TlsSettings()
        self._shutdown_timeout = shutdown_timeout
        self._site = Site(Router(routes), limits or ServerLimits(), observe, refusal_page)
        self._bound: list[_Bound] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it can be reached: `http://127.0.0.1:8080`, `unix:/run/user/1000/interpose/api.sock`."""
        return tuple(bound.url for bound in self._bound)

    @property
    def web_addresses(self) -> tuple[str, ...]:
        """Where a browser of this machine reaches it."""
        found = (bound.url for bound in self._bound if bound.unix is None)
        return tuple(url.replace("://0.0.0.0:", "://127.0.0.1:").replace("://[::]:", "://[::1]:") for url in found)

    @property
    def trust(self) -> Trust:
        """Whom it trusts now."""
        return self._trust

    @property
    def local(self) -> bool:
        """Whether this machine alone can reach it."""
        return all(bound.endpoint.door.loopback for bound in self._bound)

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._site.clients)

    async def start(self) -> None:
        """Bind and listen on all addresses, or on none: ServerError says which can't be used."""
        self._loop = asyncio.get_running_loop()
        self._site.most_clients = _room_for(self._site.limits.max_connections)
        context = tls_context(self._tls)
        try:
            for address in self._where:
                match address:
                    case Tcp():
                        self._bound += _bind_tcp(address, self._trust, self._tls)
                    case Unix():
                        self._bound.append(_bind_unix(address, self._trust))
            for bound in self._bound:
                bound.server = await self._listen(bound, context)
        except BaseException:
            self._close()
            self._bound.clear()
            raise
        self._sweep()

    async def listen_also(self, address: Tcp) -> None:
        """One more address, while it runs. ServerError says why it can't be used."""
        added = _bind_tcp(address, self._trust, self._tls)
        try:
            for bound in added:
                bound.server = await self._listen(bound, tls_context(self._tls))
        except BaseException:
            for bound in added:
                bound.close()
            raise
        self._bound += added

    async def reload(self, trust: Trust, tls: TlsSettings | None = None) -> None:
        """Take over other trust and certificates. Connections stay; their next request meets the new trust.

        If the certificates can't be used, ServerError is raised and everything stays as it was.
        """
        tls = tls or self._tls
        context = self.check_reload(trust, tls)
        for bound in self._bound:
            door = bound.endpoint.door
            bound.endpoint.door = Door(trust, door.scheme, door.port, loopback=door.loopback)
            if context is not None and bound.unix is None:
                # The new one takes from the same queue before the old one stops: no connection is refused between.
                old, bound.server = bound.server, await self._listen(bound, context)
                if old is not None:
                    old.close()
        self._trust, self._tls = trust, tls

    def check_reload(self, trust: Trust, tls: TlsSettings) -> ssl.SSLContext | None:
        """The certificates that a reload would take over. ServerError says why it would fail."""
        context = tls_context(tls)
        if (context is None) != (not self._tls.cert_file):
            raise ServerError("server.tls: TLS can't be switched on or off without a restart")
        for bound in self._bound:
            if bound.unix is None:
                _check_reach(bound.endpoint.door.loopback, bound.url, trust, tls)
        return context

    async def stop(self) -> None:
        """Accept no more, answer what was accepted, and end. What takes longer than the timeout is cut off."""
        self._site.draining = True
        await self._empty_queues()
        self._close()
        await _turns()  # read what has arrived already
        try:
            async with asyncio.timeout(self._shutdown_timeout):
                await self._drain()
        except TimeoutError:
            log.warning("%d connections were cut off at the stop", self.connections)
        for client in tuple(self._site.clients):
            client.abort()
        await _turns()
        self._bound.clear()  # it may be stopped once more, by the one who started it
        if self._timer is not None:
            self._timer.cancel()

    async def _empty_queues(self) -> None:
        """Accept who is in a queue already: closing the socket would cut them off."""
        queues = select.poll()
        for bound in self._bound:
            queues.register(bound.socket, select.POLLIN)
        for _ in range(BACKLOG):
            await _turns()
            if not queues.poll(0):
                return

    async def _drain(self) -> None:
        while self._site.clients:
            now = self._loop.time()
            for client in tuple(self._site.clients):
                if client.idle_since is not None and now - client.idle_since >= GRACE:
                    client.drain()
            self._site.deserted.clear()
            if not self._site.clients:
                return
            try:
                await asyncio.wait_for(self._site.deserted.wait(), GRACE / 4)
            except TimeoutError:
                pass

    async def _listen(self, bound: _Bound, context: ssl.SSLContext | None) -> asyncio.AbstractServer:
        def connection() -> Connection:
            return Connection(self._site, bound.endpoint, self._loop)

        copy = bound.socket.dup()
        if bound.unix is not None:
            return await self._loop.create_unix_server(connection, sock=copy, backlog=BACKLOG)
        handshake = self._site.limits.header_timeout if context is not None else None
        return await self._loop.create_server(
            connection, sock=copy, backlog=BACKLOG, ssl=context, ssl_handshake_timeout=handshake
        )

    def _close(self) -> None:
        for bound in self._bound:
            bound.close()

    def _sweep(self) -> None:
        limits = self._site.limits
        self._site.sweep(self._loop.time())
        pause = min(1.0, limits.header_timeout / 4, limits.body_timeout / 4, limits.idle_timeout / 4)
        self._timer = self._loop.call_later(pause, self._sweep)


def addresses_of(server: ServerSettings) -> tuple[Address, ...]:
    """The addresses that are configured."""
    return (Tcp(server.host, server.port), *([Unix(server.socket)] if server.socket else []))


def trust_of(server: ServerSettings) -> Trust:
    """The trust that is configured. The tokens file is made if it is not there."""
    own = [server.public_url] if server.public_url else []  # whoever comes by the address that we give away
    return make_trust(
        allowed_hosts=(*server.allowed_hosts, *(address.partition("://")[2] for address in own)),
        allowed_origins=(*server.allowed_origins, *own),
        trusted_proxies=server.trusted_proxies,
        loopback=server.loopback,
        tokens=open_tokens(Path(server.tokens_file)) if server.tokens_file else None,
    )


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a server's coroutine on the fastest event loop that is there."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(main)


def _bind_tcp(address: Tcp, trust: Trust, tls: TlsSettings) -> list[_Bound]:
    """All sockets of a host: `localhost` may have two. They share one port."""
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
    except OSError as error:
        raise ServerError(f"{address.host}: can't listen here: {error.strerror}") from None
    names = {(family, name[0]): name for family, _, _, _, name in found}
    loopback = all(is_loopback(str(host)) for _, host in names)
    scheme = "https" if tls.cert_file else "http"
    _check_reach(loopback, f"{address.host}:{address.port}", trust, tls)
    bound: list[_Bound] = []
    port = address.port
    try:
        for (family, host), name in names.items():
            sock = _bind(family, (host, port, *name[2:]))
            port = sock.getsockname()[1]
            shown = f"[{host}]" if family == socket.AF_INET6 else host
            endpoint = Endpoint(Door(trust, "https" if tls.cert_file else "http", port, loopback=loopback))
            bound.append(_Bound(sock, endpoint, f"{scheme}://{shown}:{port}"))
    except BaseException:
        for made in bound:
            made.close()
        raise
    return bound


def _bind(family: int, name: tuple[Any, ...]) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(name)
    except OSError as error:
        sock.close()
        taken = "; stop what listens there, or choose another port" if error.errno == errno.EADDRINUSE else ""
        raise ServerError(f"{name[0]}:{name[1]}: can't listen here: {error.strerror}{taken}") from None
    return sock


def _bind_unix(address: Unix, trust: Trust) -> _Bound:
    unix = UnixSocket(Path(address.path), for_group=address.for_group)
    return _Bound(unix.socket, Endpoint(Door(trust, "http", 0, loopback=True)), f"unix:{address.path}", unix)


def _check_reach(loopback: bool, where: str, trust: Trust, tls: TlsSettings) -> None:
    if loopback or tls.client_ca_file or (trust.tokens is not None and trust.tokens.entries):
        return
    raise ServerError(
        f"{where}: other machines can reach this address, and nothing says who may ask: set server.tokens_file or "
        "server.tls.client_ca_file, or listen on 127.0.0.1"
    )


def _room_for(connections: int) -> int:
    """How many connections the process can have open: its limit is raised as far as that is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + OWN_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - OWN_FILES, min(connections, allowed // 2))


async def _turns() -> None:
    """Let the event loop look at its sockets, more than once: an accepted one is read in a later turn."""
    for _ in range(4):
        await asyncio.sleep(0)
