"""MCP peers in memory: servers of both eras that say what a test wants, a client, a gate and a catalogue."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from interpose.core.types import Context
from interpose.doors.mcp.gate.contract import AnswerNow, Asked, Client, Era, Forward, Gated, ServerListing
from interpose.doors.mcp.gateway import Behind, Gateway
from interpose.doors.mcp.links.eras import CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION
from interpose.doors.mcp.links.frames import RequestId
from interpose.doors.mcp.links.links import Outgoing, ServerSide
from interpose.doors.mcp.servers.supervised_server import ServerTimes
from tests.support.timing.patience import PATIENCE

Message = dict[str, Any]
Handler = Callable[["FakeServer", Message], Any]

SILENT = object()
"""A handler that returns this does not answer."""


class PeerError(Exception):
    """An error answer."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


def tool(name: str, **more: Any) -> Message:
    return {"name": name, "description": f"The tool {name}", "inputSchema": {"type": "object"}} | more


def text(said: str) -> Message:
    return {"content": [{"type": "text", "text": said}]}


class FakeServer:
    """A server. `on` maps methods to results, or to functions of the message that give one."""

    def __init__(
        self,
        era: Era = "modern",
        tools: Sequence[str] = ("echo",),
        on: Mapping[str, Any] | None = None,
        **capabilities: Any,
    ) -> None:
        self.era = era
        self.capabilities = {"tools": {"listChanged": True}} | capabilities
        self.on: dict[str, Any] = {
            "tools/list": {"tools": [tool(name) for name in tools]},
            "tools/call": lambda _server, message: text(json.dumps(message["params"].get("arguments"))),
        } | dict(on or {})
        self.lines: list[bytes] = []
        self.seen: list[Message] = []
        self.about: list[Outgoing] = []
        self.answers: dict[Any, asyncio.Future[Message]] = {}
        self.opened = self.closed = 0
        self.side: ServerSide

    # the link

    async def open(self, side: ServerSide, /) -> None:
        self.side = side
        self.opened += 1

    async def send(self, frame: bytes, about: Outgoing, /) -> None:
        self.lines.append(frame)
        self.about.append(about)
        message = json.loads(frame)
        self.seen.append(message)
        if "method" not in message:
            if (waiting := self.answers.get(message["id"])) is not None and not waiting.done():
                waiting.set_result(message)
        elif "id" in message:
            asyncio.get_running_loop().create_task(self._answer(message))

    def negotiated(self, era: Era, version: str, /) -> None: ...

    async def close(self) -> None:
        self.closed += 1

    # the server

    async def _answer(self, message: Message) -> None:
        try:
            result = await self._result(message)
        except PeerError as error:
            self.say({"id": message["id"], "error": error.error})
            return
        if result is not SILENT:
            self.say({"id": message["id"], "result": result})

    async def _result(self, message: Message) -> Any:
        method = message["method"]
        if method not in self.on:
            if method == "server/discover" and self.era == "modern":
                return {
                    "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": self.capabilities,
                    "ttlMs": 0, "cacheScope": "private",
                }  # fmt: skip
            if method == "initialize" and self.era == "handshake":
                return {
                    "protocolVersion": "2025-11-25", "capabilities": self.capabilities,
                    "serverInfo": {"name": "fake", "version": "1"},
                }  # fmt: skip
            if method == "subscriptions/listen":
                return SILENT
            raise PeerError(-32601, "Method not found")
        found = self.on[method]
        result = found(self, message) if callable(found) else found
        if isinstance(result, Awaitable):
            result = await result
        if isinstance(result, dict) and self.era == "modern" and "resultType" not in result:
            result = {"resultType": "complete", **result}
        return result

    def say(self, message: Message, during: int | None = None) -> None:
        self.side.received(json.dumps({"jsonrpc": "2.0"} | message).encode(), during)

    async def ask(self, id: Any, method: str, params: Message | None = None) -> Message:
        self.answers[id] = asyncio.get_running_loop().create_future()
        self.say({"id": id, "method": method, "params": params or {}})
        return await self.answers[id]

    def calls(self, method: str = "tools/call") -> list[Message]:
        return [message for message in self.seen if message.get("method") == method]


class FakeClient:
    """A client of either era. `answers` maps methods of the server's requests to what the person says."""

    def __init__(
        self, era: Era = "modern", capabilities: Message | None = None, answers: Message | None = None
    ) -> None:
        self.era, self.capabilities, self.answers = era, capabilities or {}, answers or {}
        self.frames: list[Message] = []
        self.during: list[RequestId | None] = []
        self._waiting: dict[Any, asyncio.Future[Message]] = {}
        self._next = 0
        self.conversation: Any = None

    async def send(self, frame: bytes, *, answers: RequestId | None = None, during: RequestId | None = None) -> None:
        self._take(frame, during)

    def post(self, frame: bytes, *, during: RequestId | None = None) -> bool:
        self._take(frame, during)
        return True

    def _take(self, frame: bytes, during: RequestId | None) -> None:
        message = json.loads(frame)
        self.frames.append(message)
        self.during.append(during)
        if "method" not in message:
            if (waiting := self._waiting.get(message["id"])) is not None and not waiting.done():
                waiting.set_result(message)
        elif "id" in message:
            said = self.answers[message["method"]]
            said = said(message) if callable(said) else said
            if said is not SILENT:
                self.say({"id": message["id"], "result": said})

    def say(self, message: Message) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0"} | message).encode())

    def raw(self, line: bytes) -> None:
        self.conversation.received(line)

    def params(self, params: Message | None = None) -> Message:
        params = dict(params or {})
        if self.era == "modern":
            envelope = {
                PROTOCOL_VERSION: "2026-07-28",
                CLIENT_CAPABILITIES: self.capabilities,
                CLIENT_INFO: {"name": "t"},
            }
            params["_meta"] = envelope | params.get("_meta", {})
        return params

    def begin(self, method: str, params: Message | None = None) -> tuple[int, asyncio.Future[Message]]:
        self._next += 1
        id = self._next
        future = self._waiting[id] = asyncio.get_running_loop().create_future()
        self.say({"id": id, "method": method, "params": self.params(params)})
        return id, future

    async def request(self, method: str, params: Message | None = None) -> Message:
        """The whole answer."""
        return await asyncio.wait_for(self.begin(method, params)[1], PATIENCE)

    async def result(self, method: str, params: Message | None = None) -> Message:
        answer = await self.request(method, params)
        assert "result" in answer, answer
        return dict(answer["result"])

    async def call(self, name: str, arguments: Message | None = None, **more: Any) -> Message:
        return await self.result("tools/call", {"name": name, "arguments": arguments or {}, **more})

    async def greet(self) -> Message:
        if self.era == "modern":
            return await self.result("server/discover")
        said = {"protocolVersion": "2025-11-25", "capabilities": self.capabilities, "clientInfo": {"name": "t"}}
        result = await self.result("initialize", said)
        self.say({"method": "notifications/initialized"})
        return result

    def heard(self, method: str) -> list[Message]:
        return [message for message in self.frames if message.get("method") == method]


class OpenGate:
    """Lets through what `decide` does not answer; remembers all."""

    def __init__(self, decide: Callable[[Asked], Gated | None] = lambda _asked: None) -> None:
        self.decide = decide
        self.asked: list[Asked] = []
        self.results: list[Any] = []
        self.failures: list[tuple[int, str]] = []

    async def before(self, asked: Asked, /) -> Gated:
        self.asked.append(asked)
        return self.decide(asked) or Forward(None, len(self.asked))

    async def after(self, asked: Asked, ticket: Any, result: Mapping[str, Any], /) -> Mapping[str, Any]:
        self.results.append((asked.name, ticket, dict(result)))
        return result

    async def failed(self, asked: Asked, ticket: Any, code: int, message: str, /) -> str:
        self.failures.append((code, message))
        return message

    async def foreseen(self, asked: Asked, /) -> str:
        return "refused" if "bad" in json.dumps(dict(asked.params)) else ""

    def aside(self, said: Mapping[str, Any], /) -> dict[str, Any] | None:
        if "withheld" in json.dumps(dict(said)):
            return None
        shown: dict[str, Any] = json.loads(json.dumps(dict(said)).replace("classified", "[hidden]"))
        return shown

    def hide(
        self, context: Context, server: str, tools: Sequence[Mapping[str, Any]], /
    ) -> tuple[Mapping[str, Any], ...]:
        return tuple(tools)


class OpenCatalogue:
    """Admits all but what is in `holding`."""

    def __init__(self, holding: Sequence[str] = ()) -> None:
        self.holding = holding
        self.listings: list[ServerListing] = []

    def admit(self, listing: ServerListing, /) -> tuple[Mapping[str, Any], ...]:
        self.listings.append(listing)
        return tuple(item for item in listing.items if item.get("name") not in self.holding)

    def held(self, server: str, kind: str, name: str, /) -> str:
        return f"{name} is held" if name in self.holding else ""

    def instructions(self, server: str, /) -> str:
        return next((one.instructions for one in reversed(self.listings) if one.server == server), "")


def refusing(asked: Asked) -> Gated | None:
    """A gate that refuses what has `bad` in its arguments."""
    if "bad" in json.dumps(dict(asked.params)):
        return AnswerNow({"content": [{"type": "text", "text": "refused"}], "isError": True})
    return None


@asynccontextmanager
async def gateway(
    servers: Mapping[str, FakeServer | Callable[[], Any]],
    client: FakeClient,
    gate: OpenGate | None = None,
    catalogue: OpenCatalogue | None = None,
    *,
    greeting: bool = True,
    times: ServerTimes | None = None,
    prefix: Callable[[str], str] = lambda name: name,
    **options: Any,
) -> AsyncIterator[Gateway]:
    """A gateway between these peers; a function makes a new link for each connection."""
    behind = [
        Behind(
            name=name, connect=one if callable(one) else partial(_same, one), prefix=prefix(name),
            times=times or ServerTimes(start=5, probe=0.2, request=5), methods=options.pop(f"methods_{name}", ()),
        )
        for name, one in servers.items()
    ]  # fmt: skip
    made = Gateway(behind, gate or OpenGate(), catalogue or OpenCatalogue(), pause=lambda _failures: 0.01, **options)
    client.conversation = made.converse(client, Client())
    made.start()
    try:
        if greeting:
            await client.greet()
        yield made
    finally:
        await made.close()


def _same(server: FakeServer) -> FakeServer:
    return server


async def until(check: Callable[[], Any], seconds: float = PATIENCE) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.001)
