"""Where hooks are answered: a Unix socket for whoever can open one, and a loopback port for shells that can't.

Any user of the machine can connect to a port, and can take one that a killed server left. So `hook.addr`, which only
its owner can read, holds two secrets: the token shows us who asks, the proof shows the client that it is us who answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
from pathlib import Path
from time import gmtime, strftime
from typing import TYPE_CHECKING

from interpose.core.config.settings import ServerLimits
from interpose.core.errors import ServerError, text_of
from interpose.doors.hooks.clients.client_files import address_file, notes_directory
from interpose.doors.hooks.clients.on_demand import start_lock
from interpose.doors.hooks.clients.programs.socket_client import stalled_file
from interpose.doors.http_server.listener import Listener, Tcp, Unix
from interpose.doors.http_server.messages import Request, Response, Route, Routes
from interpose.doors.http_server.tokens import Token, Tokens, digest_of
from interpose.doors.http_server.trust import Trust
from interpose.doors.known_callers import KnownCallers
from interpose.doors.server.asked_notes import AskedNotes
from interpose.doors.server.hook_routes import routes
from interpose.doors.server.twin_events import TwinEvents

if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.composition.service.service import Service
    from interpose.doors.http_server.listener_state import Answered, Observe

log = logging.getLogger("interpose.hooks")

LOOPBACK = "127.0.0.1"
LARGEST_EVENT = 64 << 20
"""Bytes. Results of tools are part of events."""

_RETIRE = b"POST /retire HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_RETIRING_SECONDS = 15.0
_TENDING_SECONDS = 5.0


class HookListener:
    """Answers hooks from `start` to `stop`.

    `retire` is called when nobody asks any more, or when a server that a person started wants this one's place. One
    that has no `retire` stays.
    """

    def __init__(
        self,
        service: Service,
        *,
        observe: Observe | None = None,
        retire: Callable[[], object] | None = None,
        is_busy: Callable[[], bool] = lambda: False,
        more: Routes = (),
        tokens: Tokens | None = None,
    ) -> None:
        """`more` routes are answered on the Unix socket, too, also for `tokens`: a server that a hook started has no
        other.

        As long as it `is_busy` elsewhere, it does not retire because no hook comes.
        """
        self._settings = service.config.hooks
        self._observe, self._retire, self._is_busy = observe, retire, is_busy
        self._service = service
        self._file = address_file(self._settings.socket)
        self._token, self._proof = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        limits = ServerLimits(max_body_bytes=LARGEST_EVENT)
        own = (Route("POST", "/retire", self._on_retire, "agent", "Make room for another server"),) if retire else ()
        twins = TwinEvents()
        self._unix = Listener(
            (*routes(service, twins=twins), *own, *more),
            [Unix(self._settings.socket)],
            Trust(tokens=tokens),
            limits,
            observe=self._answered,
        )
        token = Token("hook", "agent", digest_of(self._token))
        self._tcp = Listener(
            KnownCallers(service).registering(routes(service, self._proof, twins)),
            [Tcp(LOOPBACK, self._settings.port)],
            Trust(tokens=Tokens((token,)), loopback="closed"),
            limits,
            observe=self._answered,
        )
        self._heard = 0.0
        self._tending: asyncio.Task[None] | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it listens."""
        return self._unix.addresses + self._tcp.addresses

    async def start(self) -> None:
        """Listen, or ServerError says why that can't be."""
        self._heard = asyncio.get_running_loop().time()
        try:
            await self._unix.start()
        except ServerError:
            if self._retire is not None or not await _agrees_to_retire(self._settings.socket):
                raise
            await self._start_after(asyncio.get_running_loop().time() + _RETIRING_SECONDS)
        try:
            await self._listen_on_port()
            self._write_address()
            Path(stalled_file(self._settings.socket)).unlink(missing_ok=True)  # that was about another
            AskedNotes(notes_directory(self._settings.socket)).clear()
        except BaseException:
            await self.stop()
            raise
        self._tending = asyncio.get_running_loop().create_task(self._tend())

    async def reload(self, tokens: Tokens | None) -> None:
        """Take over other tokens."""
        await self._unix.reload(Trust(tokens=tokens))

    async def _listen_on_port(self) -> None:
        try:
            await self._tcp.start()
        except ServerError as error:
            raise ServerError(f"hooks.port: {text_of(error)}. Choose another port, or 0 for any free one") from None

    async def _start_after(self, deadline: float) -> None:
        """Listen as soon as the other has ended."""
        while True:
            try:
                return await self._unix.start()
            except ServerError:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        """Answer what was accepted, and end."""
        if self._tending is not None:
            self._tending.cancel()
        if self._unix.addresses:
            self._file.unlink(missing_ok=True)  # under the lock of the socket: it is ours
        await self._tcp.stop()
        await self._unix.stop()

    def _write_address(self) -> None:
        """Say where the port is. INVARIANT: whoever reads the file sees all of it, and nobody else can read it."""
        port = self._tcp.addresses[0].rpartition(":")[2]
        said = f"{port} {os.getpid()} {self._token} {self._proof}\n".encode("ascii")
        draft = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        try:
            draft.unlink(missing_ok=True)
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.write(handle, said)
            finally:
                os.close(handle)
            draft.replace(self._file)
        except OSError as error:
            raise ServerError(f"{self._file}: can't be written: {error.strerror}") from None

    async def _tend(self) -> None:
        loop, socket = asyncio.get_running_loop(), self._settings.socket
        while self._retire is None or self._service.awaited or loop.time() < self._heard + self._settings.idle_timeout:
            await asyncio.sleep(min(_TENDING_SECONDS, self._settings.idle_timeout / 4))
            self._answer_again()
            if self._is_busy():
                self._heard = loop.time()
            elif self._retire is not None and not self._service.awaited and not start_lock(socket).exists():
                break  # its directory was removed, be it while it started: the next hook starts another server
            try:
                if not self._file.exists() or not self._file.stat().st_size:
                    self._write_address()
            except (OSError, ServerError) as error:
                log.warning("hooks can't use the port: %s", error)
        self._retire()

    def _answer_again(self) -> None:
        """A client that waited in vain notes it, so that others don't wait, too. We are here, or here again."""
        noted = Path(stalled_file(self._settings.socket))
        try:
            since = noted.stat().st_mtime
            noted.unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("hooks don't ask this server: %s: %s", noted, error.strerror)
            return
        log.warning(
            "this server gave a hook no answer in time at %s; hooks were decided without it until now",
            strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(since)),
        )

    def _answered(self, answer: Answered) -> None:
        self._heard = asyncio.get_running_loop().time()
        if self._observe is not None:
            self._observe(answer)

    async def _on_retire(self, _request: Request) -> Response:
        assert self._retire is not None  # noqa: S101 - the route is there only then
        self._retire()
        return Response(204)


async def _agrees_to_retire(path: str) -> bool:
    """Ask whoever listens on a socket to make room. False if there is nobody, or one that stays."""
    try:
        async with asyncio.timeout(_RETIRING_SECONDS):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                writer.write(_RETIRE)
                return (await reader.readline()).startswith(b"HTTP/1.1 204 ")
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return False
