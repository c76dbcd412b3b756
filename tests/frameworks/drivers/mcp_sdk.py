"""Plays scripts with an MCP server and a client in one process. The client stands for the agent and its model."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ElicitResult

from interpose.frameworks.mcp_sdk import guard
from tests.frameworks.playing import DONE, SESSION, Mode, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("async",)

META: Any = {"interpose/session": SESSION}


def play(script: Script, era: str = "auto") -> Played:
    played = Played()
    try:
        asyncio.run(_play(script, played, era))
    except Exception as error:
        played.error, played.said = error, str(error)
    return played


async def _play(script: Script, played: Played, era: str) -> None:
    server = MCPServer("notes", middleware=[] if script.options is None else [guard("notes", **script.options)])

    async def note(text: str) -> str:
        try:
            return await script.tool.arun(text)
        except Exception as error:
            raise ToolError(str(error)) from error  # what else is raised the SDK itself keeps from the client

    server.add_tool(note, name="note", description="Take a note.")

    async def answer(context: Any, params: Any) -> ElicitResult:
        played.questions.append(params.message)
        return ElicitResult(action="accept", content={"answer": script.person})

    async with Client(server, elicitation_callback=answer, mode=era) as client:
        calls = [client.call_tool("note", {"text": text}, meta=META) for text in script.calls]
        for result in await asyncio.gather(*calls):
            played.seen.append("\n".join(part.text for part in result.content if part.type == "text"))
    played.said = DONE
