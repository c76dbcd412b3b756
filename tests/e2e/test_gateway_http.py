"""The official SDK's client over HTTP, in both eras, before servers of all kinds."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import MCPError

from tests.e2e.mcp_over_http import SDK, client, gateway, said, server

VERSIONS = {"handshake": "2025-11-25", "modern": "2026-07-28"}
KINDS = ("old", "both", "http-old", "http-both", "sse")


def behind(stack: ExitStack, home: Path, kind: str) -> dict[str, Any]:
    """A server of this kind, as the configuration names it."""
    if kind in ("old", "both"):
        return {"command": sys.executable, "args": [SDK, kind]}
    _, port = stack.enter_context(server(home, kind))
    if kind == "sse":
        return {"url": f"http://127.0.0.1:{port}/sse", "transport": "sse"}
    return {"url": f"http://127.0.0.1:{port}/mcp"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("era", VERSIONS)
def test_a_client_over_http_before_a_server_of_every_kind(tmp_path: Path, era: str, kind: str) -> None:
    async def main(port: int) -> None:
        steps: list[float] = []

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            steps.append(progress)

        async with client(port, era) as one:
            assert one.protocol_version == VERSIONS[era]
            assert one.instructions == "Be kind to the toy."
            names = [tool.name for tool in (await one.list_tools()).tools]
            assert names == [
                f"toy__{name}" for name in ("add", "run_command", "show_key", "count", "wait", "favourite")
            ]
            assert said(await one.call_tool("toy__add", {"a": 2, "b": 3})) == "5"

            denied = await one.call_tool("toy__run_command", {"command": "rm -rf /"})
            assert denied.is_error
            assert "would have run" not in said(denied)
            assert said(await one.call_tool("toy__run_command", {"command": "ls"})) == "would have run ls"
            assert "kJ8xkJ8x" not in said(await one.call_tool("toy__show_key", {}))

            assert said(await one.call_tool("toy__favourite", {})) == "It is red."
            assert said(await one.call_tool("toy__count", {"to": 3}, progress_callback=progressed)) == "counted to 3"
            assert steps == [1, 2, 3]
            with anyio.move_on_after(0.5):
                await one.call_tool("toy__wait", {})
            assert said(await one.call_tool("toy__add", {"a": 1, "b": 1})) == "2"

            (resource,) = (await one.list_resources()).resources
            read = await one.read_resource(resource.uri)
            assert isinstance(read.contents[0], types.TextResourceContents)
            assert read.contents[0].text == "hello"
            prompt = await one.get_prompt("toy__greet", {"name": "Ada"})
            assert isinstance(prompt.messages[0].content, types.TextContent)
            assert prompt.messages[0].content.text == "Greet Ada."
            with pytest.raises(MCPError, match="Unknown tool"):
                await one.call_tool("toy__nothing", {})

    with ExitStack() as stack:
        toy = behind(stack, tmp_path / "server", kind)
        _, port = stack.enter_context(gateway(tmp_path / "home", {"toy": toy}))
        asyncio.run(main(port))
