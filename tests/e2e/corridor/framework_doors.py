"""The doors of agent frameworks: what all adapters stand on, and the adapters that can be played here."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer

from interpose.core.driving import drive
from interpose.doors.frameworks.guarding import AskPerson, FrameworkCall, RunWith
from tests.e2e.corridor.calls import SERVER_TOOLS, Case
from tests.e2e.corridor.doors import Told, session_of, told_of_text
from tests.e2e.corridor.world import World
from tests.frameworks import plain_driver


class FrameworkDoor:
    """`FrameworkGuard`, on which every adapter stands, over an engine, a service or a server (`options`)."""

    names_sessions = True

    def __init__(
        self, world: World, name: str, *, keeps: bool = True, asks: Literal["the desk", "its caller"] = "its caller",
        **options: Any,
    ) -> None:  # fmt: skip
        self.world, self.name, self.keeps, self.options = world, name, keeps, options
        self.asks: Literal["the desk", "its caller"] = asks

    def takes(self, case: Case) -> bool:
        return True

    def tool(self, case: Case) -> str:
        return case.tool

    def arguments(self, kept: dict[str, Any]) -> dict[str, Any]:
        return kept

    def play(self, cases: Sequence[Case]) -> list[Told]:
        guard = plain_driver.guard(**self.options)
        told = []
        for case in cases:
            call = FrameworkCall(
                name=case.tool, arguments=case.arguments, session=session_of(self, case), agent=case.agent,
                cwd=self.world.project,
            )  # fmt: skip
            answer = drive(guard.before(call))
            if isinstance(answer, RunWith):
                outcome = "rewrite" if answer.changed else "allow"
                told.append(Told(outcome=outcome, arguments=answer.arguments))
            elif isinstance(answer, AskPerson):
                told.append(Told(outcome="ask", text=answer.question, arguments=answer.then.arguments))
            else:
                told.append(told_of_text(answer.text))
        return told


class McpSdkDoor(FrameworkDoor):
    """A server of the MCP SDK behind the adapter, and a client of the same package."""

    def tool(self, case: Case) -> str:
        return f"mcp__box__{SERVER_TOOLS[case.tool]}"

    def play(self, cases: Sequence[Case]) -> list[Told]:
        return asyncio.run(self._play(cases))

    async def _play(self, cases: Sequence[Case]) -> list[Told]:
        found: dict[str, Told] = {}
        for agent in sorted({case.agent for case in cases}):  # a guard acts for one agent
            for case, told in await self._play_as(agent, [case for case in cases if case.agent == agent]):
                found[case.note] = told
        return [found[case.note] for case in cases]

    async def _play_as(self, agent: str, cases: Sequence[Case]) -> list[tuple[Case, Told]]:
        from interpose.frameworks.mcp_sdk import guard

        server = MCPServer("box", middleware=[guard("box", agent=agent, cwd=self.world.project, **self.options)])
        server.add_tool(_bash, name="run_command")
        server.add_tool(_read, name="read_file")
        server.add_tool(_write, name="write_file")
        told = []
        async with Client(server) as client:
            for case in cases:
                meta: Any = {"interpose/session": session_of(self, case)}
                said = await client.call_tool(SERVER_TOOLS[case.tool], case.arguments, meta=meta)
                text = "".join(part.text for part in said.content if part.type == "text")
                if said.is_error:
                    told.append((case, told_of_text(text)))
                    continue
                ran = json.loads(text)
                told.append((case, Told(outcome="allow" if ran == case.arguments else "rewrite", arguments=ran)))
        return told


def _bash(command: str) -> str:
    return json.dumps({"command": command})


def _read(file_path: str) -> str:
    return json.dumps({"file_path": file_path})


def _write(file_path: str, content: str) -> str:
    return json.dumps({"file_path": file_path, "content": content})


class ClaudeSdkDoor(FrameworkDoor):
    """The callbacks of the Claude Agent SDK's adapter. They need one class of the SDK, which is replaced."""

    def play(self, cases: Sequence[Case]) -> list[Told]:
        with pytest.MonkeyPatch.context() as patch:
            sdk = ModuleType("claude_agent_sdk")
            sdk.HookMatcher = _HookMatcher  # type: ignore[attr-defined]  # a module that is made here
            patch.setitem(sys.modules, "claude_agent_sdk", sdk)
            for module in ("interpose.doors.frameworks.claude_agent_sdk", "interpose.frameworks.claude_agent_sdk"):
                patch.delitem(sys.modules, module, raising=False)
            adapter = importlib.import_module("interpose.frameworks.claude_agent_sdk")
            (matcher,) = adapter.guard(**self.options)["PreToolUse"]
            for module in ("interpose.doors.frameworks.claude_agent_sdk", "interpose.frameworks.claude_agent_sdk"):
                patch.delitem(sys.modules, module)
        (callback,) = matcher.hooks
        return [asyncio.run(self._put(callback, case)) for case in cases]

    async def _put(self, callback: Any, case: Case) -> Told:
        event = {
            "hook_event_name": "PreToolUse", "session_id": session_of(self, case), "cwd": self.world.project,
            "tool_name": case.tool, "tool_input": case.arguments, "agent_type": case.agent,
        }  # fmt: skip
        said = (await callback(event, f"toolu {case.note}", None)).get("hookSpecificOutput", {})
        arguments = said.get("updatedInput", case.arguments)
        decision, reason = said.get("permissionDecision", ""), said.get("permissionDecisionReason", "")
        if decision == "deny":
            return told_of_text(reason)
        outcome = decision or ("rewrite" if "updatedInput" in said else "allow")
        return Told(outcome=outcome, text=reason, arguments=arguments)


class _HookMatcher:
    def __init__(self, *, hooks: list[Any], timeout: float, on_failure: str) -> None:
        self.hooks = hooks
