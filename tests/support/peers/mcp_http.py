"""MCP over HTTP in one process: a gateway on a loopback port, and servers behind it that say what a test wants."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from interpose.core.config.gateway import GatewayDecisions
from interpose.core.config.settings import ServerLimits
from interpose.core.types import Context
from interpose.doors.http_client.addresses import Reach, parse_url
from interpose.doors.http_server.listener import Listener, Tcp
from interpose.doors.http_server.tokens import Token, Tokens, digest_of
from interpose.doors.http_server.trust import Trust
from interpose.doors.mcp.clients.http_clients import HttpClients
from interpose.doors.mcp.gate.contract import Client
from interpose.doors.mcp.gate.gate_context import client_context
from interpose.doors.mcp.gateway import SHARED, Behind, Gateway
from interpose.doors.mcp.links.eras import CLIENT_CAPABILITIES, PROTOCOL_VERSION, Declared
from interpose.doors.mcp.links.frames import RequestId
from interpose.doors.mcp.links.http_link import HttpLink, HttpPlace
from interpose.doors.mcp.servers.supervised_server import ServerTimes
from tests.support.peers.mcp_peers import OpenCatalogue, OpenGate
from tests.support.timing.patience import PATIENCE

MODERN, OLD = "2026-07-28", "2025-11-25"
TOKENS = {"ada": "ada-" + "a" * 40, "bob": "bob-" + "b" * 40}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def trust(**more: Any) -> Trust:
    """Trust in Ada and Bob."""
    known = tuple(Token(name, "agent", digest_of(token), token) for name, token in TOKENS.items())
    return Trust(tokens=Tokens(known), **more)


class Said(Struct, frozen=True):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        return [
            json.loads(line[6:]) for line in self.body.replace(b"\r", b"").split(b"\n") if line.startswith(b"data: ")
        ]


class HttpSite:
    """A gateway that listens."""

    def __init__(self, gateway: Gateway, clients: HttpClients, gate: OpenGate, port: int) -> None:
        self.gateway, self.clients, self.gate, self.port = gateway, clients, gate, port

    async def ask(self, method: str, headers: Mapping[str, str], body: bytes = b"", path: str = "/mcp") -> Said:
        return await asyncio.to_thread(self._ask, method, headers, body, path)

    def _ask(self, method: str, headers: Mapping[str, str], body: bytes, path: str) -> Said:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body or None, dict(headers))
            answer = connection.getresponse()
            return Said(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    async def modern(self, method: str, params: Mapping[str, Any], who: str = "ada", **headers: str | None) -> Said:
        """A request of the modern era; a header of None is left out."""
        meta = {PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: {"elicitation": {"form": {}}}}
        said = dict(params)
        said["_meta"] = meta | dict(said.get("_meta", {}))
        name = said.get("uri" if method == "resources/read" else "name")
        given: dict[str, str | None] = {"Mcp-Protocol-Version": MODERN, "Mcp-Method": method, "Mcp-Name": name}
        given |= {key.replace("_", "-"): value for key, value in headers.items()}
        return await self.ask("POST", bearer(who) | present(given), frame(1, method, said))

    async def begin(self, who: str = "ada", capabilities: Mapping[str, Any] | None = None) -> dict[str, str]:
        """A session of the old era: the headers of its requests."""
        said = {"protocolVersion": OLD, "capabilities": capabilities or {}, "clientInfo": {"name": "t", "version": "1"}}
        answer = await self.ask("POST", bearer(who), frame(1, "initialize", said))
        assert answer.status == 200, answer
        headers = bearer(who) | {"Mcp-Session-Id": answer.headers["mcp-session-id"], "Mcp-Protocol-Version": OLD}
        told = await self.ask("POST", headers, frame(None, "notifications/initialized"))
        assert told.status == 202
        return headers


def present(headers: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if value is not None}


def bearer(who: str) -> dict[str, str]:
    return ACCEPT | {"Authorization": f"Bearer {TOKENS[who]}"}


def frame(id: int | None, method: str, params: Any = None) -> bytes:
    made: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        made["id"] = id
    if params is not None:
        made["params"] = params
    return json.dumps(made).encode()


@asynccontextmanager
async def site(
    servers: Mapping[str, Callable[[], Any]], *, gate: OpenGate | None = None, limits: ServerLimits | None = None,
    seconds: float = 5.0, trusting: Trust | None = None,
) -> AsyncIterator[HttpSite]:  # fmt: skip
    """A gateway before these servers; each is a function that makes a link."""
    gate, believed = gate or OpenGate(), trusting or trust()
    times = ServerTimes(start=5, probe=1, request=seconds)
    behind = [Behind(name=name, connect=make, prefix=name, times=times) for name, make in servers.items()]
    gateway = Gateway(behind, gate, OpenCatalogue(), identify=identified, pause=lambda _failures: 0.02)
    clients = HttpClients(gateway, believed.challenge)
    listener = Listener(clients.routes(), [Tcp("127.0.0.1")], believed, limits, shutdown_timeout=1)
    await listener.start()
    gateway.start(SHARED)
    try:
        yield HttpSite(gateway, clients, gate, int(listener.addresses[0].rpartition(":")[2]))
    finally:
        clients.hush()
        await listener.stop()
        clients.sessions.close()
        await gateway.close()


def identified(client: Client, declared: Declared, meta: Mapping[str, Any], id: RequestId) -> Context:
    """As the gateway of the command line has it."""
    said = client.context.session_id
    return client_context(GatewayDecisions(), meta=meta, principal=client.principal, token_session=said)


class Asked(Struct, frozen=True):
    """A request that a toy server got."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        return json.loads(self.body) if self.body else {}


Script = Callable[[Asked, asyncio.StreamWriter], Any]


class HttpToy:
    """A server that answers as a script says: bytes to send, or None to hang. What it was asked is remembered."""

    def __init__(self, script: Script | None = None, *, modern: bool = True) -> None:
        self.script, self.modern = script, modern
        self.asked: list[Asked] = []
        self.tools: list[dict[str, Any]] = [{"name": "echo", "inputSchema": {"type": "object"}}]
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def link(self, reach: Reach = "named", tokens: Any = None) -> Callable[[], HttpLink]:
        return lambda: HttpLink(HttpPlace(name="toy", url=parse_url(self.url), reach=reach), tokens)

    def calls(self) -> list[Asked]:
        return [one for one in self.asked if one.message.get("method") == "tools/call"]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:]) if k}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                method, path, _ = lines[0].split(" ")
                asked = Asked(method, path, headers, body)
                self.asked.append(asked)
                said = self.script(asked, writer) if self.script is not None else NotImplemented
                if asyncio.iscoroutine(said):
                    said = await said
                if said is NotImplemented:
                    said = self.usual(asked)
                if said is not None:
                    writer.write(said)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def usual(self, asked: Asked) -> bytes:
        if asked.method != "POST":
            return answer(405, b"")
        message = asked.message
        if "id" not in message or "method" not in message:
            return answer(202, b"")
        return reply(message["id"], self.result(message), **{"Mcp-Session-Id": "toy-session"})

    def result(self, message: Any) -> Any:
        known: dict[str, Any] = {"tools/list": {"tools": self.tools}}
        if self.modern:
            known["server/discover"] = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}}
        else:
            info = {"name": "toy", "version": "1"}
            known["initialize"] = {"protocolVersion": OLD, "capabilities": {"tools": {}}, "serverInfo": info}
        if message["method"] == "tools/call":
            return {"content": [{"type": "text", "text": json.dumps(message["params"].get("arguments"))}]}
        return known.get(message["method"])


def answer(status: int, body: bytes, kind: str = "application/json", **headers: str) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{lines}\r\n"
    return head.encode() + body


def reply(id: Any, result: Any, **headers: str) -> bytes:
    if result is None:
        error = {"code": -32601, "message": "Method not found"}
        return answer(404, json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode())
    return answer(200, json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode(), **headers)


@asynccontextmanager
async def listening(toy: HttpToy) -> AsyncIterator[HttpToy]:
    server = await asyncio.start_server(toy.serve, "127.0.0.1", 0)
    toy.port = server.sockets[0].getsockname()[1]
    try:
        yield toy
    finally:
        server.close()


def text_of(said: Said) -> str:
    return str(said.json["result"]["content"][0]["text"])
