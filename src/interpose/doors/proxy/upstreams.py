"""The servers of models: where each is, and one request to it.

INVARIANT: there is no way to any other place. Names come from the configuration, and what a request says behind a name
is a path there.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping

from msgspec import Struct

from interpose.core.errors import ConfigError
from interpose.doors.http_client.addresses import HttpUrl, NotReachedError, Reach, parse_url
from interpose.doors.http_client.client import HttpClient
from interpose.doors.http_client.connection import ClientConnection
from interpose.doors.http_client.exchanges import AnswerHead

DEFAULTS: Mapping[str, str] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com",
}
MOST_UNREAD = 1 << 20
"""Bytes of an answer that wait for the agent to read; then the model's server has to wait."""
_TRIES = 3


class UpstreamBrokeError(Exception):
    """A model's server went away in the middle of its answer. The text says how."""


class Upstream(Struct, frozen=True):
    """One server. `base` is what the user wrote, without a last slash."""

    name: str
    base: str
    url: HttpUrl
    client: HttpClient

    def local(self, address: str) -> str:
        """Its address here: our own, its name, and the path that the user wrote."""
        return f"{address}/{self.name}{self.url.target.rstrip('/')}"


def open_upstreams(addresses: Mapping[str, str]) -> dict[str, Upstream]:
    """The servers of these addresses. Raises ConfigError."""
    found: dict[str, Upstream] = {}
    for name, address in addresses.items():
        try:
            url = parse_url(address)
        except ValueError as error:
            raise ConfigError((f"upstream {name}: {error}",)) from None
        # A person wrote it down. A name may lead into a private network, but never to where clouds keep credentials.
        reach: Reach = "named" if url.named else "private"
        found[name] = Upstream(name, address.rstrip("/"), url, HttpClient(url, reach))
    return found


class UpstreamAnswer:
    """Hears one answer. `head` and `pieces` wait for it, and raise if it does not come."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._head: asyncio.Future[AnswerHead] = self._loop.create_future()
        self._more = asyncio.Event()
        self._pieces: deque[bytes] = deque()
        self._unread = 0
        self._why: str | None = None
        self.connection: ClientConnection | None = None

    # the connection calls these

    def begun(self, head: AnswerHead, /) -> None:
        """The head is there."""
        if not self._head.done():
            self._head.set_result(head)

    def piece(self, data: bytes, /) -> None:
        """A part of the body."""
        self._pieces.append(data)
        self._unread += len(data)
        if self._unread > MOST_UNREAD and self.connection is not None:
            self.connection.pause()
        self._more.set()

    def ended(self, why: str, /) -> None:
        """Nothing more comes."""
        self._why = why
        if not self._head.done():
            self._head.set_exception(ConnectionError(why or "there was no answer"))
        self._more.set()

    # who relays calls these

    async def head(self) -> AnswerHead:
        """The first lines. Raises ConnectionError, TimeoutError."""
        async with asyncio.timeout(self._seconds):
            return await asyncio.shield(self._head)

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises UpstreamBrokeError."""
        while True:
            while self._pieces:
                data = self._pieces.popleft()
                self._unread -= len(data)
                if self._unread <= MOST_UNREAD // 2 and self.connection is not None:
                    self.connection.resume()
                yield data
            if self._why is not None:
                if self._why:
                    raise UpstreamBrokeError(self._why)
                return
            self._more.clear()
            try:
                async with asyncio.timeout(self._seconds):
                    await self._more.wait()
            except TimeoutError:
                raise UpstreamBrokeError(f"not a byte came for {self._seconds:g} seconds") from None

    def close(self) -> None:
        """Nobody wants the rest."""
        if self._why is None and self.connection is not None:
            self.connection.abort()
        if self._head.done() and not self._head.cancelled():
            self._head.exception()  # it was looked at


async def ask(client: HttpClient, request: bytes, seconds: float) -> tuple[AnswerHead, UpstreamAnswer]:
    """Send a request and wait for the first lines of its answer. Raises NotReachedError.

    A kept connection may be ended by the server just when it is used again: then another is taken.
    """
    for attempt in range(_TRIES):
        answer = UpstreamAnswer(seconds)
        try:
            answer.connection = await client.send(request, answer)
            return await answer.head(), answer
        except ConnectionError as error:
            used = answer.connection is not None and answer.connection.used > 1
            answer.close()
            if not used or attempt == _TRIES - 1:
                raise NotReachedError(f"{client.url.host}: {error}") from None
        except TimeoutError:
            answer.close()
            raise NotReachedError(f"{client.url.host} did not answer within {seconds:g} seconds") from None
        except BaseException:
            answer.close()
            raise
    raise NotReachedError(f"{client.url.host} can't be asked")
