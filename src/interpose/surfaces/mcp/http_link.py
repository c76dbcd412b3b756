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

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from interpose.surfaces.http_client.addresses import HttpUrl, Reach, UnreachableError, redirected
from interpose.surfaces.http_client.client import HttpClient
from interpose.surfaces.http_client.connection import ClientConnection
from interpose.surfaces.http_client.event_stream import EventSplitter, StreamEvent
from interpose.surfaces.http_client.exchanges import AnswerHead
from interpose.surfaces.mcp.contract import Era
from interpose.surfaces.mcp.eras import CONNECTION_CLOSED
from interpose.surfaces.mcp.frames import INTERNAL_ERROR, MAX_FRAME, METHOD_NOT_FOUND, RequestId, failure, notification
from interpose.surfaces.mcp.header_values import NAMED, encoded, params_of
from interpose.surfaces.mcp.links import LinkError, Outgoing, ServerSide
from interpose.types import EMPTY

if TYPE_CHECKING:
    from interpose.surfaces.mcp.server_oauth import OAuthTokens

log = logging.getLogger("interpose.gateway")

SHORT = 30.0
"""Seconds for what gets no answer of its own: notifications, and answers to questions."""
GREETING = 120.0
"""Seconds for `initialize` and `server/discover`, which nobody may cancel."""
GOODBYE = 2.0
AFTER_ANSWER = 5.0
"""Seconds from an answer until its stream must have ended."""
MOST_REDIRECTS = 3
MOST_RESUMED = 5
"""How often the stream of one answer is taken up again without anything new in it."""
LONGEST_PAUSE = 30.0
MOST_IN_BATCH = 1000


class HttpPlace(Struct, frozen=True, kw_only=True):
    """Where a server is, and what it is sent besides."""

    name: str
    url: HttpUrl
    headers: Mapping[str, str] = EMPTY
    reach: Reach = "public"


class _Glance(Struct):
    """Enough of a frame to see whether it is the answer."""

    id: RequestId | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


_glance = msgspec.json.Decoder(_Glance)


def glanced(frame: bytes) -> _Glance | None:
    """What a frame is; None if it is none."""
    try:
        return _glance.decode(frame)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


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
        self._open: dict[int, _Answer] = {}
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
        except UnreachableError as error:
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
            answer = _Answer(self, about)
            self._open[about.id] = answer
            try:
                await self.put(answer, frame)
            except BaseException:
                self._open.pop(about.id, None)
                raise
            return
        told = _Told(self, about)
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
                    told = _Told(self, Outgoing(principal=whose))
                    await self._client.send(self.head("DELETE", told.about) + b"\r\n", told)
                    await told.done.wait()
        except (TimeoutError, UnreachableError):
            pass
        await self._client.close()

    # what exchanges call

    async def put(self, hearer: _Answer | _Told, frame: bytes, method: str = "POST", last: str = "") -> None:
        """Send a request, and let this one hear the answer. Raises LinkError."""
        hearer.frame = frame
        await self._authorize(self.whose(hearer.about))
        head = self.head(method, hearer.about, last)
        body = b"Content-Length: %d\r\n\r\n%b" % (len(frame), frame) if method == "POST" else b"\r\n"
        try:
            hearer.connection = await self._client.send(head + body, hearer)
        except UnreachableError as error:
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
        except UnreachableError as error:
            raise LinkError(str(error)) from None

    async def _greet(self, whose: str) -> None:
        """Begin a session of somebody's own: what we said when we began ours is said again. Raises UnreachableError."""
        async with self._greeted.setdefault(whose, asyncio.Lock()):
            if whose in self.sessions or self._tokens is None:
                return
            headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
            headers |= {**self._place.headers, "Authorization": f"Bearer {self._tokens.current(whose)}"}
            target = self.url.target
            answer = await self._client.ask("POST", target, headers, self._greeting, limit=MAX_FRAME, seconds=GREETING)
            session = answer.head.headers.get("mcp-session-id", "")
            if answer.head.status != 200 or not _usable(session):
                raise UnreachableError(f"it began no session for this principal: HTTP {answer.head.status}")
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

    def again(self, answer: _Answer, frame: bytes, method: str = "POST", *, last: str = "", pause: float = 0.0) -> None:
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
            stream = _Told(self, Outgoing(method="GET"), events=True, last=last)
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


class _Told:
    """The hearer of a POST that gets no answer of its own, and of the stream of what a server says unasked."""

    def __init__(self, link: HttpLink, about: Outgoing, *, events: bool = False, last: str = "") -> None:
        self.link, self.about, self.frame = link, about, b""
        self.connection: ClientConnection | None = None
        self.done = asyncio.Event()
        self.status, self.heard, self.last = 0, 0, last
        self.events = EventSplitter(self._event, MAX_FRAME) if events else None
        self._size = 0

    def begun(self, head: AnswerHead, /) -> None:
        self.status = head.status
        if head.status == 404 and self.about.method and self.about.method != "GET":
            self.link.session_ended(self.about)
        if self.events is not None and (head.status != 200 or head.media_type != "text/event-stream"):
            self.events = None

    def piece(self, data: bytes, /) -> None:
        if self.events is not None:
            self.events.feed(data)
            return
        self._size += len(data)
        if self._size > MAX_FRAME:
            raise ValueError("it answers a message at length")

    def _event(self, event: StreamEvent) -> None:
        self.heard += 1
        self.last = event.id
        if event.kind == "message":
            self.link.received(event.data, None)

    def ended(self, why: str, /) -> None:  # noqa: ARG002 - of the protocol
        self.connection = None
        self.done.set()

    def abort(self) -> None:
        if self.connection is not None:
            self.connection.abort()


class _Answer:
    """The hearer of a request: it is answered once, by the server or by us."""

    def __init__(self, link: HttpLink, about: Outgoing) -> None:
        assert about.id is not None  # noqa: S101 - a request
        self.link, self.about, self.id, self.frame = link, about, about.id, b""
        self.connection: ClientConnection | None = None
        self._head: AnswerHead | None = None
        self._events: EventSplitter | None = None
        self._parts: list[bytes] = []
        self._size = self._redirects = self._resumed = self._tried = 0
        self._heard = False
        self._done = False
        self._timer: asyncio.TimerHandle | None = None
        if about.method in ("initialize", "server/discover"):
            self._limit(GREETING)

    def abort(self) -> None:
        """Nobody waits for it."""
        self._finished()
        if self.connection is not None:
            self.connection.abort()

    def fail(self, code: int, why: str) -> None:
        """There is no answer: this is it."""
        if not self._done:
            self._finished()
            self.link.answered(self.id)
            self.link.received(failure(self.id, code, why), self.id)

    # the connection calls these

    def begun(self, head: AnswerHead, /) -> None:
        self._head, self._parts, self._size = head, [], 0
        self._events = None
        if self.about.method == "initialize" and head.status == 200:
            if (session := head.headers.get("mcp-session-id", "")) and not _usable(session):
                raise ValueError("its session id can't be used")
            self.link.sessions = {"": session} if session else {}
        if head.status == 200 and head.media_type == "text/event-stream":
            self._events = EventSplitter(self._event, MAX_FRAME)

    def piece(self, data: bytes, /) -> None:
        if self._events is not None:
            self._events.feed(data)
            return
        self._size += len(data)
        if self._size > MAX_FRAME:
            raise ValueError(f"its answer has more than {MAX_FRAME} bytes")
        self._parts.append(data)

    def ended(self, why: str, /) -> None:
        self.connection = None  # it may be another's from now on
        if self._done:
            self._stop_timer()
            return
        head = self._head
        if why and self._events is None:
            self.fail(CONNECTION_CLOSED, why)
        elif self._events is not None:
            self._interrupted(why)
        elif head is None:
            self.fail(CONNECTION_CLOSED, "there was no answer")
        elif head.status == 200:
            self._whole(b"".join(self._parts))
        else:
            self._refused(head, b"".join(self._parts))

    def _whole(self, body: bytes) -> None:
        frames = [body]
        if body.lstrip()[:1] == b"[":
            try:
                frames = [bytes(one) for one in msgspec.json.decode(body, type=list[Raw])[:MOST_IN_BATCH]]
            except (msgspec.DecodeError, RecursionError):
                frames = []
        for frame in frames:
            self._frame(frame)
        if not self._done:
            what = self._head.media_type if self._head else ""
            self.fail(INTERNAL_ERROR, f"it answered with something that is no answer ({what[:80]})")

    def _event(self, event: StreamEvent) -> None:
        self._heard = True
        if event.kind == "message" and not self._done:
            self._frame(event.data)

    def _frame(self, frame: bytes) -> None:
        seen = glanced(frame)
        if seen is not None and seen.method is not UNSET and isinstance(seen.id, int | str):
            self.link.asked_by(seen.id, self.about)
        if seen is not None and seen.method is UNSET and type(seen.id) is int and seen.id == self.id:
            self._finished()
            self.link.answered(self.id)
            if self._events is not None:
                self._limit(AFTER_ANSWER)
        self.link.received(frame, self.id)

    def _interrupted(self, why: str) -> None:
        """A stream ended before the answer. An old server may have told how it is taken up again."""
        events = self._events
        assert events is not None  # noqa: S101 - it is one
        self._resumed = 0 if self._heard else self._resumed + 1
        self._heard = False
        if not events.last_id or self._resumed > MOST_RESUMED or not self.link.sessions:
            self.fail(CONNECTION_CLOSED, f"its stream ended without an answer{f': {why}' if why else ''}")
            return
        last, pause = events.last_id, min(LONGEST_PAUSE, max(0.05, (events.retry or 1000) / 1000))
        if not last.isprintable() or not last.isascii():
            self.fail(CONNECTION_CLOSED, "its stream can't be taken up again")
            return
        self.link.again(self, self.frame, "GET", last=last, pause=pause)

    def _refused(self, head: AnswerHead, body: bytes) -> None:
        status = head.status
        if status in (307, 308) and self._redirects < MOST_REDIRECTS:
            self._redirects += 1
            location = head.headers.get("location", "")
            if self.link.moved(location):
                self.link.again(self, self.frame)
                return
        if 300 <= status < 400:
            where = head.headers.get("location", "")[:200]
            self.fail(CONNECTION_CLOSED, f"it wants us to go to {where!r}, another place, which is not followed")
            return
        if status == 401 and not self._tried and self.link.refused_token(self.about):
            self._tried = 1
            self.link.again(self, self.frame)
            return
        if status == 404 and self.about.method != "server/discover" and self.link.session_ended(self.about):
            return
        said = _error_in(body) if head.media_type == "application/json" else None
        if said is not None:
            self._finished()
            self.link.answered(self.id)
            self.link.received(msgspec.json.encode({"jsonrpc": "2.0", "id": self.id, "error": said}), self.id)
        elif status == 404 and self.about.method != "initialize":
            self.fail(METHOD_NOT_FOUND, "Not found")
        else:
            self.fail(CONNECTION_CLOSED, f"it answered with HTTP {status}{_HINTS.get(status, '')}")

    def _finished(self) -> None:
        self._done = True
        self._stop_timer()

    def _limit(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._late)

    def _late(self) -> None:
        self.fail(CONNECTION_CLOSED, "it did not answer in time")
        if self.connection is not None:
            self.connection.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


_HINTS = {
    401: ": it wants a token; see docs/gateway-http.md",
    403: ": our token does not count there",
    405: ": an old server may need `transport: sse`",
}


def _error_in(body: bytes) -> Raw | None:
    seen = glanced(body)
    return seen.error if seen is not None and isinstance(seen.error, Raw) else None


def _usable(session: str) -> bool:
    return 0 < len(session) <= 1024 and session.isascii() and session.isprintable()
