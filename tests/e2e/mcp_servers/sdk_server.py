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

OLD = ("old", "http-old")
ASKED = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}


class Colour(BaseModel):
    colour: str


def make_server(kind: str) -> MCPServer:
    """A server of this kind."""
    server = MCPServer("toy", instructions="Be kind to the toy.")

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
        if kind in OLD:
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

    return server


async def serve_streams(kind: str, reads: Any, writes: Any) -> None:
    """Serve the one client of these streams until it goes."""
    inner = make_server(kind)._lowlevel_server
    if kind not in OLD:
        await inner.run(reads, writes, inner.create_initialization_options())
        return
    async with inner.lifespan(inner) as state:
        await serve_loop(inner, reads, writes, lifespan_state=state)


def web_app(kind: str) -> Any:
    """The server as an application of a web server."""
    made = make_server(kind)
    app = made.sse_app() if kind == "sse" else made.streamable_http_app()

    async def only_old(scope: Any, receive: Any, send: Any) -> None:
        version = dict(scope.get("headers", ())).get(b"mcp-protocol-version", b"")
        if version == b"2026-07-28":
            await Response("Bad Request: Unsupported protocol version", 400)(scope, receive, send)
        else:
            await app(scope, receive, send)

    return only_old if kind in OLD else app


def web_server(kind: str) -> uvicorn.Server:
    """A web server with it. It is told where to listen."""
    return uvicorn.Server(uvicorn.Config(web_app(kind), log_level="warning"))


async def over_stdio(kind: str) -> None:
    async with stdio_server() as (reads, writes):
        await serve_streams(kind, reads, writes)


def over_http(kind: str, port: int) -> None:
    listening = socket.create_server(("127.0.0.1", port))
    sys.stdout.write(f"{listening.getsockname()[1]}\n")
    sys.stdout.flush()
    web_server(kind).run([listening])


if __name__ == "__main__":
    if sys.argv[1] in ("old", "both"):
        anyio.run(over_stdio, sys.argv[1])
    else:
        over_http(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
