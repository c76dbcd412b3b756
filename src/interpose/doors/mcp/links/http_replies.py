"""What comes back over HTTP for one frame that we sent: an answer, or that there is none, and either once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from interpose.doors.http_client.connection import ClientConnection
from interpose.doors.http_client.event_stream import EventSplitter, StreamEvent
from interpose.doors.http_client.exchanges import AnswerHead
from interpose.doors.mcp.links.eras import CONNECTION_CLOSED
from interpose.doors.mcp.links.frames import INTERNAL_ERROR, MAX_FRAME, METHOD_NOT_FOUND, RequestId, failure
from interpose.doors.mcp.links.links import Outgoing

if TYPE_CHECKING:
    from interpose.doors.mcp.links.http_link import HttpLink

GREETING = 120.0
"""Seconds for `initialize` and `server/discover`, which nobody may cancel."""
AFTER_ANSWER = 5.0
"""Seconds from an answer until its stream must have ended."""
MOST_REDIRECTS = 3
MOST_RESUMED = 5
"""How often the stream of one answer is taken up again without anything new in it."""
LONGEST_PAUSE = 30.0
MOST_IN_BATCH = 1000


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


class HttpTold:
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


class HttpAnswer:
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
            if (session := head.headers.get("mcp-session-id", "")) and not usable_session(session):
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
    401: ": it wants a token; see `interpose help gateway-http`",
    403: ": our token does not count there",
    405: ": an old server may need `transport: sse`",
}


def _error_in(body: bytes) -> Raw | None:
    seen = glanced(body)
    return seen.error if seen is not None and isinstance(seen.error, Raw) else None


def usable_session(session: str) -> bool:
    return 0 < len(session) <= 1024 and session.isascii() and session.isprintable()
