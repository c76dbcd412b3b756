"""The official SDK of MCP in the process of the test: its client before a gateway of ours, its servers behind it.

Nothing is started: clients and servers over stdio have pipes and streams of this process, those over HTTP a loopback
port of it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from interpose.composition.service.service import Service
from interpose.core.config.gateway_servers import GatewayServer
from interpose.doors.http_server.listener import Listener, Tcp
from interpose.doors.mcp.clients.http_serving import ServedGateway
from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.links.child_link import ServerProgram
from interpose.doors.mcp.links.links import LinkError, Outgoing, ServerSide
from interpose.doors.mcp.opening import open_gateway, serve_stdio
from tests.e2e.mcp_servers.sdk_server import serve_streams, web_server
from tests.support.peers.mcp_http import TOKENS, trust
from tests.support.timing.patience import PATIENCE

VERSIONS = {"handshake": "2025-11-25", "modern": "2026-07-28"}
ERAS = tuple(VERSIONS)
MODES = {"handshake": "legacy", "modern": "auto"}


async def say_red(context: Any, params: Any) -> types.ElicitResult:
    """The person answers every question with a colour."""
    return types.ElicitResult(action="accept", content={"colour": "red"})


def said(result: types.CallToolResult) -> str:
    return "".join(part.text for part in result.content if isinstance(part, types.TextContent))


# servers


class StreamedServer:
    """A link to a server of the SDK that runs in this process, where `ChildLink` would start its program."""

    def __init__(self, program: ServerProgram) -> None:
        self._program = program

    async def open(self, side: ServerSide, /) -> None:
        if self._program.command != sys.executable:
            raise LinkError(f"there is no program {self._program.command!r} in its PATH")
        kind = self._program.args[-1]
        self._to_server, reads = anyio.create_memory_object_stream[SessionMessage | Exception](100)
        writes, from_server = anyio.create_memory_object_stream[SessionMessage](100)

        async def listen() -> None:
            async with from_server:
                async for message in from_server:
                    side.received(_frame(message))

        async def serve() -> None:
            async with reads, writes:
                await serve_streams(kind, reads, writes)

        self._tasks = [asyncio.ensure_future(listen()), asyncio.ensure_future(serve())]

    async def send(self, frame: bytes, about: Outgoing, /) -> None:
        await self._to_server.send(_message(frame))

    def negotiated(self, era: Era, version: str, /) -> None: ...

    async def close(self) -> None:
        await self._to_server.aclose()
        await asyncio.wait_for(asyncio.gather(*self._tasks), PATIENCE)


def _message(frame: bytes) -> SessionMessage:
    return SessionMessage(types.jsonrpc_message_adapter.validate_json(frame, by_name=False))


def _frame(message: SessionMessage) -> bytes:
    return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()


@asynccontextmanager
async def behind(kind: str) -> AsyncIterator[GatewayServer]:
    """A server of this kind, as the configuration names it."""
    if kind in ("old", "both"):
        yield GatewayServer(command=sys.executable, args=(kind,))
        return
    server, listening = web_server(kind), socket.create_server(("127.0.0.1", 0))
    serving = asyncio.ensure_future(server.serve([listening]))
    at = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        yield GatewayServer(url=f"{at}/sse", transport="sse") if kind == "sse" else GatewayServer(url=f"{at}/mcp")
    finally:
        server.should_exit = server.force_exit = True
        await serving
        listening.close()


# clients, each with its gateway


@asynccontextmanager
async def http_client(service: Service, servers: Mapping[str, GatewayServer], era: str) -> AsyncIterator[Client]:
    """A client over HTTP, before `interpose mcp gateway --http`."""
    gateway = ServedGateway(service, servers, version="1")
    listener = Listener(gateway.routes(), [Tcp("127.0.0.1")], gateway.trusting(trust()), shutdown_timeout=1)
    await listener.start()
    gateway.start()
    try:
        headers = {"Authorization": f"Bearer {TOKENS['ada']}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
            transport = streamable_http_client(f"{listener.addresses[0]}/mcp", http_client=http)
            async with Client(transport, mode=MODES[era], elicitation_callback=say_red) as one:
                yield one
    finally:
        gateway.hush()
        await listener.stop()
        await gateway.close()


@asynccontextmanager
async def stdio_client(
    service: Service, servers: Mapping[str, GatewayServer], era: str, *, transparent: bool
) -> AsyncIterator[Client]:
    """A client over two pipes, before `interpose mcp gateway`, or `interpose mcp wrap` where it is transparent."""
    there, here = os.pipe(), os.pipe()
    gateway = open_gateway(service, servers, version="1", transparent=transparent)
    serving = asyncio.ensure_future(serve_stdio(gateway, there[0], here[1]))
    try:
        transport = _piped(here[0], there[1])
        async with Client(transport, mode=MODES[era], elicitation_callback=say_red) as one:
            yield one
    finally:
        await asyncio.wait_for(serving, PATIENCE)


@asynccontextmanager
async def _piped(reads: int, writes: int) -> AsyncIterator[Any]:
    """The streams of a client that has these pipes. When it goes, both are closed."""
    loop, incoming = asyncio.get_running_loop(), asyncio.StreamReader(limit=2**20)
    reader, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(incoming), os.fdopen(reads, "rb", 0))
    writer, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(writes, "wb", 0))
    to_client, received = anyio.create_memory_object_stream[SessionMessage | Exception](100)
    to_server, sent = anyio.create_memory_object_stream[SessionMessage](100)

    async def receive() -> None:
        async with to_client:
            async for line in incoming:
                await to_client.send(_message(line))

    async def send() -> None:
        async with sent:
            async for message in sent:
                writer.write(_frame(message) + b"\n")

    async with anyio.create_task_group() as group, received, to_server:
        group.start_soon(receive)
        group.start_soon(send)
        yield received, to_server
        group.cancel_scope.cancel()
    writer.close()
    reader.close()


# what a client finds behind a gateway, whatever it speaks


async def use_toy(one: Client, era: str, prefix: str = "") -> None:
    """Everything that the SDK's server has, through the gateway: results, refusals, questions, progress, cancelling."""
    steps: list[float] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    assert one.protocol_version == VERSIONS[era]
    assert one.instructions == "Be kind to the toy."
    names = [tool.name for tool in (await one.list_tools()).tools]
    assert names == [f"{prefix}{name}" for name in ("add", "run_command", "show_key", "count", "wait", "favourite")]
    assert said(await one.call_tool(f"{prefix}add", {"a": 2, "b": 3})) == "5"

    denied = await one.call_tool(f"{prefix}run_command", {"command": "rm -rf /"})
    assert denied.is_error
    assert "would have run" not in said(denied)
    assert said(await one.call_tool(f"{prefix}run_command", {"command": "ls"})) == "would have run ls"
    assert "kJ8xkJ8x" not in said(await one.call_tool(f"{prefix}show_key", {}))

    assert said(await one.call_tool(f"{prefix}favourite", {})) == "It is red."
    counted = await one.call_tool(f"{prefix}count", {"to": 3}, progress_callback=progressed)
    assert said(counted) == "counted to 3"
    assert steps == [1, 2, 3]
    with anyio.move_on_after(0.5):
        await one.call_tool(f"{prefix}wait", {})
    assert said(await one.call_tool(f"{prefix}add", {"a": 1, "b": 1})) == "2"

    (resource,) = (await one.list_resources()).resources
    read = await one.read_resource(resource.uri)
    assert isinstance(read.contents[0], types.TextResourceContents)
    assert read.contents[0].text == "hello"
    prompt = await one.get_prompt(f"{prefix}greet", {"name": "Ada"})
    assert isinstance(prompt.messages[0].content, types.TextContent)
    assert prompt.messages[0].content.text == "Greet Ada."
    with pytest.raises(MCPError, match="Unknown tool"):
        await one.call_tool(f"{prefix}nothing", {})


async def use_both(one: Client) -> None:
    """Servers of both eras, `old` and `new`, behind one gateway, and one that can't be started: `absent`."""
    names = [tool.name for tool in (await one.list_tools()).tools]
    assert "old__add" in names
    assert "new__add" in names
    for server in ("old", "new"):
        assert said(await one.call_tool(f"{server}__add", {"a": 2, "b": 3})) == "5"
        assert said(await one.call_tool(f"{server}__favourite", {})) == "It is red."
        assert (await one.call_tool(f"{server}__run_command", {"command": "rm -rf /"})).is_error
    uris = [str(resource.uri) for resource in (await one.list_resources()).resources]
    assert len(uris) == 2
    assert all(uri.startswith("interpose://") for uri in uris), "both have toy://greeting"
    for uri in uris:
        assert (await one.read_resource(uri)).contents
    with pytest.raises(MCPError, match="there is no program"):
        await one.call_tool("absent__x", {})
