"""Bytes to requests. The parser knows HTTP's grammar; this knows what of it we take, and how much.

Whatever makes two readers of the same bytes see different requests is refused: two lengths, a length beside chunks,
other codings, a header that may stand once and stands twice.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Protocol

import httptools
from msgspec import Struct

from interpose.core.config.settings import ServerLimits
from interpose.doors.http_server.messages import Refusal

MOST_HEADERS = 100
LONGEST_TARGET = 8192
FEW_PIECES = 1024
SMALL_PIECE = 64
"""A body may come in this many pieces of any size; beyond that they must be larger on average. Each of them costs."""

_ONCE = frozenset({
    "host", "origin", "authorization", "content-type", "content-length", "transfer-encoding", "expect", "x-request-id",
    "sec-fetch-site",
})  # fmt: skip
_NAMES: dict[bytes, str] = {
    spelling: name.lower()
    for name in (
        "Host", "User-Agent", "Accept", "Accept-Encoding", "Connection", "Content-Type", "Content-Length",
        "Authorization", "X-Request-ID", "X-Maybe-Dont-Client-ID", "Prefer",
    )
    for spelling in (name.encode(), name.lower().encode())
}  # fmt: skip


class Phase(Enum):
    """What is read next. After ENDED nothing is."""

    WAITING = auto()
    HEAD = auto()
    BODY = auto()
    ENDED = auto()


class RequestHead(Struct):
    """Everything before the body. `modern` is HTTP/1.1."""

    method: str
    target: bytes
    headers: dict[str, str]
    modern: bool
    keep_alive: bool
    has_body: bool
    fields: tuple[tuple[str, str], ...] = ()
    """The headers as they were written, one by one."""


class Sink(Protocol):
    """Who takes what was read."""

    def admit(self, head: RequestHead, /) -> None:
        """Look at a head. Raises Refusal if its body need not be read."""

    def deliver(self, body: bytes, /) -> None:
        """The body of the head that was admitted last."""

    def refuse(self, refusal: Refusal, /) -> None:
        """Nothing more is read."""

    def hold(self, size: int, /) -> None:
        """So many bytes of a body are kept (or let go, if negative)."""


class Reader:
    """The reading side of one connection. `since` is when its phase began, `held` what it keeps of a body."""

    def __init__(self, sink: Sink, limits: ServerLimits, clock: Callable[[], float]) -> None:
        self._sink = sink
        self._limits = limits
        self._clock = clock
        self._parser: httptools.HttpRequestParser | None = httptools.HttpRequestParser(self)
        self._begun = 0
        self._upgrading = False
        self._repeating = False
        self._clear()
        self.phase = Phase.WAITING
        self.since = clock()
        self.held = 0

    def feed(self, data: bytes) -> None:
        """Read some bytes."""
        phase, begun = self.phase, self._begun
        self._parse(data)
        if self.phase is phase and self._begun == begun and phase is not Phase.ENDED:
            # The parser tells of headers and trailers only when they are whole; until then it keeps them.
            self._unfinished += len(data)
            if phase is Phase.HEAD and self._unfinished > self._limits.max_header_bytes:
                self._refuse(self._head_too_large())
            elif phase is Phase.BODY and self._unfinished > self._limits.max_body_bytes + self._limits.max_header_bytes:
                self._refuse(self._body_too_large())

    def overdue(self, now: float) -> bool:
        """Whether a request takes too long to come."""
        match self.phase:
            case Phase.HEAD:
                return now - self.since > self._limits.header_timeout
            case Phase.BODY:
                return now - self.since > self._limits.body_timeout
            case Phase.WAITING | Phase.ENDED:
                return False

    def end(self) -> None:
        """Read no more."""
        self.phase = Phase.ENDED
        self.since = self._clock()
        self._let_go()

    def close(self) -> None:
        """The connection is gone."""
        self.end()
        self._parser = None  # it holds our methods, and we hold it

    def _parse(self, data: bytes | memoryview) -> None:
        while data and self._parser is not None and self.phase is not Phase.ENDED:
            data = self._parse_until_upgrade(self._parser, data)

    def _parse_until_upgrade(self, parser: httptools.HttpRequestParser, data: bytes | memoryview) -> bytes | memoryview:
        """What is left after a head that asks for another protocol."""
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self.phase is not Phase.ENDED:
                self._ignore_upgrade()
            return memoryview(data)[upgrade.args[0] :]
        except httptools.HttpParserCallbackError as error:
            self._refuse(Refusal(500, "internal_error", "the request could not be read"))
            raise (error.__context__ or error) from None
        except httptools.HttpParserError as error:
            if self.phase is not Phase.ENDED:
                self._refuse(Refusal(400, "bad_request", f"this is no HTTP/1.1 request: {error}"))
        return b""

    def _ignore_upgrade(self) -> None:
        """We stay with HTTP/1.1, which the parser does not foresee: a new one is told what body is to come."""
        if "transfer-encoding" in self._headers:
            framing = b"Transfer-Encoding: chunked"
        else:
            framing = b"Content-Length: " + self._headers.get("content-length", "0").encode("ascii")
        self._parser = httptools.HttpRequestParser(self)
        self._upgrading = False
        self._repeating = True
        self._parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n\r\n")

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        if self.phase is Phase.ENDED or self._repeating:
            return
        self._clear()
        self._begun += 1
        self._enter(Phase.HEAD)

    def on_url(self, part: bytes) -> None:
        """A part of the target."""
        if self.phase is Phase.ENDED or self._repeating:
            return
        self._target += part
        if len(self._target) > LONGEST_TARGET:
            self._refuse(Refusal(414, "target_too_long", f"a target has at most {LONGEST_TARGET} bytes"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header. After the body it is a trailer, which nobody asked for, and which counts like any other."""
        if self.phase is Phase.ENDED or self._repeating:
            return
        self._fields += 1
        self._head_bytes += len(name) + len(value) + 4
        if self._fields > MOST_HEADERS or self._head_bytes > self._limits.max_header_bytes:
            self._refuse(self._head_too_large())
            return
        if self.phase is not Phase.HEAD:
            return
        key = _NAMES.get(name) or name.lower().decode("ascii")
        text = value.decode("latin-1").rstrip(" \t")
        self._lines.append((name, text))
        if key in self._headers:
            if key in _ONCE or key.startswith("mcp-"):
                self._refuse(Refusal(400, "bad_request", f"the header {key} stands twice"))
                return
            text = f"{self._headers[key]}, {text}"
        self._headers[key] = text

    def on_headers_complete(self) -> None:
        """The head is whole."""
        if self._repeating:
            self._repeating = False
            return
        if self.phase is Phase.ENDED:
            return
        self._enter(Phase.BODY)
        try:
            head = self._head()
            self._keep_alive = head.keep_alive
            self._sink.admit(head)
        except Refusal as refusal:
            self._refuse(refusal)

    def on_body(self, part: bytes) -> None:
        """A part of the body."""
        if self.phase is Phase.ENDED:
            return
        self._parts.append(part)
        self.held += len(part)
        self._sink.hold(len(part))
        if self.held > self._limits.max_body_bytes:
            self._refuse(self._body_too_large())
        elif len(self._parts) > FEW_PIECES and self.held < len(self._parts) * SMALL_PIECE:
            self._refuse(Refusal(400, "bad_request", "the body comes in too many small pieces"))

    def on_message_complete(self) -> None:
        """The body is whole."""
        if self.phase is Phase.ENDED or self._upgrading:
            return
        body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self.held = 0  # who takes the body holds it from now on
        self._enter(Phase.WAITING if self._keep_alive else Phase.ENDED)
        self._sink.deliver(body)

    def _head(self) -> RequestHead:
        assert self._parser is not None  # noqa: S101 - it is the one that calls
        version = self._parser.get_http_version()
        if version not in {"1.1", "1.0"}:
            raise Refusal(505, "version_not_supported", "only HTTP/1.1 and HTTP/1.0 are spoken here")
        coding = self._headers.get("transfer-encoding")
        if coding is not None and (coding.lower() != "chunked" or version == "1.0"):
            raise Refusal(501, "coding_not_supported", "a body may be chunked, and has no other coding")
        if self._headers.get("expect", "100-continue").lower() != "100-continue":
            raise Refusal(417, "expectation_failed", "only 100-continue can be expected")
        method = self._parser.get_method().decode("ascii")
        if method == "CONNECT":
            raise Refusal(405, "method_not_allowed", "there are no tunnels here")
        length = int(self._headers.get("content-length", "0"))
        if length > self._limits.max_body_bytes:
            raise self._body_too_large()
        self._upgrading = self._parser.should_upgrade()
        modern = version == "1.1"
        return RequestHead(
            method=method,
            target=self._target,
            headers=self._headers,
            modern=modern,
            keep_alive=modern and self._parser.should_keep_alive(),
            has_body=coding is not None or length > 0,
            fields=tuple((name.decode("ascii"), text) for name, text in self._lines),
        )

    def _enter(self, phase: Phase) -> None:
        self.phase = phase
        self.since = self._clock()
        self._unfinished = 0

    def _clear(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._lines: list[tuple[bytes, str]] = []
        self._fields = 0
        self._head_bytes = 0
        self._unfinished = 0
        self._parts: list[bytes] = []
        self._keep_alive = False

    def _refuse(self, refusal: Refusal) -> None:
        self.end()
        self._sink.refuse(refusal)

    def _let_go(self) -> None:
        self._parts.clear()
        self._sink.hold(-self.held)
        self.held = 0

    def _head_too_large(self) -> Refusal:
        limits = f"{MOST_HEADERS} headers and {self._limits.max_header_bytes} bytes"
        return Refusal(431, "head_too_large", f"the head of a request has at most {limits}")

    def _body_too_large(self) -> Refusal:
        return Refusal(413, "body_too_large", f"a body has at most {self._limits.max_body_bytes} bytes")
