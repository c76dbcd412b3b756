"""Clients over streamable HTTP, of both eras, at one path.

modern      each POST is a conversation of its own; its headers must say what its body says
handshake   `initialize` begins a session, which each further request names; GET listens, DELETE ends it
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, Struct, field

from interpose.core.types import Context
from interpose.doors.http_server.messages import Headers, Refusal, Request, Response, Route
from interpose.doors.mcp.clients.http_answers import EVENTS, PING, FrameQueue, events, refused, whole
from interpose.doors.mcp.clients.http_sessions import HttpSession, HttpSessions
from interpose.doors.mcp.gate.contract import Client
from interpose.doors.mcp.links.eras import HANDSHAKE_VERSIONS, PROTOCOL_VERSION, map_of
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
    parse,
)
from interpose.doors.mcp.links.header_values import NAMED, decoded, wrong_params

if TYPE_CHECKING:
    from interpose.doors.mcp.clients.conversation import Conversation
    from interpose.doors.mcp.gateway import Gateway

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
LONGEST_SESSION = 128


class _Repeated(Struct):
    """What of the params stands in headers, too."""

    name: Any = UNSET
    uri: Any = UNSET
    arguments: Raw | msgspec.UnsetType = UNSET
    meta: Any = field(name="_meta", default=UNSET)


_repeated = msgspec.json.Decoder(_Repeated)


class HttpClients:
    """See the module."""

    def __init__(self, gateway: Gateway, challenge: Headers = ()) -> None:
        """`challenge`: what those hear who do not say who they are."""
        self._gateway, self._challenge = gateway, challenge
        self.sessions = HttpSessions(gateway)

    def routes(self, path: str = "/mcp") -> tuple[Route, ...]:
        """Where clients come."""
        return (
            Route("POST", path, self.post, "agent", "A message of an MCP client", hangs_up=True),
            Route("GET", path, self.listen, "agent", "What an MCP client is told unasked", hangs_up=True),
            Route("DELETE", path, self.leave, "agent", "The end of an MCP client's session"),
        )

    def hush(self) -> None:
        """The end begins: streams that would never end by themselves end; what was asked is answered."""
        self.sessions.hush()
        self._gateway.hush()

    async def post(self, request: Request) -> Response:
        """One frame."""
        client = self._client(request)
        _acceptable(request)
        try:
            frame = parse(request.body)
        except BadFrameError as error:
            code = INVALID_REQUEST if request.body.lstrip()[:1] in (b"{", b"[") else PARSE_ERROR
            return refused(400, code, str(error))
        version = request.headers.get(VERSION)
        if version is not None and version not in HANDSHAKE_VERSIONS:
            return await self._modern(request, client, frame)
        return await self._old(request, client, frame)

    # modern

    async def _modern(self, request: Request, client: Client, frame: Frame) -> Response:
        id, method = frame.id, frame.method
        if method is UNSET or id is None:
            return refused(400, INVALID_REQUEST, "The body must be one request or one notification")
        if id is UNSET:
            return Response(202)  # there are none that mean anything here: to cancel is to end the stream
        try:
            why = await self._differs(request.headers, method, frame)
        except RpcError as error:
            return refused(400, error.code, error.message, id=id)
        if why:
            return refused(400, HEADER_MISMATCH, why, id=id)
        link = _PostLink()
        conversation = self._gateway.converse(link, client)
        conversation.take(frame)
        try:
            await link.queue.wait(PING)
        except asyncio.CancelledError:
            link.queue.end()
            self._gateway.spawn(conversation.close())
            raise
        if link.answer is not None and not link.told:
            await conversation.close()
            return whole(link.answer, modern=True)
        return Response(200, headers=EVENTS, stream=self._stream(link.queue, conversation))

    async def _stream(self, queue: FrameQueue, conversation: Conversation) -> AsyncGenerator[bytes, None]:
        try:
            async for piece in events(queue):
                yield piece
        finally:
            # INVARIANT: who ends the stream cancels the call.
            queue.end()
            self._gateway.spawn(conversation.close())

    async def _differs(self, headers: Mapping[str, str], method: str, frame: Frame) -> str:
        """What the headers say differently than the body; empty if nothing. Raises RpcError."""
        told = _params(frame)
        if not isinstance(told.meta, dict) or PROTOCOL_VERSION not in told.meta:
            raise RpcError(INVALID_PARAMS, f"params._meta must have {PROTOCOL_VERSION}")
        if told.meta[PROTOCOL_VERSION] != headers[VERSION]:
            return "MCP-Protocol-Version does not match the version in _meta"
        if decoded(headers.get("mcp-method")) != method:
            return "Mcp-Method does not match the method of the body"
        key = NAMED.get(method)
        if key is None:
            return ""
        name = told.name if key == "name" else told.uri
        if name is not UNSET and name is not None and decoded(headers.get("mcp-name")) != name:
            return f"Mcp-Name does not match the {key} of the body"
        return await self._wrong_params(told, headers) if method == "tools/call" and isinstance(name, str) else ""

    async def _wrong_params(self, told: _Repeated, headers: Mapping[str, str]) -> str:
        routes = self._gateway.routes
        try:
            definition = await routes.definition(routes.named(told.name, "tool"), "tools")
        except RpcError:
            return ""  # there is no such tool now, and the call will say so
        schema = map_of(map_of(definition).get("inputSchema"))
        if not schema:
            return ""
        arguments = map_of(msgspec.json.decode(told.arguments)) if told.arguments is not UNSET else {}
        return wrong_params(schema, arguments, headers)

    # handshake

    async def _old(self, request: Request, client: Client, frame: Frame) -> Response:
        named = request.headers.get(SESSION)
        try:
            modern = PROTOCOL_VERSION in map_of(_params(frame).meta)
        except RpcError:
            modern = False
        if modern:
            # Whoever stands between took it for a request of the old era.
            id = frame.id if isinstance(frame.id, int | str) else None
            return refused(400, HEADER_MISMATCH, "MCP-Protocol-Version does not match the version in _meta", id=id)
        if named is None:
            if frame.method != "initialize" or not isinstance(frame.id, int | str):
                return refused(400, INVALID_REQUEST, "Mcp-Session-Id is missing: send initialize first")
            session = self.sessions.begin(client)
            if session is None:
                return refused(503, INTERNAL_ERROR, "Too many sessions are open", headers=(("Retry-After", "10"),))
            return await self._first(session, frame)
        session = self._session(named, client)
        if frame.method is UNSET or frame.id is UNSET:
            session.conversation.take(frame)
            return Response(202)
        if not isinstance(frame.id, int | str):
            return refused(400, INVALID_REQUEST, "The id of a request is a number or a text")
        return await self._request(session, frame, frame.id)

    async def _first(self, session: HttpSession, frame: Frame) -> Response:
        assert isinstance(frame.id, int | str)  # noqa: S101 - it was looked at
        try:
            answer = await self._request(session, frame, frame.id, (("Mcp-Session-Id", session.id),))
        except BaseException:
            self.sessions.end(session)
            raise
        if session.conversation.declared is None:
            self.sessions.end(session)
            return Response(answer.status, answer.body)
        return answer

    async def _request(
        self, session: HttpSession, frame: Frame, id: RequestId, headers: tuple[tuple[str, str], ...] = ()
    ) -> Response:
        if id in session.posts or session.conversation.under_way(id):
            return refused(400, INVALID_REQUEST, "This id is that of a request that is under way", id=id)
        queue = session.posts[id] = FrameQueue()
        session.conversation.take(frame)
        try:
            await queue.wait(PING)
        except asyncio.CancelledError:
            self._deaf(session, id, queue)
            raise
        if queue.ended and len(queue) == 1 and (answer := queue.take()) is not None:
            return whole(answer, modern=False, headers=headers)
        return Response(200, headers=(*EVENTS, *headers), stream=self._answering(session, id, queue))

    async def _answering(self, session: HttpSession, id: RequestId, queue: FrameQueue) -> AsyncGenerator[bytes, None]:
        try:
            async for piece in events(queue):
                yield piece
        finally:
            self._deaf(session, id, queue)

    def _deaf(self, session: HttpSession, id: RequestId, queue: FrameQueue) -> None:
        """The client does not listen to this answer any more. In its era that cancels nothing."""
        if session.posts.get(id) is queue:
            del session.posts[id]
        queue.end()

    async def listen(self, request: Request) -> Response:
        """What concerns no request of a session."""
        client = self._client(request)
        version = request.headers.get(VERSION)
        if request.method != "GET" or (version is not None and version not in HANDSHAKE_VERSIONS):
            raise Refusal(405, "method_not_allowed", "here is nothing to GET in this version", (("Allow", "POST"),))
        if not _accepts(request, "text/event-stream"):
            raise Refusal(406, "not_acceptable", "the client must accept text/event-stream")
        session = self._session(request.headers.get(SESSION, ""), client)
        if session.unasked is not None:
            raise Refusal(409, "conflict", "this session has a stream already")
        queue = session.unasked = FrameQueue()
        return Response(200, headers=EVENTS, stream=self._listening(session, queue))

    async def _listening(self, session: HttpSession, queue: FrameQueue) -> AsyncGenerator[bytes, None]:
        try:
            yield b": listening\r\n\r\n"
            async for piece in events(queue):
                yield piece
        finally:
            session.unasked = None
            queue.end()

    async def leave(self, request: Request) -> Response:
        """The end of a session."""
        self.sessions.end(self._session(request.headers.get(SESSION, ""), self._client(request)))
        return Response(200, b"{}")

    def _session(self, named: str, client: Client) -> HttpSession:
        found = self.sessions.find(named, client.principal) if named and len(named) <= LONGEST_SESSION else None
        if found is None:
            if not named:
                raise Refusal(400, "bad_request", "Mcp-Session-Id is missing")
            raise Refusal(404, "not_found", "there is no such session")
        return found

    def _client(self, request: Request) -> Client:
        """Who asks. Raises Refusal.

        INVARIANT: nobody uses tools without saying who they are, unless the operator believes everybody on this
        machine (`server.loopback: open`).
        """
        caller = request.caller
        if caller.anonymous:
            raise Refusal(
                401, "unauthorized", "the gateway needs a token (interpose serve token new NAME)", self._challenge
            )
        return Client(
            principal=caller.name, context=Context(session_id=caller.session),
            traceparent=request.headers.get("traceparent", "")[:128],
        )  # fmt: skip


class _PostLink:
    """The `ClientLink` of one POST of the modern era."""

    def __init__(self) -> None:
        self.queue = FrameQueue()
        self.answer: bytes | None = None
        self.told = False

    async def send(self, frame: bytes, *, answers: RequestId | None = None, during: RequestId | None = None) -> None:  # noqa: ARG002 - one stream carries everything
        """The answer, or something before it."""
        if answers is not None:
            self.answer = frame
            self.queue.put(frame)
            self.queue.end()
            return
        await self.queue.room()
        self.told = True
        self.queue.put(frame)

    def post(self, frame: bytes, *, during: RequestId | None = None) -> bool:
        """Something that may be lost. What concerns no request has no place here."""
        if during is None or self.queue.full or self.queue.ended:
            return False
        self.told = True
        self.queue.put(frame)
        return True


def _params(frame: Frame) -> _Repeated:
    if frame.params is UNSET:
        return _Repeated()
    try:
        return _repeated.decode(frame.params)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RpcError(INVALID_PARAMS, f"The params can't be read: {error}") from None


def _acceptable(request: Request) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refusal(415, "unsupported_media_type", "a message is application/json")
    if not _accepts(request, "application/json") or not _accepts(request, "text/event-stream"):
        raise Refusal(406, "not_acceptable", "the client must accept application/json and text/event-stream")


def _accepts(request: Request, wanted: str) -> bool:
    kinds = {part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "").split(",")}
    return not kinds.isdisjoint({wanted, "*/*", wanted.partition("/")[0] + "/*"})
