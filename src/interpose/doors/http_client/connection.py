"""One connection: a request at a time, its answer told piece by piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import httptools

from interpose.doors.http_client.exchanges import AnswerHead, Hearer

MOST_HEADERS = 100
LARGEST_HEAD = 64 * 1024
UNREAD = 30.0
"""Seconds that a server may take to read a request."""


class ClientConnection(asyncio.Protocol):
    """See the module. `idle` is called when it can be used again, `gone` when it never can."""

    def __init__(
        self, idle: Callable[[ClientConnection], None], gone: Callable[[ClientConnection], None], loop: Any
    ) -> None:
        self._idle, self._gone, self._loop = idle, gone, loop
        self._hearer: Hearer | None = None
        self._parser: Any = None
        self._transport: asyncio.Transport
        self._unread: asyncio.TimerHandle | None = None
        self._head_size = self._fields = 0
        self._headers: dict[str, str] = {}
        self._lines: list[tuple[str, str]] = []
        self._closes = self._final = self._paused = False
        self.closed = False
        self.used = 0
        self.idle_since = loop.time()
        self.kept = 4.0
        """Seconds for which its server keeps it. Many end it after five, and whoever asks just then is lost."""

    # The pool calls these.

    def send(self, request: bytes, hearer: Hearer) -> None:
        """Ask. It is free."""
        self._hearer = hearer
        self._parser = httptools.HttpResponseParser(self)
        self._final = False
        self.used += 1
        self._transport.write(request)

    def pause(self) -> None:
        """Read no more for now: whoever hears the answer has enough."""
        if not self.closed and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if not self.closed and self._paused:
            self._paused = False
            self._transport.resume_reading()

    def abort(self) -> None:
        """End it now."""
        self._finish("it was given up")
        if not self.closed:
            self._transport.abort()

    # The transport calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It stands."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of an answer. What nobody asked for ends it: it would be taken for the answer to the next request."""
        if self._hearer is None:
            self._transport.abort()
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._break("it wants to speak another protocol")
        except httptools.HttpParserCallbackError as error:
            self._break(str(error.__context__ or error))
        except httptools.HttpParserError as error:
            self._break(f"it does not speak HTTP/1.1: {error}")

    def eof_received(self) -> bool:
        """It sends no more. A body without a length ends here."""
        if self._hearer is not None and self._final and self._closes and not self._sized():
            self._finish("")
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """It is no more."""
        self.closed = True
        self._finish(f"the connection broke: {error}" if error else "the connection was closed")
        self._stop_timer()
        self._gone(self)

    def pause_writing(self) -> None:
        """It does not read."""
        if self._unread is None:
            self._unread = self._loop.call_later(UNREAD, self._break, f"it has not read for {UNREAD:g} seconds")

    def resume_writing(self) -> None:
        """It reads again."""
        self._stop_timer()

    # The parser calls these.

    def on_message_begin(self) -> None:
        """The first byte of an answer."""
        self._headers, self._lines, self._head_size, self._fields = {}, [], 0, 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer, which counts alike."""
        self._head_size += len(name) + len(value)
        self._fields += 1
        if self._fields > MOST_HEADERS or self._head_size > LARGEST_HEAD:
            raise ValueError("its head is too large")
        if not self._final:
            key, text = name.lower().decode("latin-1"), value.decode("latin-1").strip()
            self._lines.append((name.decode("latin-1"), text))
            self._headers[key] = f"{self._headers[key]}, {text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        """The head is whole."""
        status = self._parser.get_status_code()
        if status < 200:
            if status == 101:
                raise ValueError("it wants to speak another protocol")
            return  # more is to come
        if self._headers.get("content-encoding", "identity").lower() != "identity":
            raise ValueError("it sends a coding that nobody asked for")
        self._final = True
        self._closes = not self._parser.should_keep_alive()
        if (
            seconds := self._headers.get("keep-alive", "").lower().partition("timeout=")[2].partition(",")[0]
        ).isdigit():
            self.kept = min(60.0, max(0.0, int(seconds[:4]) - 1.0))
        if self._hearer is not None:
            self._hearer.begun(AnswerHead(status, self._headers, tuple(self._lines)))

    def on_body(self, part: bytes) -> None:
        """A part of the body."""
        if self._hearer is not None:
            self._hearer.piece(part)

    def on_message_complete(self) -> None:
        """The answer is whole."""
        if not self._final:
            return  # that was a 100 Continue
        closes = self._closes or self.closed
        self._finish("")
        if closes:
            self._transport.close()
        else:
            self.resume()
            self.idle_since = self._loop.time()
            self._idle(self)

    def _sized(self) -> bool:
        return "content-length" in self._headers or "transfer-encoding" in self._headers

    def _break(self, why: str) -> None:
        self._finish(why)
        self._transport.abort()

    def _finish(self, why: str) -> None:
        hearer, self._hearer = self._hearer, None
        if hearer is not None:
            hearer.ended(why)

    def _stop_timer(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
