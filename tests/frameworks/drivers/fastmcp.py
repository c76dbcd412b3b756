"""Plays scripts with a FastMCP server and a client in one process. The client stands for the agent and its model."""

from __future__ import annotations

import asyncio
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult

from interpose.frameworks.fastmcp import guard
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
    server = FastMCP("notes", middleware=[] if script.options is None else [guard(**script.options)])
    server.tool(script.tool.arun, name="note", description="Take a note.")

    async def answer(message: str, _kind: Any, _asked: Any, _context: Any) -> ElicitResult[Any]:
        played.questions.append(message)
        return ElicitResult(action="accept", content={"answer": script.person})

    async with Client(server, elicitation_handler=answer, mode=era) as client:
        calls = [client.call_tool_mcp("note", {"text": text}, meta=META) for text in script.calls]
        for result in await asyncio.gather(*calls):
            played.seen.append("\n".join(part.text for part in result.content if part.type == "text"))
    played.said = DONE
