"""A server over streamable HTTP: each request is a POST, and its answer comes as JSON or as a stream of events.

Both eras. The old one has a session (`Mcp-Session-Id`) and a stream for what the server says unasked; the modern one
repeats in headers what the body says, and a stream that we end is a request that we cancel. Where a principal has a
token of its own for the server, its calls go there with that token, in the old era in a session of their own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.types import EMPTY
from interpose.doors.http_client.addresses import HttpUrl, NotReachedError, Reach, redirected
from interpose.doors.http_client.client import HttpClient
from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.links.eras import CONNECTION_CLOSED
from interpose.doors.mcp.links.frames import MAX_FRAME, RequestId, notification
from interpose.doors.mcp.links.header_values import NAMED, encoded, params_of
from interpose.doors.mcp.links.http_replies import (
    GREETING,
    LONGEST_PAUSE,
    MOST_IN_BATCH,
    HttpAnswer,
    HttpTold,
    usable_session,
)
from interpose.doors.mcp.links.links import LinkError, Outgoing, ServerSide

if TYPE_CHECKING:
    from interpose.doors.mcp.servers.server_oauth import OAuthTokens

log = logging.getLogger("interpose.gateway")

SHORT = 30.0
"""Seconds for what gets no answer of its own: notifications, and answers to questions."""
GOODBYE = 2.0


class HttpPlace(Struct, frozen=True, kw_only=True):
    """Where a server is, and what it is sent besides."""

    name: str
    url: HttpUrl
    headers: Mapping[str, str] = EMPTY
    reach: Reach = "public"


class HttpLink:
    """See the module."""

    def __init__(self, place: HttpPlace, tokens: OAuthTokens | None = None) -> None:
        """`tokens`: our own for this server, if it wants any."""
        self._place, self._tokens = place, tokens
        self.url = place.url
        self._client = HttpClient(place.url, place.reach)
        self._era: Era = "handshake"
        self._version = ""
        self.sessions: dict[str, str] = {}
        """In the old era: by whose they are. Ours is under the empty name."""
        self._greeting = b""
        self._greeted: dict[str, asyncio.Lock] = {}
        self._asked_by: dict[RequestId, str] = {}
        self._open: dict[int, HttpAnswer] = {}
        self._streams: set[asyncio.Task[None]] = set()
        self._side: ServerSide
        self._gone = ""
        self._fixed = "".join(f"{name}: {value}\r\n" for name, value in place.headers.items())

    async def open(self, side: ServerSide, /) -> None:
        """Find it, and connect."""
        self._side = side
        try:
            await self._client.open()
            if self._tokens is not None:
                await self._tokens.ready()
        except NotReachedError as error:
            await self._client.close()
            raise LinkError(str(error)) from None

    def negotiated(self, era: Era, version: str, /) -> None:
        """What is said in headers from now on."""
        self._era, self._version = era, version

    async def send(self, frame: bytes, about: Outgoing, /) -> None:
        """One frame in a POST. What gets no answer of its own is waited for: its order counts."""
        if self._gone:
            raise LinkError(self._gone)
        if about.cancels is not None:
            answer = self._open.pop(about.cancels, None)
            if answer is not None:
                about = replace(about, principal=answer.about.principal)
                answer.abort()
            if self._modern(about.method):
                return
        elif about.answers is not None:
            about = replace(about, principal=self._asked_by.pop(about.answers, ""))
        if about.id is not None:
            if about.method == "initialize":
                self._greeting = frame
            answer = HttpAnswer(self, about)
            self._open[about.id] = answer
            try:
                await self.put(answer, frame)
            except BaseException:
                self._open.pop(about.id, None)
                raise
            return
        told = HttpTold(self, about)
        try:
            async with asyncio.timeout(SHORT):
                await self.put(told, frame)
                await told.done.wait()
        except TimeoutError:
            told.abort()
            raise LinkError(f"it did not take a message within {SHORT:g} seconds") from None
        if about.method == "notifications/initialized" and self.sessions.get(""):
            self._begin(self._listen())

    async def close(self) -> None:
        """End the session, and all connections."""
        self._gone = self._gone or "it was closed"
        for task in list(self._streams):
            task.cancel()
        for answer in list(self._open.values()):
            answer.abort()
        self._open.clear()
        try:
            async with asyncio.timeout(GOODBYE):
                for whose in self.sessions:
                    told = HttpTold(self, Outgoing(principal=whose))
                    await self._client.send(self.head("DELETE", told.about) + b"\r\n", told)
                    await told.done.wait()
        except (TimeoutError, NotReachedError):
            pass
        await self._client.close()

    # what exchanges call

    async def put(self, hearer: HttpAnswer | HttpTold, frame: bytes, method: str = "POST", last: str = "") -> None:
        """Send a request, and let this one hear the answer. Raises LinkError."""
        hearer.frame = frame
        await self._authorize(self.whose(hearer.about))
        head = self.head(method, hearer.about, last)
        body = b"Content-Length: %d\r\n\r\n%b" % (len(frame), frame) if method == "POST" else b"\r\n"
        try:
            hearer.connection = await self._client.send(head + body, hearer)
        except NotReachedError as error:
            self.lose(str(error))
            raise LinkError(str(error)) from None

    def head(self, method: str, about: Outgoing, last: str = "") -> bytes:
        """Everything before the body."""
        accept = "text/event-stream" if method == "GET" else "application/json, text/event-stream"
        lines = [f"{method} {self.url.target} HTTP/1.1\r\nHost: {self.url.authority}\r\nAccept: {accept}\r\n"]
        if method == "POST":
            lines.append("Content-Type: application/json\r\n")
        lines.append(self._fixed)
        if about.method != "initialize":
            if self._version:
                lines.append(f"MCP-Protocol-Version: {self._version}\r\n")
            if not self._modern(about.method) and (session := self.sessions.get(self.whose(about))):
                lines.append(f"Mcp-Session-Id: {session}\r\n")
        if about.method and self._modern(about.method):
            lines.append(f"Mcp-Method: {encoded(about.method)}\r\n")
            if about.name and about.method in NAMED:
                lines.append(f"Mcp-Name: {encoded(about.name)}\r\n")
            if about.input_schema:
                said = params_of(about.input_schema, about.arguments)
                lines += [f"{name}: {value}\r\n" for name, value in said.items()]
        if last:
            lines.append(f"Last-Event-ID: {last}\r\n")
        if self._tokens is not None and (token := self._tokens.current(self.whose(about))):
            lines.append(f"Authorization: Bearer {token}\r\n")
        return "".join(lines).encode("latin-1", "replace")

    def _modern(self, method: str) -> bool:
        """A server that is only being got to know is asked in both eras at the same time."""
        return method == "server/discover" or (self._era == "modern" and method != "initialize")

    def whose(self, about: Outgoing) -> str:
        """With whose token something goes to the server. INVARIANT: never with another principal's."""
        return self._tokens.whose(about.principal) if self._tokens is not None else ""

    async def _authorize(self, whose: str) -> None:
        if self._tokens is None:
            return
        try:
            if not self._tokens.current(whose):
                await self._tokens.ready(whose)
            if whose and self._era == "handshake" and self.sessions.get("") and whose not in self.sessions:
                await self._greet(whose)
        except NotReachedError as error:
            raise LinkError(str(error)) from None

    async def _greet(self, whose: str) -> None:
        """Begin a session of somebody's own: what we said when we began ours is said again. Raises NotReachedError."""
        async with self._greeted.setdefault(whose, asyncio.Lock()):
            if whose in self.sessions or self._tokens is None:
                return
            headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
            headers |= {**self._place.headers, "Authorization": f"Bearer {self._tokens.current(whose)}"}
            target = self.url.target
            answer = await self._client.ask("POST", target, headers, self._greeting, limit=MAX_FRAME, seconds=GREETING)
            session = answer.head.headers.get("mcp-session-id", "")
            if answer.head.status != 200 or not usable_session(session):
                raise NotReachedError(f"it began no session for this principal: HTTP {answer.head.status}")
            headers |= {"Mcp-Session-Id": session, "MCP-Protocol-Version": self._version}
            ready = notification("notifications/initialized")
            await self._client.ask("POST", target, headers, ready, limit=MAX_FRAME, seconds=SHORT)
            self.sessions[whose] = session

    def moved(self, location: str) -> bool:
        """Whether a redirect is followed: only within the same origin."""
        found = redirected(self.url, location)
        if found is not None:
            self.url = found
        return found is not None

    def refused_token(self, about: Outgoing) -> bool:
        """The token does not count any more. Whether there may be another."""
        return self._tokens is not None and self._tokens.refused(self.whose(about))

    def asked_by(self, question: RequestId, about: Outgoing) -> None:
        """The server asks during somebody's call: the answer goes the same way."""
        if (whose := self.whose(about)) and len(self._asked_by) < MOST_IN_BATCH:
            self._asked_by[question] = whose

    def session_ended(self, about: Outgoing) -> bool:
        """The server does not know a session any more. Whether it was one."""
        whose = self.whose(about)
        if whose and self.sessions.pop(whose, ""):
            return False
        if self.sessions.get(""):
            self.lose("its session ended")
            return True
        return False

    def received(self, frame: bytes, during: int | None) -> None:
        """One frame of the server."""
        if not self._gone:
            self._side.received(frame, during)

    def answered(self, id: int) -> None:
        """Nothing more is to come for this request."""
        self._open.pop(id, None)

    def lose(self, why: str) -> None:
        """The server is gone, or does not know us any more."""
        if not self._gone:
            self._gone = why
            self._side.lost(why)

    def again(
        self, answer: HttpAnswer, frame: bytes, method: str = "POST", *, last: str = "", pause: float = 0.0
    ) -> None:
        """Ask once more for the same answer."""

        async def asking() -> None:
            await asyncio.sleep(pause)
            try:
                await self.put(answer, frame, method, last)
            except LinkError as error:
                answer.fail(CONNECTION_CLOSED, str(error))

        self._begin(asking())

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._streams.add(task)
        task.add_done_callback(self._streams.discard)

    async def _listen(self) -> None:
        """What an old server says unasked: one stream, opened again when it ends, unless there is none."""
        last, pause = "", 1.0
        while not self._gone:
            stream = HttpTold(self, Outgoing(method="GET"), events=True, last=last)
            try:
                await self.put(stream, b"", "GET", last)
            except LinkError:
                return
            try:
                await stream.done.wait()
            except asyncio.CancelledError:
                stream.abort()
                raise
            if stream.status != 200 or not stream.events:
                return
            last = stream.last
            pause = 1.0 if stream.heard else min(LONGEST_PAUSE, pause * 2)
            retry = stream.events.retry
            await asyncio.sleep(pause if retry is None else min(LONGEST_PAUSE, max(0.1, retry / 1000)))
