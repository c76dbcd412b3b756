"""The interceptor server on its transports: one client over stdio, or many over HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from interpose.core.formats.strict_json import StrictJsonError, decode
from interpose.doors.http_server.listener import Listener, Tcp, trust_of
from interpose.doors.http_server.messages import Refusal, Request, Response, Route
from interpose.doors.known_callers import KnownCallers
from interpose.doors.mcp.clients.stdio_client import StdioClient
from interpose.doors.mcp.interceptors.interceptor_methods import InterceptorMethods, InvokingCaller
from interpose.doors.mcp.links.eras import PROTOCOL_VERSION, map_of, result_for, text_of
from interpose.doors.mcp.links.frames import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    BadFrameError,
    Frame,
    RequestId,
    RpcError,
    failure,
    parse,
    response,
)
from interpose.doors.mcp.links.links import LinkError

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

log = logging.getLogger("interpose.interceptors")

PATH = "/mcp"
MOST_OPEN = 500
DRAIN = 30.0
"""Seconds that requests under way have to end after the client closed its side."""


async def answered(methods: InterceptorMethods, frame: Frame, caller: InvokingCaller) -> bytes:
    """The answer to a request. Never raises, but for a cancellation."""
    id = frame.id if frame.id is not UNSET else None
    if frame.method is UNSET or id is None:
        return failure(None, INVALID_REQUEST, "The id of a request is a number or a text, and it has a method")
    try:
        params = _params(frame)
        version = map_of(map_of(params).get("_meta")).get(PROTOCOL_VERSION)
        if version is None:
            return response(id, await methods.answer(frame.method, params, caller))
        caller = msgspec.structs.replace(caller, protocol=text_of(version))
        return response(id, result_for(frame.method, await methods.answer(frame.method, params, caller), "modern"))
    except RpcError as error:
        return failure(id, error.code, error.message, error.data)
    except Exception:
        log.exception("a request failed")
        return failure(id, INTERNAL_ERROR, "Internal error")


def _params(frame: Frame) -> Any:
    if not isinstance(frame.params, Raw):
        return None
    try:
        return decode(bytes(frame.params))
    except StrictJsonError as error:
        raise RpcError(INVALID_PARAMS, f"Invalid params: {error}") from None


class StdioInterceptors:
    """The one client that started us: a `ClientSide`. Each request is answered in its own time."""

    def __init__(self, methods: InterceptorMethods, link: StdioClient) -> None:
        self._methods, self._link = methods, link
        self._caller = InvokingCaller(cwd=os.getcwd())  # noqa: PTH109 - a text is wanted
        self._open: dict[RequestId, asyncio.Task[None]] = {}
        self._spawned: set[asyncio.Task[None]] = set()

    def received(self, line: bytes, /) -> None:
        """One frame."""
        try:
            frame = parse(line)
        except BadFrameError as error:
            code = INVALID_REQUEST if line.lstrip()[:1] in (b"{", b"[") else PARSE_ERROR
            self._spawn(self._send(failure(None, code, str(error))))
            return
        self.take(frame)

    def take(self, frame: Frame, /) -> None:
        """The same, parsed."""
        if frame.id is UNSET:
            if frame.method == "notifications/cancelled":
                self._cancelled(frame)
            return
        if frame.method is UNSET:
            return  # an answer, and nothing was asked
        if frame.id is None or frame.id in self._open or len(self._open) >= MOST_OPEN:
            text = "A request has an id of its own, and so many of them may be open"
            self._spawn(self._send(failure(None, INVALID_REQUEST, text)))
            return
        self._open[frame.id] = asyncio.get_running_loop().create_task(self._serve(frame.id, frame))

    def abandoned(self, request: RequestId, /) -> None:
        """Nobody waits for this one any more."""
        if (task := self._open.get(request)) is not None:
            task.cancel()

    async def close(self) -> None:
        """The client is gone."""
        running = [*self._open.values(), *self._spawned]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=5)

    async def drained(self, seconds: float) -> None:
        """Wait until what was asked is answered."""
        if running := [*self._open.values(), *self._spawned]:
            await asyncio.wait(running, timeout=seconds)

    def _cancelled(self, frame: Frame) -> None:
        try:
            id = map_of(_params(frame)).get("requestId")
        except RpcError:
            return
        if isinstance(id, int | str):
            self.abandoned(id)

    async def _serve(self, id: RequestId, frame: Frame) -> None:
        try:
            answer = await answered(self._methods, frame, self._caller)
            if frame.method == "initialize":
                agreed = map_of(map_of(msgspec.json.decode(answer)).get("result")).get("protocolVersion")
                self._caller = msgspec.structs.replace(self._caller, protocol=text_of(agreed))
            await self._send(answer)
        finally:
            self._open.pop(id, None)

    async def _send(self, frame: bytes) -> None:
        try:
            await self._link.send(frame)
        except LinkError:
            pass

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)


async def serve_stdio(methods: InterceptorMethods, reads: int, writes: int) -> None:
    """Serve the client on these two descriptors until it goes, or until we are told to stop."""
    client, told = StdioClient(), _told()
    side = StdioInterceptors(methods, client)
    await client.connect(reads, writes, side)
    waiting = [asyncio.ensure_future(one.wait()) for one in (client.ended, told)]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if not told.is_set():
        draining = asyncio.ensure_future(side.drained(DRAIN))
        await asyncio.wait([draining, waiting[1]], return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
    await side.close()
    await client.flush()
    client.close()
    for task in waiting:
        task.cancel()


def route(methods: InterceptorMethods) -> Route:
    """`POST /mcp`: one message, one answer. There is nothing to listen to, so there is no GET, and no session."""

    async def take(request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refusal(415, "invalid_content_type", "Content-Type must be application/json")
        try:
            frame = parse(request.body)
        except BadFrameError as error:
            return Response(400, failure(None, PARSE_ERROR, str(error)))
        if frame.id is UNSET or frame.method is UNSET:
            return Response(202)
        named = request.headers.get("mcp-method")
        if named is not None and named != frame.method:
            text = "Mcp-Method says another method than the body"
            return Response(400, failure(frame.id, HEADER_MISMATCH, text))
        caller = InvokingCaller(
            principal=request.caller.name, anonymous=request.caller.anonymous,
            protocol=text_of(request.headers.get("mcp-protocol-version")),
        )  # fmt: skip
        return Response(200, await answered(methods, frame, caller))

    return Route("POST", PATH, take, "agent", "The interceptor protocol of MCP")


async def serve_http(
    service: Service, methods: InterceptorMethods, host: str, port: int, started: Callable[[str], object]
) -> None:
    """Listen until we are told to stop. `started` hears the address. Raises ServerError."""
    settings, routes = service.config.server, KnownCallers(service).registering((route(methods),))
    listener = Listener(
        routes, [Tcp(host, port)], trust_of(settings), settings.limits, tls=settings.tls,
        shutdown_timeout=settings.shutdown_timeout,
    )  # fmt: skip
    told = _told()
    await listener.start()
    started(f"{listener.addresses[0]}{PATH}")
    try:
        await told.wait()
    finally:
        await listener.stop()


def _told() -> asyncio.Event:
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    return told
