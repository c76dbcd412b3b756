"""A server over the old transport of two addresses: a stream of events from one, and POSTs to the other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from interpose.doors.http_client.addresses import HttpUrl, NotReachedError, redirected
from interpose.doors.http_client.client import HttpClient
from interpose.doors.http_client.connection import ClientConnection
from interpose.doors.http_client.event_stream import EventSplitter, StreamEvent
from interpose.doors.http_client.exchanges import AnswerHead
from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.links.frames import MAX_FRAME
from interpose.doors.mcp.links.http_link import SHORT, HttpPlace
from interpose.doors.mcp.links.links import LinkError, Outgoing, ServerSide

if TYPE_CHECKING:
    from interpose.doors.mcp.servers.server_oauth import OAuthTokens


class SseLink:
    """See the module."""

    def __init__(self, place: HttpPlace, tokens: OAuthTokens | None = None) -> None:
        self._place, self._tokens = place, tokens
        self._client = HttpClient(place.url, place.reach)
        self._endpoint: asyncio.Future[HttpUrl]
        self._stream: ClientConnection | None = None
        self._side: ServerSide
        self._gone = ""

    async def open(self, side: ServerSide, /) -> None:
        """Open the stream, and wait until it says where to send."""
        self._side = side
        self._endpoint = asyncio.get_running_loop().create_future()
        try:
            await self._client.open()
            if self._tokens is not None:
                await self._tokens.ready()
            async with asyncio.timeout(SHORT):
                request = self._head("GET", self._place.url, "Accept: text/event-stream\r\n") + b"\r\n"
                self._stream = await self._client.send(request, _Events(self))
                await self._endpoint
        except NotReachedError as error:
            await self.close()
            raise LinkError(str(error)) from None
        except TimeoutError:
            await self.close()
            raise LinkError(f"it did not say where to send within {SHORT:g} seconds") from None
        except ConnectionError as error:
            await self.close()
            raise LinkError(str(error)) from None

    def negotiated(self, era: Era, version: str, /) -> None:
        """This transport has no header for it."""

    async def send(self, frame: bytes, about: Outgoing, /) -> None:  # noqa: ARG002 - of the protocol
        """One frame in a POST, which is answered on the stream."""
        if self._gone:
            raise LinkError(self._gone)
        try:
            answer = await self._client.ask(
                "POST", self._endpoint.result().target, self._headers(), frame, limit=MAX_FRAME, seconds=SHORT
            )
        except NotReachedError as error:
            raise LinkError(str(error)) from None
        if answer.head.status >= 300:
            raise LinkError(f"it did not take a message: HTTP {answer.head.status}")

    async def close(self) -> None:
        """End all connections."""
        self._gone = self._gone or "it was closed"
        await self._client.close()
        if self._endpoint.done() and not self._endpoint.cancelled():
            self._endpoint.exception()

    def _headers(self) -> dict[str, str]:
        made = {"Content-Type": "application/json", **self._place.headers}
        if self._tokens is not None and (token := self._tokens.current()):
            made["Authorization"] = f"Bearer {token}"
        return made

    def _head(self, method: str, url: HttpUrl, more: str) -> bytes:
        lines = "".join(f"{name}: {value}\r\n" for name, value in self._headers().items() if name != "Content-Type")
        return f"{method} {url.target} HTTP/1.1\r\nHost: {url.authority}\r\n{more}{lines}".encode("latin-1", "replace")

    # the stream

    def event(self, event: StreamEvent) -> None:
        """One event of the stream."""
        if event.kind == "message":
            if not self._gone:
                self._side.received(event.data, None)
        elif event.kind == "endpoint" and not self._endpoint.done():
            # INVARIANT: what a server names can't send us, and our token, to anybody else.
            found = redirected(self._place.url, event.data.decode("utf-8", "replace"))
            if found is None:
                self._endpoint.set_exception(ConnectionError("it wants messages to be sent to another place"))
            else:
                self._endpoint.set_result(found)

    def ended(self, why: str) -> None:
        """The stream is no more."""
        if not self._endpoint.done():
            self._endpoint.set_exception(ConnectionError(why))
        elif not self._gone:
            self._gone = why
            self._side.lost(why)


class _Events:
    def __init__(self, link: SseLink) -> None:
        self._link = link
        self._events = EventSplitter(link.event, MAX_FRAME)
        self._wrong = ""

    def begun(self, head: AnswerHead, /) -> None:
        if head.status != 200 or head.media_type != "text/event-stream":
            self._wrong = f"there is no stream of events (HTTP {head.status})"

    def piece(self, data: bytes, /) -> Any:
        if self._wrong:
            raise ValueError(self._wrong)
        self._events.feed(data)

    def ended(self, why: str, /) -> None:
        self._link.ended(self._wrong or why or "it ended its stream")
