"""Plays scripts with the Claude Agent SDK and the program that it carries, against a model on loopback."""

from __future__ import annotations

import asyncio
import json
import tempfile
from typing import Any

from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    ToolPermissionContext,
    create_sdk_mcp_server,
    query,
    tool,
)

from interpose.frameworks.claude_agent_sdk import guard
from tests.frameworks.fake_claude import Block, FakeClaude, results_of
from tests.frameworks.playing import DONE, HELPER, SESSION, Mode, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("async", "stream")

_NOTE, _SYSTEM = "mcp__notes__note", "You are the helper of this test."


def play(script: Script) -> Played:
    played = Played()
    model = _Model(script)
    try:
        with model.served as server, tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            played.said = asyncio.run(_run(script, server.url, place, played))
    except Exception as error:
        played.error, played.said = error, str(error)
    model.seen(played)
    return played


class _Model:
    """Calls tools once, then is done: that of the helper, and that of the main agent, who only hands over."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.served = FakeClaude(self._answer)

    def _answer(self, body: Any) -> list[Block]:
        if not body.get("tools") or results_of(body):
            return [{"type": "text", "text": DONE}]
        if self.script.sub_agent and not _is_helper(body):
            asks: dict[str, Any] = {"subagent_type": HELPER, "prompt": self.script.message, "description": "notes"}
            asks["run_in_background"] = False  # or the conversation may be over before the helper's first call
            return [{"type": "tool_use", "id": "toolu_d", "name": "Agent", "input": asks}]
        return [
            {"type": "tool_use", "id": f"toolu_{number}", "name": _NOTE, "input": {"text": text}}
            for number, text in enumerate(self.script.calls)
        ]

    def seen(self, played: Played) -> None:
        asked = [body for body in self.served.requests if body.get("tools")]
        for body in [body for body in asked if _is_helper(body) or not self.script.sub_agent][-1:]:
            results = results_of(body)
            numbers = range(len(self.script.calls))
            played.seen = [results[f"toolu_{n}"] for n in numbers if f"toolu_{n}" in results]
        if asked:
            texts = [asked[0]["messages"][0]["content"]] if asked else []
            content = texts[0] if isinstance(texts[0], str) else texts[0][-1]["text"]
            played.heard = content.strip()


def _is_helper(body: Any) -> bool:
    return _SYSTEM in json.dumps(body["system"])


async def _run(script: Script, url: str, place: str, played: Played) -> str:
    @tool("note", "Take a note.", {"text": str})
    async def note(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await script.tool.arun(arguments["text"])}]}

    async def person(_tool: str, arguments: dict[str, Any], context: ToolPermissionContext) -> Any:
        played.questions.append(f"{context.decision_reason} {arguments}")
        return PermissionResultAllow() if script.person == "yes" else PermissionResultDeny("no")

    options = ClaudeAgentOptions(
        hooks=None if script.options is None else guard(**script.options),
        can_use_tool=person,
        mcp_servers={"notes": create_sdk_mcp_server("notes", tools=[note])},
        allowed_tools=[_NOTE],
        tools=["Agent"] if script.sub_agent else [],
        agents={HELPER: AgentDefinition(description="Takes notes.", prompt=_SYSTEM)},
        setting_sources=[],
        session_id=SESSION,
        cwd=place,
        env={
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "x",
            "CLAUDE_CONFIG_DIR": place,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )
    said = ""
    if script.mode == "async":
        async with ClaudeSDKClient(options) as client:
            await client.query(script.message)
            async for message in client.receive_response():
                said = _said(message, said)
        return said
    async for message in query(prompt=_typed(script.message), options=options):
        said = _said(message, said)
    return said


async def _typed(text: str) -> Any:
    yield {"type": "user", "message": {"role": "user", "content": text}}


def _said(message: Any, said: str) -> str:
    return str(message.result) if isinstance(message, ResultMessage) else said
