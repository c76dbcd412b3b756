"""Requests to one origin over connections that are kept. Environment variables for proxies are not looked at."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from functools import cache

from interpose.doors.http_client.addresses import HttpUrl, NotReachedError, Reach, addresses_of
from interpose.doors.http_client.connection import ClientConnection
from interpose.doors.http_client.exchanges import Hearer, WholeAnswer, WholeHearer

CONNECT = 15.0
"""Seconds until a connection must stand."""
MOST_CONNECTIONS = 256
MOST_IDLE = 32


@cache
def _system_trust() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


class HttpClient:
    """See the module. The origin is looked up when the client opens, and stays where it was found."""

    def __init__(self, url: HttpUrl, reach: Reach = "public", tls: ssl.SSLContext | None = None) -> None:
        """`tls`: what is trusted instead of what the system trusts."""
        self.url, self._reach, self._tls = url, reach, tls
        self._addresses: tuple[str, ...] = ()
        self._idle: deque[ClientConnection] = deque()
        self._all: set[ClientConnection] = set()
        self._connecting = 0
        self._waiting: deque[asyncio.Future[ClientConnection | None]] = deque()
        self._closed = False

    async def open(self) -> None:
        """Find it, and connect once. Raises NotReachedError."""
        self._addresses = await addresses_of(self.url, self._reach)
        connection = await self._connect()
        self._freed(connection)

    async def send(self, request: bytes, hearer: Hearer) -> ClientConnection:
        """Send a request as bytes, on a connection that is free; `hearer` hears the answer. Raises NotReachedError."""
        connection = self._free() or await self._connect()
        connection.send(request, hearer)
        return connection

    async def ask(
        self, method: str, target: str, headers: dict[str, str], body: bytes = b"", *, limit: int, seconds: float
    ) -> WholeAnswer:
        """A whole answer, of a bounded size and within a bounded time. Raises NotReachedError."""
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        hearer, connection = WholeHearer(limit), None
        try:
            async with asyncio.timeout(seconds):
                head = f"{method} {target} HTTP/1.1\r\nHost: {self.url.authority}\r\n{lines}"
                request = head.encode("latin-1") + b"Content-Length: %d\r\n\r\n" % len(body) + body
                connection = await self.send(request, hearer)
                return await hearer.done
        except TimeoutError:
            raise NotReachedError(f"{self.url.host} did not answer within {seconds:g} seconds") from None
        except ConnectionError as error:
            raise NotReachedError(f"{self.url.host}: {error}") from None
        finally:
            if connection is not None and not hearer.done.done():
                connection.abort()
            hearer.done.cancel()

    async def close(self) -> None:
        """End all connections."""
        self._closed = True
        for connection in list(self._all):
            connection.abort()
        self._idle.clear()
        while self._next(None):
            pass
        await asyncio.sleep(0)

    def _free(self) -> ClientConnection | None:
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed and now - connection.idle_since < connection.kept:
                return connection
            connection.abort()
        return None

    async def _connect(self) -> ClientConnection:
        if len(self._all) + self._connecting >= MOST_CONNECTIONS and (found := await self._turn()) is not None:
            return found
        if self._closed:
            raise NotReachedError("it was closed")
        self._connecting += 1
        try:
            connection = await self._connected()
        except BaseException:
            self._next(None)
            raise
        finally:
            self._connecting -= 1
        self._all.add(connection)
        if connection.closed or self._closed:
            connection.abort()
            self._gone(connection)
            raise NotReachedError("the connection was closed at once")
        return connection

    async def _turn(self) -> ClientConnection | None:
        """Wait for a connection that becomes free, or for room for a new one."""
        turn: asyncio.Future[ClientConnection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and not self._next(found := turn.result()) and found is not None:
                self._idle.append(found)
            raise

    def _next(self, connection: ClientConnection | None) -> bool:
        """Whether somebody waited for it."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(connection)
                return True
        return False

    async def _connected(self) -> ClientConnection:
        loop = asyncio.get_running_loop()
        why = "it has no address"
        tls = (self._tls or _system_trust()) if self.url.scheme == "https" else None
        name = self.url.host if tls is not None else None
        for address in self._addresses or await addresses_of(self.url, self._reach):
            try:
                async with asyncio.timeout(CONNECT / max(1, min(3, len(self._addresses)))):
                    # INVARIANT: to the address that was checked; the name is for its certificate alone.
                    _, connection = await loop.create_connection(
                        lambda: ClientConnection(self._freed, self._gone, loop), address, self.url.port,
                        ssl=tls, server_hostname=name,
                    )  # fmt: skip
                    return connection
            except TimeoutError:
                why = "it does not answer"
            except ssl.SSLCertVerificationError as error:
                raise NotReachedError(f"{self.url.host}: its certificate is wrong: {error.verify_message}") from None
            except OSError as error:
                why = error.strerror or str(error)
        raise NotReachedError(f"{self.url.authority} can't be connected to: {why}")

    def _freed(self, connection: ClientConnection) -> None:
        if self._closed:
            connection.abort()
        elif not self._next(connection):
            if len(self._idle) >= MOST_IDLE:
                connection.abort()
            else:
                self._idle.append(connection)

    def _gone(self, connection: ClientConnection) -> None:
        if connection in self._all:
            self._all.discard(connection)
            self._next(None)
        if connection in self._idle:
            self._idle.remove(connection)
