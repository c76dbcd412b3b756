"""The proxy put together: servers of models, the gate over a service, and a listener on loopback.

Alone it serves until it is told to stop; with a command it serves as long as that runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from interpose.core.config.settings import ServerLimits
from interpose.core.errors import ConfigError
from interpose.doors.http_server.listener import Listener, Tcp
from interpose.doors.http_server.trust import Trust, is_loopback
from interpose.doors.known_callers import KnownCallers
from interpose.doors.proxy.proxy_context import proxy_context
from interpose.doors.proxy.proxy_gate import ProxyGate
from interpose.doors.proxy.relay import ModelRelay
from interpose.doors.proxy.upstreams import Upstream, open_upstreams

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

HOST = "127.0.0.1"
LIMITS = ServerLimits(
    max_body_bytes=64 << 20, max_header_bytes=64 << 10, body_timeout=120.0, idle_timeout=300.0, max_connections=512
)
"""What a request may cost: models are sent pictures and long conversations."""
STOPS_IN = 5.0

Started = Callable[[str, Mapping[str, Upstream]], object]
"""Told the address, and the servers behind it."""


@asynccontextmanager
async def serving(
    service: Service, upstreams: Mapping[str, str], *, port: int, session: str = "", start_server: bool = True
) -> AsyncIterator[tuple[str, Mapping[str, Upstream]]]:
    """A proxy that listens. `session` is that of a command. Raises ServerError, ConfigError."""
    settings, here = service.config.proxy, os.getcwd()  # noqa: PTH109 - a text is wanted
    behind = open_upstreams(upstreams)
    gate = ProxyGate(service, wait=settings.wait, start_server=start_server)
    identify = partial(proxy_context, settings, own_session=session, cwd=here)
    relay = ModelRelay(gate, behind, identify, seconds=settings.timeout)
    routes = KnownCallers(service).registering(relay.routes())
    listener = Listener(routes, [Tcp(HOST, port)], Trust(), LIMITS, shutdown_timeout=STOPS_IN)
    await listener.start()
    try:
        address = listener.addresses[0]
        _no_circle(behind, int(address.rpartition(":")[2]))
        yield address, behind
    finally:
        await listener.stop()
        for one in behind.values():
            await one.client.close()


def _no_circle(upstreams: Mapping[str, Upstream], port: int) -> None:
    for one in upstreams.values():
        here = one.url.host == "localhost" or is_loopback(one.url.host)
        if here and one.url.port == port:
            raise ConfigError((f"upstream {one.name}: {one.base} is this proxy itself",))


async def serve_alone(service: Service, upstreams: Mapping[str, str], started: Started, *, port: int) -> None:
    """Serve until we are told to stop. Raises ServerError, ConfigError."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    async with serving(service, upstreams, port=port) as (address, behind):
        started(address, behind)
        await told.wait()


async def serve_command(
    service: Service,
    upstreams: Mapping[str, str],
    words: Sequence[str],
    environment: Callable[[str, Mapping[str, Upstream]], Mapping[str, str]],
    *,
    port: int,
    session: str,
) -> int:
    """Serve while a command runs, and give its exit code. `environment` is what it is given, made of our address.

    Raises ServerError, ConfigError; OSError if the command can't be started.
    """
    async with serving(service, upstreams, port=port, session=session) as (address, behind):
        loop, told = asyncio.get_running_loop(), _Told()
        # A key that is pressed reaches both of us: the command decides what it means, and we end when it does.
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        loop.add_signal_handler(signal.SIGQUIT, lambda: None)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, told.forward, number)
        child = await asyncio.create_subprocess_exec(*words, env=dict(environment(address, behind)))
        told.begin(child)
        code = await child.wait()
        return code if code >= 0 else 128 - code


class _Told:
    """Signals that are for the command, also those that come before it is there."""

    def __init__(self) -> None:
        self._child: asyncio.subprocess.Process | None = None
        self._early: list[int] = []

    def begin(self, child: asyncio.subprocess.Process) -> None:
        self._child = child
        for number in self._early:
            self.forward(number)

    def forward(self, number: int) -> None:
        if self._child is None:
            self._early.append(number)
        elif self._child.returncode is None:
            self._child.send_signal(number)
