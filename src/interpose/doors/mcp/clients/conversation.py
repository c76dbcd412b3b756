"""One client: what it sends is answered here, each request in its own time.

INVARIANT: a frame reaches a server only as one of the requests in `_ANSWERED`, and what is judged only through `Calls`.
Whatever is no such request (a batch, a call without an id, a method that nobody knows) reaches none.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from interpose.core.types import EMPTY
from interpose.doors.mcp.calls import JUDGED
from interpose.doors.mcp.clients.client_request import ClientRequest
from interpose.doors.mcp.clients.subscriptions import Subscriptions
from interpose.doors.mcp.gate.contract import Client
from interpose.doors.mcp.gate.gate_listing import SEARCH_TOOLS
from interpose.doors.mcp.links.eras import (
    REQUEST_TIMEOUT,
    Declared,
    declared_in,
    is_modern,
    map_of,
    meta_for,
    result_for,
)
from interpose.doors.mcp.links.frames import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
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
from interpose.doors.mcp.links.links import ClientLink, LinkError
from interpose.doors.mcp.servers import tasks
from interpose.doors.mcp.servers.routing import Target

if TYPE_CHECKING:
    from interpose.doors.mcp.gateway import Gateway

log = logging.getLogger("interpose.gateway")

MAX_OPEN = 500
"""Requests that a client may have open at the same time."""
CLIENT_SECONDS = 600.0
"""How long a client may take to answer what it is asked: a person may have to."""

_LISTS: Mapping[str, Any] = {
    "tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}  # fmt: skip
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_ONLY_OLD = frozenset({"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "initialize"})
_ONLY_MODERN = frozenset({"server/discover", "subscriptions/listen"})


class Conversation:
    """See the module. It is the `ClientSide` of its link."""

    def __init__(self, gateway: Gateway, link: ClientLink, client: Client) -> None:
        self.gateway, self.link, self.client = gateway, link, client
        self.declared: Declared | None = None
        """What the client said in `initialize`."""
        self.greeting = self.initialised = False
        """Whether it began, and ended, what clients of the old era begin with."""
        self.greeted = asyncio.Event()
        self.subscriptions = Subscriptions(self, gateway.routes)
        self._open: dict[RequestId, asyncio.Task[None]] = {}
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self._tokens: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._next = 1
        self._spawned: set[asyncio.Task[None]] = set()
        self._closed = False

    # what comes

    def received(self, line: bytes, /) -> None:
        """One frame of the client."""
        try:
            frame = parse(line)
        except BadFrameError as error:
            code = INVALID_REQUEST if line.lstrip()[:1] in (b"{", b"[") else PARSE_ERROR
            self.link.post(failure(None, code, str(error)))
            return
        self.take(frame)

    def take(self, frame: Frame, /) -> None:
        """The same, parsed."""
        if self._closed:
            return
        id, method = frame.id, frame.method
        if method is UNSET:
            self._answered(frame)
        elif id is UNSET:
            self._notified(method, frame.params)
        elif id is None:
            self.link.post(failure(None, INVALID_REQUEST, "The id of a request is a number or a text"))
        elif id in self._open:
            self.link.post(failure(None, INVALID_REQUEST, "This id is that of a request that is under way"))
        elif len(self._open) >= MAX_OPEN:
            if len(self._spawned) < MAX_OPEN:  # who sends so much and reads nothing gets no answer
                self.spawn(self._send(failure(id, INTERNAL_ERROR, f"{MAX_OPEN} requests are under way already"), id))
        else:
            self._open[id] = asyncio.get_running_loop().create_task(self._serve(id, method, frame.params))

    def under_way(self, request: RequestId) -> bool:
        """Whether this request is not answered yet."""
        return request in self._open

    def abandoned(self, request: RequestId, /) -> None:
        """Nobody waits for this request any more."""
        if (task := self._open.get(request)) is not None:
            task.cancel()

    async def drained(self, seconds: float) -> None:
        """Wait until what the client asked for is answered, for a while."""
        if running := [task for id, task in self._open.items() if not self.subscriptions.has(id)]:
            await asyncio.wait(running, timeout=seconds)

    async def close(self) -> None:
        """The client is gone."""
        self._closed = True
        self.gateway.left(self)
        running = [*self._open.values(), *self._spawned]
        for task in running:
            task.cancel()
        for future in self._asked.values():
            future.cancel()
        if running:
            await asyncio.wait(running, timeout=5)
        await self.subscriptions.close()

    async def _serve(self, id: RequestId, method: str, raw: Raw | msgspec.UnsetType) -> None:
        try:
            made = self._request(id, method, raw)
            frame = response(id, await self._answer(made))
        except RpcError as error:
            frame = failure(id, error.code, error.message, error.data)
        except Exception:
            log.exception("a request failed")
            frame = failure(id, INTERNAL_ERROR, "Internal error")
        finally:
            self._open.pop(id, None)
        await self._send(frame, id)

    async def _send(self, frame: bytes, answers: RequestId | None = None) -> None:
        try:
            await self.link.send(frame, answers=answers)
        except LinkError:
            pass  # whoever asked is gone

    def _request(self, id: RequestId, method: str, raw: Raw | msgspec.UnsetType) -> ClientRequest:
        try:
            params = {} if raw is UNSET else msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise RpcError(INVALID_PARAMS, f"The params can't be read: {error}") from None
        if params is None:
            params = {}
        if not isinstance(params, dict):
            raise RpcError(INVALID_PARAMS, "The params must be an object")
        meta = params.pop("_meta", None)
        if meta is not None and not isinstance(meta, dict):
            raise RpcError(INVALID_PARAMS, "_meta must be an object")
        meta = map_of(meta)
        if method != "initialize" and is_modern(meta):
            declared = declared_in(meta)
            self.gateway.introduce(declared)
        elif self.declared is not None or method in ("initialize", "ping"):
            declared = self.declared or Declared()
        else:
            raise RpcError(INVALID_REQUEST, "Send initialize first, or the protocol version in _meta of each request")
        return ClientRequest(self, id, method, params, meta, declared)

    async def _answer(self, made: ClientRequest) -> Any:
        method = made.method
        if method in JUDGED:
            return await self.gateway.calls.answer(made)
        handler = _ANSWERED.get(method)
        if handler is None:
            return await self._extended(made)
        if method in (_ONLY_OLD if made.modern else _ONLY_MODERN):
            raise RpcError(METHOD_NOT_FOUND, "Method not found", method)
        return await handler(self, made)

    # what is answered

    async def _initialize(self, made: ClientRequest) -> Any:
        if self.declared is not None:
            raise RpcError(INVALID_REQUEST, "This client is initialised already")
        from interpose.doors.mcp.links.greeting import initialised

        self.greeting = True
        self.declared, result = await initialised(self.gateway, made.params)
        return result

    async def _discover(self, _made: ClientRequest) -> Any:
        from interpose.doors.mcp.links.greeting import discovered

        return await discovered(self.gateway)

    async def _ping(self, _made: ClientRequest) -> Any:
        return {}

    async def _list(self, made: ClientRequest) -> Any:
        if made.params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "Invalid cursor: lists are sent whole")
        kind = _LISTS[made.method]
        if kind == "tools" and self.gateway.search:
            items = [dict(tool) for tool in SEARCH_TOOLS]
        else:
            items = await self.gateway.calls.visible(made, kind)
        # INVARIANT: what is shown may be narrowed for this client, so nobody else may be given it from a cache.
        return result_for(made.method, {kind: items}, made.declared.era)

    async def _complete(self, made: ClientRequest) -> Any:
        ref = made.params.get("ref")
        kind, routes = map_of(ref).get("type"), self.gateway.routes
        if kind == "ref/prompt" and isinstance(name := map_of(ref).get("name"), str):
            target = routes.named(name, "prompt")
            return await self.gateway.calls.complete(made, target, "prompts", {"type": kind, "name": target.name})
        if kind == "ref/resource" and isinstance(uri := map_of(ref).get("uri"), str):
            target = await routes.of_template(uri)
            new = {"type": kind, "uri": target.name}
            return await self.gateway.calls.complete(made, target, "resourceTemplates", new)
        raise RpcError(INVALID_PARAMS, "completion/complete needs a ref to a prompt or a resource template")

    async def _relayed(self, made: ClientRequest, target: Target) -> Any:
        """To its server and back, unjudged: the bytes that came, unless the eras differ."""
        connection, _ = await target.server.ready()
        meta = meta_for(made.server_meta(), made.declared, connection.era, connection.version)
        raw = await connection.request(made.method, made.params, meta, caller=made)
        if connection.era == made.declared.era:
            return raw
        result = msgspec.json.decode(raw)
        return result_for(made.method, result, made.declared.era) if isinstance(result, dict) else raw

    async def _extended(self, made: ClientRequest) -> Any:
        """A method that we don't know: only where the configuration names it, and only to the server that it names."""
        server = self.gateway.routes.extended(made.method, self.gateway.methods)
        if server is None:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", made.method[:200])
        return await self._relayed(made, Target(server, ""))

    async def _set_level(self, made: ClientRequest) -> Any:
        level = made.params.get("level")
        if level not in _LEVELS:
            raise RpcError(INVALID_PARAMS, f"logging/setLevel needs a level: {', '.join(_LEVELS)}")
        for server in self.gateway.routes.servers:
            told = server.negotiated
            if told is not None and told.era == "handshake" and told.has("logging"):
                connection, _ = await server.ready()
                await connection.request("logging/setLevel", {"level": level})
        if self.declared is not None:
            self.declared = msgspec.structs.replace(self.declared, log_level=level)
        return {}

    async def _task(self, made: ClientRequest) -> Any:
        return await self.gateway.tasks.answer(made)

    async def _tasks(self, made: ClientRequest) -> Any:
        return await self.gateway.tasks.listed(made)

    async def _subscribe(self, made: ClientRequest) -> Any:
        return await self.subscriptions.subscribe(made)

    async def _listen(self, made: ClientRequest) -> Any:
        return await self.subscriptions.listen(made)

    # what it tells

    def _notified(self, method: str, raw: Raw | msgspec.UnsetType) -> None:
        try:
            params = map_of(msgspec.json.decode(raw)) if raw is not UNSET else EMPTY
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return
        if method == "notifications/cancelled":
            id = params.get("requestId")
            if isinstance(id, int | str):
                self.abandoned(id)
        elif method == "notifications/initialized":
            if self.declared is not None:
                self.initialised = True
                self.greeted.set()
        elif method == "notifications/progress":
            token = params.get("progressToken")
            if isinstance(token, str) and (tell := self._tokens.get(token)) is not None:
                tell(dict(params))
        elif method == "notifications/roots/list_changed":
            for server in self.gateway.routes.servers:
                old = server.negotiated is not None and server.negotiated.era == "handshake"
                if old and len(self._spawned) < MAX_OPEN:
                    self.spawn(self._tell(Target(server, ""), method))

    async def _tell(self, target: Target, method: str) -> None:
        try:
            connection, _ = await target.server.ready()
            await connection.notify(method)
        except RpcError:
            pass

    # what it is asked

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        during: RequestId | None,
        progressed: Callable[[dict[str, Any]], None] | None = None,
    ) -> Any:
        """A request to a client of the old era. `progressed` hears how far it is. Raises RpcError."""
        if self._closed:
            raise RpcError(INTERNAL_ERROR, "The client is gone")
        id = f"interpose-{self._next}"
        self._next += 1
        future = self._asked[id] = asyncio.get_running_loop().create_future()
        if progressed is not None:
            self._tokens[id] = progressed
            params = {**params, "_meta": {**map_of(params.get("_meta")), "progressToken": id}}
        try:
            await self.link.send(request(id, method, params), during=during)
            async with asyncio.timeout(CLIENT_SECONDS):
                return await future
        except TimeoutError:
            self._give_up(id, during)
            raise RpcError(REQUEST_TIMEOUT, f"The client did not answer within {CLIENT_SECONDS:g} seconds") from None
        except LinkError as error:
            raise RpcError(INTERNAL_ERROR, str(error)) from None
        except asyncio.CancelledError:
            self._give_up(id, during)
            raise
        finally:
            self._asked.pop(id, None)
            self._tokens.pop(id, None)

    def _give_up(self, id: str, during: RequestId | None) -> None:
        if not self._closed:
            self.link.post(notification("notifications/cancelled", {"requestId": id}), during=during)

    def _answered(self, frame: Frame) -> None:
        future = self._asked.get(frame.id) if isinstance(frame.id, str) else None
        if future is None or future.done():
            return
        try:
            if frame.error is not UNSET:
                said = map_of(msgspec.json.decode(frame.error))
                code = said.get("code")
                future.set_exception(
                    RpcError(code if type(code) is int else INTERNAL_ERROR, str(said.get("message", ""))[:8000])
                )
            else:
                future.set_result(None if frame.result is UNSET else msgspec.json.decode(frame.result))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            future.set_exception(RpcError(INTERNAL_ERROR, "The client's answer can't be read"))

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Work for this client that nobody waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)
        return task


_Handler = Callable[[Conversation, ClientRequest], Awaitable[Any]]
_ANSWERED: Mapping[str, _Handler] = {
    "initialize": Conversation._initialize,  # noqa: SLF001 - the table of what this class answers
    "server/discover": Conversation._discover,  # noqa: SLF001
    "ping": Conversation._ping,  # noqa: SLF001
    "completion/complete": Conversation._complete,  # noqa: SLF001
    "logging/setLevel": Conversation._set_level,  # noqa: SLF001
    "resources/subscribe": Conversation._subscribe,  # noqa: SLF001
    "resources/unsubscribe": Conversation._subscribe,  # noqa: SLF001
    "subscriptions/listen": Conversation._listen,  # noqa: SLF001
    "tasks/list": Conversation._tasks,  # noqa: SLF001
    **dict.fromkeys(_LISTS, Conversation._list),  # noqa: SLF001
    **dict.fromkeys(tasks.METHODS, Conversation._task),  # noqa: SLF001
}
