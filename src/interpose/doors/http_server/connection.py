"""One connection: requests are answered in the order in which they came.

Everything that can be refused by the head of a request is refused before its body is read. After a refusal that leaves
a body unread, what still comes is thrown away for a moment: to close at once would reset the connection, and the answer
would be lost on its way.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import struct
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from time import perf_counter_ns
from typing import cast

from msgspec.structs import replace

from interpose.core.types import new_id
from interpose.doors.http_server.answer_heads import CONTINUE, LAST_CHUNK, chunk
from interpose.doors.http_server.exchange import Exchange
from interpose.doors.http_server.listener_state import Endpoint, Site
from interpose.doors.http_server.messages import Headers, Refusal, Response
from interpose.doors.http_server.peers import address_of, peer_of
from interpose.doors.http_server.request_reader import Phase, Reader, RequestHead

log = logging.getLogger("interpose.http")

MOST_WAITING = 32
"""Requests that wait for their turn on one connection; until some are answered no more are read."""
LINGER = 2.0
"""Seconds for which what comes after a refusal is thrown away."""
LINGER_BYTES = 16 << 20
WRITE_BUFFER = 256 << 10

_NO_LINGER = struct.pack("ii", 1, 0)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
_OVERLOADED = Refusal(503, "overloaded", "too much is being asked at the moment", (("Retry-After", "1"),))
_TOO_SLOW = Refusal(408, "timeout", "the request did not come in time")


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(self, site: Site, endpoint: Endpoint, loop: asyncio.AbstractEventLoop) -> None:
        self._site = site
        self._endpoint = endpoint
        self._loop = loop
        self._reader = Reader(self, site.limits, loop.time)
        self._waiting: deque[Exchange] = deque()
        self._admitted: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._unstuck: asyncio.Future[None] | None = None
        self._stuck_since: float | None = None
        self._left_since: float | None = None
        self._quiet_since = loop.time()
        self._answered = False
        self._whole_bytes = 0
        self._thrown_away = 0
        self._lingering = False
        self._continue_due = False
        self._hangs_up = False

    # The transport calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self._secure = transport.get_extra_info("sslcontext") is not None
        self._peer = peer_of(transport)
        self._reached = address_of(transport.get_extra_info("sockname"))
        if not self._site.enter(self, owner=self._peer.kind == "unix"):
            self._give_up(_OVERLOADED)
            self._transport.close()  # nobody watches over it, so it may not linger

    def data_received(self, data: bytes) -> None:
        """Bytes of requests, or of what nobody reads any more."""
        if self._reader.phase is not Phase.ENDED:
            self._reader.feed(data)
            return
        self._thrown_away += len(data)
        if self._thrown_away > LINGER_BYTES:
            self._transport.abort()

    def eof_received(self) -> bool:
        """The client sends no more, or is gone. It gets the answers to what it sent, if they come soon."""
        self._reader.end()
        self._left_since = self._loop.time()
        return self._busy and not self._secure and not self._hangs_up

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002 - part of the interface
        """The client is gone, and nobody waits for what is being decided for it."""
        self._reader.close()
        self._waiting.clear()
        self._release(self._whole_bytes)
        self._site.leave(self)
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        self._stuck_since = self._loop.time()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._stuck_since = None
        if self._unstuck is not None and not self._unstuck.done():
            self._unstuck.set_result(None)
        self._go_on()

    # The reader calls these.

    def admit(self, head: RequestHead) -> None:
        """Who asks for what. Raises Refusal, unless the connection can go on after it."""
        given = head.headers.get("x-request-id", "")
        exchange = Exchange(
            given if given and _REQUEST_ID.fullmatch(given) else new_id(),
            perf_counter_ns(),
            head.method,
            head.modern,
            refusal_page=self._site.refusal_page,
        )
        self._admitted = exchange
        try:
            exchange.admit(head, self._endpoint.door, self._site.router, self._peer, self._reached)
            if exchange.anonymous:
                self._site.anonymous.spend()
        except Refusal as refusal:
            if head.has_body:
                raise
            exchange.request, exchange.answer = None, exchange.refused(refusal)
        if head.has_body and head.modern and "expect" in head.headers:
            self._continue_due = True
            self._say_continue()

    def deliver(self, body: bytes) -> None:
        """A request is whole."""
        exchange = self._admitted
        if exchange is None:
            return
        self._admitted = None
        self._continue_due = False
        self._whole_bytes += len(body)
        if exchange.request is None:
            self._release(len(body))
        else:
            exchange.request.body = body
        self._enqueue(exchange)

    def refuse(self, refusal: Refusal) -> None:
        """What came can't be answered otherwise, and nothing more is read."""
        exchange = self._admitted or Exchange(new_id(), perf_counter_ns())
        self._admitted = None
        self._continue_due = False
        exchange.request = None
        exchange.answer = exchange.refused(refusal)
        self._lingering = True
        self._enqueue(exchange)

    def hold(self, size: int) -> None:
        """Bytes of bodies count for all connections together."""
        self._site.hold(size)

    # The site calls these.

    @property
    def idle_since(self) -> float | None:
        """Since when nothing is being done for this client; None while something is."""
        return None if self._busy else max(self._quiet_since, self._reader.since)

    @property
    def held(self) -> int:
        """Bytes of a body that is not whole."""
        return self._reader.held

    def check(self, now: float) -> None:
        """The limits of time."""
        limits = self._site.limits
        absent = self._stuck_since or self._left_since
        if absent is not None and now - absent > limits.body_timeout:
            self._reset()
        elif self._reader.overdue(now):
            self._give_up(_TOO_SLOW)
        elif not self._busy:
            self._check_idle(now - self._quiet_since)

    def overload(self) -> None:
        """Give up the body that is being read."""
        self._give_up(_OVERLOADED)

    def drain(self) -> None:
        """End, unless something that was asked is not answered yet."""
        if not self._busy and self._reader.phase is Phase.WAITING:
            self._reader.end()
            self._transport.close()

    def abort(self) -> None:
        """End now."""
        self._transport.abort()

    # The rest is ours.

    @property
    def _busy(self) -> bool:
        return self._task is not None or bool(self._waiting)

    def _enqueue(self, exchange: Exchange) -> None:
        self._waiting.append(exchange)
        if len(self._waiting) == MOST_WAITING:
            self._transport.pause_reading()
        self._go_on()

    def _go_on(self) -> None:
        """Answer what is next, if it is its turn."""
        if self._task is not None:
            return
        while self._waiting and self._stuck_since is None:
            exchange = self._waiting.popleft()
            if len(self._waiting) == MOST_WAITING - 1:
                self._transport.resume_reading()
            if exchange.answer is None:
                self._task = self._loop.create_task(self._serve(exchange))
                return
            self._write(exchange, exchange.answer)
        if self._continue_due:
            self._say_continue()

    async def _serve(self, exchange: Exchange) -> None:
        self._hangs_up = exchange.hangs_up
        if exchange.request is not None and exchange.modern:
            exchange.request.inform = self._inform
        try:
            answer = await (self._ask_anonymous(exchange) if exchange.anonymous else exchange.ask())
            if answer.stream is None:
                self._write(exchange, answer)
            else:
                await self._stream(exchange, answer, answer.stream)
        except Exception:
            log.exception("request %s to %s could not be answered", exchange.request_id, exchange.path)
            self.abort()
        finally:
            self._task = None
            self._hangs_up = False
            if exchange.request is not None:
                self._release(len(exchange.request.body))
        self._go_on()

    def _inform(self, status: int, headers: Headers) -> None:
        """Something takes long, and the client is told. One that is gone need not be waited for."""
        self._hangs_up = True
        if self._left_since is not None:
            self._transport.close()
        elif not self._transport.is_closing():
            self._transport.write(self._site.heads.interim(status, headers))

    async def _ask_anonymous(self, exchange: Exchange) -> Response:
        """Strangers have few places of their own, so that they can't take others'."""
        budget = self._site.anonymous
        try:
            budget.enter()
        except Refusal as refusal:
            return exchange.refused(refusal)
        try:
            return await exchange.ask()
        finally:
            budget.leave()

    def _write(self, exchange: Exchange, answer: Response) -> None:
        if self._transport.is_closing():
            return
        last = self._begin_answer(exchange, answer, chunked=False)
        if last:
            self._hang_up()

    async def _stream(self, exchange: Exchange, answer: Response, stream: AsyncIterator[bytes]) -> None:
        """INVARIANT: a stream that fails ends without its last chunk, so nobody takes a part for the whole."""
        chunked = exchange.modern and exchange.method != "HEAD"
        last = self._begin_answer(exchange, answer, chunked=chunked)
        try:
            if exchange.method != "HEAD":
                async for piece in stream:
                    if piece:
                        self._transport.write(chunk(piece) if chunked else piece)
                    await self._room()
            if chunked:
                self._transport.write(LAST_CHUNK)
        except Exception:
            log.exception("the answer to request %s at %s broke off", exchange.request_id, exchange.path)
            self.abort()
            return
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()
        if last:
            self._hang_up()

    def _begin_answer(self, exchange: Exchange, answer: Response, *, chunked: bool) -> bool:
        """Send the head, and the body if it is there. Whether it is the last answer on this connection."""
        if exchange.extra:
            answer = replace(answer, headers=(*answer.headers, *exchange.extra))
        phase = self._reader.phase
        ends = phase is Phase.ENDED or (self._site.draining and phase is Phase.WAITING)
        last = ends and not self._waiting
        if last:
            self._reader.end()  # INVARIANT: nothing is accepted after the answer that says it is the last
        try:
            head = self._site.heads.head(answer, exchange.request_id, keep_alive=not last, chunked=chunked)
        except ValueError:
            log.exception("the answer to request %s at %s can't be sent", exchange.request_id, exchange.path)
            answer = exchange.internal_error()
            head = self._site.heads.head(answer, exchange.request_id, keep_alive=not last)
        without_body = exchange.method == "HEAD" or answer.stream is not None
        self._transport.write(head if without_body else head + answer.body)
        self._answered = True
        self._quiet_since = self._loop.time()
        if self._site.observe is not None:
            self._site.observe(exchange.summary(answer, self._peer))
        return last

    def _hang_up(self) -> None:
        if not self._lingering:
            self._transport.close()
        elif self._transport.can_write_eof():
            self._transport.write_eof()

    def _give_up(self, refusal: Refusal) -> None:
        self._reader.end()
        self.refuse(refusal)

    def _reset(self) -> None:
        """End without what was not sent: the system would keep it for a client that may never read it."""
        sock: socket.socket = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.abort()

    def _check_idle(self, quiet: float) -> None:
        limits = self._site.limits
        match self._reader.phase:
            case Phase.WAITING:
                if quiet > (limits.idle_timeout if self._answered else limits.header_timeout):
                    self._reader.end()
                    self._transport.close()
            case Phase.ENDED:
                if quiet > (LINGER if self._lingering else limits.body_timeout):
                    self._reset()
            case Phase.HEAD | Phase.BODY:
                pass

    def _say_continue(self) -> None:
        if not self._busy:
            self._continue_due = False
            self._transport.write(CONTINUE)

    async def _room(self) -> None:
        """Let others run, and wait for a client that reads slowly."""
        if self._stuck_since is None:
            await asyncio.sleep(0)
            return
        self._unstuck = self._loop.create_future()
        await self._unstuck

    def _release(self, size: int) -> None:
        size = min(size, self._whole_bytes)  # after the connection was lost nothing is left to release
        self._whole_bytes -= size
        self._site.hold(-size)
