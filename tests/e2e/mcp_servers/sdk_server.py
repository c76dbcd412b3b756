"""A server made with the official SDK: `both` answers in either era, `old` knows the handshake only.

`http-both` and `http-old` are the same over streamable HTTP, `sse` is the transport before it; they say their port.

It runs nothing: `run_command` says what it would have run.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from pydantic import BaseModel
from starlette.responses import Response

server = MCPServer("toy", instructions="Be kind to the toy.")
OLD = ("old", "http-old")
ASKED = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


class Colour(BaseModel):
    colour: str


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def run_command(command: str) -> str:
    """Run a command in a shell."""
    return f"would have run {command}"


@server.tool()
def show_key() -> str:
    """Show what is configured."""
    return "aws_access_key_id = AKIA" + "Z7VRSQ5TJN2XMPLW\naws_secret_access_key = " + "kJ8x" * 10


@server.tool()
async def count(ctx: Context[Any], to: int) -> str:
    """Count, and say how far."""
    for number in range(1, to + 1):
        await ctx.report_progress(number, to)
    return f"counted to {to}"


@server.tool()
async def wait() -> str:
    """Wait for ever."""
    await anyio.sleep_forever()
    return "never"


@server.tool()
async def favourite(ctx: Context[Any]) -> types.CallToolResult | types.InputRequiredResult:
    """Ask for the favourite colour."""
    if sys.argv[1] in OLD:
        said = await ctx.elicit("Which colour?", Colour)
        colour = said.data.colour if said.action == "accept" else "none"
    elif ctx.input_responses is None:
        params = types.ElicitRequestFormParams(message="Which colour?", requested_schema=ASKED)
        return types.InputRequiredResult(
            input_requests={"colour": types.ElicitRequest(params=params)}, request_state="the server's own"
        )
    else:
        assert ctx.request_state == "the server's own"
        answer = ctx.input_responses["colour"]
        assert isinstance(answer, types.ElicitResult)
        colour = str((answer.content or {}).get("colour", "none"))
    return types.CallToolResult(content=[types.TextContent(text=f"It is {colour}.")])


@server.resource("toy://greeting")
def greeting() -> str:
    """A greeting."""
    return "hello"


@server.resource("toy://item/{id}")
def item(id: str) -> str:
    """An item."""
    return f"item {id}"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Greet {name}."


async def old() -> None:
    inner = server._lowlevel_server
    async with stdio_server() as (reads, writes), inner.lifespan(inner) as state:
        await serve_loop(inner, reads, writes, lifespan_state=state)


def over_http() -> None:
    app = server.sse_app() if sys.argv[1] == "sse" else server.streamable_http_app()

    async def only_old(scope: Any, receive: Any, send: Any) -> None:
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"")
        if version == b"2026-07-28":
            await Response("Bad Request: Unsupported protocol version", 400)(scope, receive, send)
        else:
            await app(scope, receive, send)

    listening = socket.create_server(("127.0.0.1", 0))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    settings = uvicorn.Config(only_old if sys.argv[1] in OLD else app, log_level="warning")
    uvicorn.Server(settings).run([listening])


if sys.argv[1] == "old":
    anyio.run(old)
elif sys.argv[1] == "both":
    server.run("stdio")
else:
    over_http()
