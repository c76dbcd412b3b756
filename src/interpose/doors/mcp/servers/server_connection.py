"""One connection to one server: its requests and ours, and the bounds that hold whatever it sends.

A server is nobody's friend: what it answers to no question, twice or in the wrong form is dropped and counted, and
one that goes on is cut off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from time import monotonic
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct

from interpose.core.types import EMPTY
from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.links.eras import ASKABLE, CONNECTION_CLOSED, REQUEST_TIMEOUT, map_of
from interpose.doors.mcp.links.exchanges import ExchangeOwner, ServerExchange, ServerQuestion
from interpose.doors.mcp.links.frames import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    BadFrameError,
    Frame,
    RequestId,
    RpcError,
    failure,
    notification,
    parse,
    request,
    response,
)
from interpose.doors.mcp.links.links import LinkError, Outgoing, ServerLink

log = logging.getLogger("interpose.gateway")

MAX_OPEN = 1000
"""Requests of ours that a server may have open at the same time."""
MAX_QUESTIONS = 32
"""Requests of a server that wait for a client at the same time."""
MAX_REPLIES = 200
"""Answers of ours that wait until a server reads them."""
UNASKED_A_SECOND = 2000
UNASKED_AT_ONCE = 10_000
"""Frames that a server may send unasked: notifications, questions, answers to nothing, lines that are no frames."""
TOLD_A_SECOND = 64 * 1024
TOLD_AT_ONCE = 512 * 1024
"""Bytes of progress, log lines and news of tasks that are passed on. Each is searched for secrets while others wait."""
LONGEST_ERROR = 8000


_TOLD = ("notifications/progress", "notifications/message", "notifications/tasks")


class _WireError(Struct):
    code: int = INTERNAL_ERROR
    message: str = ""
    data: Any = None


class ServerEvents(Protocol):
    """Who hears what a server says unasked."""

    def notified(self, method: str, params: dict[str, Any], /) -> None:
        """A notification that belongs to no request of ours."""
        ...

    def asked(self, question: ServerQuestion, /) -> None:
        """A question that belongs to no request of ours."""
        ...

    def lost(self, why: str, /) -> None:
        """It is gone."""
        ...


class ServerConnection:
    """See the module. It is the `ServerSide` of its link."""

    def __init__(self, server: str, link: ServerLink, events: ServerEvents, seconds: float = 300.0) -> None:
        self.server = server
        self.era: Era = "handshake"
        self.version = ""
        self._link, self._events, self._seconds = link, events, seconds
        self._open: dict[int, ServerExchange] = {}
        self._next = 1
        self._lost = ""
        self._questions: dict[RequestId, ServerQuestion] = {}
        self._replies: set[asyncio.Task[None]] = set()
        self._unasked, self._since = 0.0, monotonic()
        self._told, self._told_since = 0.0, self._since

    async def open(self) -> None:
        """Reach it. Raises LinkError."""
        await self._link.open(self)

    def negotiated(self, era: Era, version: str) -> None:
        """What it speaks."""
        self.era, self.version = era, version
        self._link.negotiated(era, version)

    # what we send

    async def begin(
        self,
        method: str,
        params: Mapping[str, Any],
        meta: dict[str, Any] | None = None,
        *,
        caller: ExchangeOwner | None = None,
        seconds: float | None = None,
        name: str = "",
        input_schema: Mapping[str, Any] = EMPTY,
    ) -> ServerExchange:
        """Send a request. Raises RpcError if it can't be sent. `seconds` of 0: it may take as long as it likes."""
        if self._lost:
            raise self._closed()
        if len(self._open) >= MAX_OPEN:
            raise RpcError(INTERNAL_ERROR, f"{self.server} has {MAX_OPEN} requests open already")
        id = self._next
        self._next += 1
        exchange = ServerExchange(id, method, caller)
        if meta:
            if "progressToken" in meta:
                exchange.token, meta["progressToken"] = meta["progressToken"], id
            params = {**params, "_meta": meta}
        self._open[id] = exchange
        if seconds != 0:
            limit = self._seconds if seconds is None else seconds
            exchange.timer = asyncio.get_running_loop().call_later(limit, self._timed_out, exchange, limit)
        arguments = map_of(params.get("arguments")) if input_schema else EMPTY
        about = Outgoing(
            method=method, id=id, name=name, arguments=arguments, input_schema=input_schema,
            principal=caller.principal if caller is not None else "",
        )  # fmt: skip
        try:
            await self._link.send(request(id, method, params), about)
        except LinkError as error:
            self.forget(exchange)
            raise RpcError(CONNECTION_CLOSED, f"{self.server} can't be reached: {error}") from None
        except (OverflowError, UnicodeEncodeError):
            self.forget(exchange)
            raise RpcError(
                INVALID_PARAMS, "The params have a number or a text that JSON readers do not share"
            ) from None
        except BaseException:
            self.forget(exchange)
            raise
        return exchange

    async def request(
        self, method: str, params: Mapping[str, Any] = EMPTY, meta: dict[str, Any] | None = None, **options: Any
    ) -> Raw:
        """The result of a request that no server asks anything about. Raises RpcError."""
        exchange = await self.begin(method, params, meta, **options)
        try:
            while True:
                outcome = await exchange.outcome()
                if isinstance(outcome, tuple):
                    for question in outcome:
                        question.refuse(METHOD_NOT_FOUND, "Nobody can be asked now")
                    continue
                return outcome
        except asyncio.CancelledError:
            self.cancel(exchange, "the client cancelled it")
            raise
        finally:
            self.forget(exchange)

    async def notify(self, method: str, params: Any = UNSET) -> None:
        """Send a notification; one that can't be sent is lost."""
        try:
            await self._link.send(notification(method, params), Outgoing(method=method))
        except LinkError:
            pass

    def forget(self, exchange: ServerExchange) -> None:
        """Its answer does not count any more."""
        if self._open.pop(exchange.id, None) is not None and exchange.timer is not None:
            exchange.timer.cancel()

    def cancel(self, exchange: ServerExchange, why: str) -> None:
        """Tell the server that nobody waits any more."""
        if self._open.pop(exchange.id, None) is None or self._lost:
            return
        if exchange.timer is not None:
            exchange.timer.cancel()
        for question in exchange.questions:
            question.refuse(INTERNAL_ERROR, "The call was cancelled")
        if exchange.method in ("initialize", "server/discover"):
            return  # the protocol forbids to cancel them
        frame = notification("notifications/cancelled", {"requestId": exchange.id, "reason": why})
        self._send_later(frame, Outgoing(method="notifications/cancelled", cancels=exchange.id))

    def suspend(self, exchange: ServerExchange) -> None:
        """A person thinks about what the server asked: that time is not the server's."""
        if exchange.timer is not None:
            exchange.timer.cancel()
            exchange.timer = None

    def resume(self, exchange: ServerExchange) -> None:
        """It is the server's turn again."""
        if exchange.timer is None and exchange.id in self._open:
            limit = self._seconds
            exchange.timer = asyncio.get_running_loop().call_later(limit, self._timed_out, exchange, limit)

    def reply(self, id: RequestId, frame: bytes, /) -> None:
        """The answer to a question of the server."""
        self._questions.pop(id, None)
        self._send_later(frame, Outgoing(answers=id))

    def tell(self, method: str, params: Any, /) -> None:
        """A notification that nobody waits for."""
        self._send_later(notification(method, params), Outgoing(method=method))

    def _send_later(self, frame: bytes, about: Outgoing) -> None:
        if self._lost:
            return
        if len(self._replies) >= MAX_REPLIES:
            self._cut("it does not read what it is sent")
            return
        task = asyncio.get_running_loop().create_task(self._send(frame, about))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _send(self, frame: bytes, about: Outgoing) -> None:
        try:
            await self._link.send(frame, about)
        except LinkError:
            pass

    def _timed_out(self, exchange: ServerExchange, limit: float) -> None:
        self.cancel(exchange, "it took too long")
        exchange.settle(RpcError(REQUEST_TIMEOUT, f"{self.server} did not answer within {limit:g} seconds"))

    # what it sends

    def received(self, line: bytes, during: int | None = None, /) -> None:
        """One frame of the server."""
        if self._lost:
            return
        try:
            frame = parse(line)
            if frame.method is UNSET:
                self._answered(frame)
            elif not self._counted():
                return
            elif frame.id is UNSET:
                if frame.method.startswith(_TOLD) and not self._affordable(len(line)):
                    return
                self._notified(frame.method, _object(frame.params), during)
            elif frame.id is not None:
                self._asked(frame.id, frame.method, _object(frame.params), during)
        except BadFrameError as error:
            if self._counted():
                log.debug("server sent no frame", extra={"server": self.server, "why": str(error)})
        except Exception:
            # INVARIANT: whatever a server sends, it ends its own connection at worst.
            log.exception("a frame could not be dealt with", extra={"server": self.server})
            self._cut("it sent a frame that could not be dealt with")

    def _answered(self, frame: Frame) -> None:
        exchange = self._open.pop(frame.id, None) if type(frame.id) is int else None
        if exchange is None:
            if self._counted():
                log.debug("server answered what nobody asked", extra={"server": self.server, "id": str(frame.id)})
            return
        if frame.error is not UNSET:
            exchange.settle(self._error(frame.error))
        elif frame.result is not UNSET:
            exchange.settle(frame.result)
        else:
            exchange.settle(RpcError(INTERNAL_ERROR, f"{self.server} answered with neither a result nor an error"))

    def _error(self, raw: Raw) -> RpcError:
        try:
            said = msgspec.json.decode(raw, type=_WireError)
        except (msgspec.DecodeError, RecursionError):
            return RpcError(INTERNAL_ERROR, f"{self.server} answered with an error that can't be read")
        return RpcError(said.code, said.message[:LONGEST_ERROR], said.data)

    def _notified(self, method: str, params: dict[str, Any], during: int | None) -> None:
        if method == "notifications/progress":
            token = params.get("progressToken")
            exchange = self._open.get(token) if type(token) is int else None
            if exchange is not None and exchange.caller is not None and exchange.token is not None:
                params["progressToken"] = exchange.token
                exchange.caller.progressed(params)
        elif method == "notifications/message":
            caller = self._caller(during)
            if caller is not None and caller.caller is not None:
                caller.caller.logged(params)
            else:
                self._events.notified(method, params)
        elif method == "notifications/cancelled" and (question := self._question(params.get("requestId"))) is not None:
            del self._questions[question.id]
            question.done = True
            if question.relaying is not None:
                question.relaying.cancel()
        else:
            self._events.notified(method, params)

    def _question(self, id: Any) -> ServerQuestion | None:
        return self._questions.get(id) if isinstance(id, int | str) else None

    def _asked(self, id: RequestId, method: str, params: dict[str, Any], during: int | None) -> None:
        if method == "ping":
            self._send_later(response(id, {}), Outgoing(answers=id))
            return
        if method not in ASKABLE or self.era == "modern":
            self._send_later(failure(id, METHOD_NOT_FOUND, "Method not found"), Outgoing(answers=id))
            return
        if id in self._questions or len(self._questions) >= MAX_QUESTIONS:
            self._send_later(failure(id, INTERNAL_ERROR, "Too many requests at once"), Outgoing(answers=id))
            return
        question = self._questions[id] = ServerQuestion(self, id, method, params, self.server)
        exchange = self._caller(during)
        if exchange is not None and exchange.caller is not None:
            exchange.caller.asked(exchange, question)
        elif any(one.caller is not None for one in self._open.values()):
            question.refuse(INTERNAL_ERROR, "Several clients have calls here, and this does not say which it is for")
        else:
            self._events.asked(question)

    def _caller(self, during: int | None) -> ServerExchange | None:
        """The request that this belongs to: the transport says it, or all that are open are of one conversation.

        INVARIANT: what a server asks during one client's call is never put to another client.
        """
        if during is not None:
            return self._open.get(during)
        calls = [one for one in self._open.values() if one.caller is not None]
        if not calls or len({id(one.caller.conversation) for one in calls if one.caller is not None}) > 1:
            return None
        return calls[-1]

    def _counted(self) -> bool:
        """One more frame that nobody asked for. False if that was one too many."""
        now = monotonic()
        self._unasked = max(0.0, self._unasked - (now - self._since) * UNASKED_A_SECOND) + 1
        self._since = now
        if self._unasked > UNASKED_AT_ONCE:
            self._cut(f"it was cut off: it sent more than {UNASKED_A_SECOND} frames a second unasked")
            return False
        return True

    def _affordable(self, size: int) -> bool:
        """Whether something that only tells may be passed on. INVARIANT: a talkative server takes no other's time."""
        now = monotonic()
        self._told = max(0.0, self._told - (now - self._told_since) * TOLD_A_SECOND)
        self._told_since = now
        if self._told + size > TOLD_AT_ONCE:
            log.debug("server tells too much", extra={"server": self.server})
            return False
        self._told += size
        return True

    def _cut(self, why: str) -> None:
        if not self._lost:
            self.lost(why)

    # the end

    def lost(self, why: str, /) -> None:
        """The connection is gone: nobody waits for it any longer."""
        if self._lost:
            return
        self._end(why)
        self._events.lost(why)

    async def close(self) -> None:
        """End it."""
        self._end("it was stopped")
        await self._link.close()

    def _end(self, why: str) -> None:
        self._lost = self._lost or why
        for exchange in list(self._open.values()):
            exchange.settle(self._closed())
        self._open.clear()
        for question in list(self._questions.values()):
            question.done = True
            if question.relaying is not None:
                question.relaying.cancel()
        self._questions.clear()
        for task in list(self._replies):
            task.cancel()

    def _closed(self) -> RpcError:
        return RpcError(CONNECTION_CLOSED, f"{self.server} is gone: {self._lost}")


def _object(params: Raw | msgspec.UnsetType) -> dict[str, Any]:
    """Params as an object; those of a notification or a question are never anything else. Raises BadFrameError."""
    if params is UNSET:
        return {}
    try:
        found = msgspec.json.decode(params)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadFrameError(f"its params can't be read: {error}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadFrameError("its params are no object")
    return found
