"""Plays scripts with a Pydantic AI agent and a model that is a function."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, RunContext, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from interpose.frameworks.pydantic_ai import METADATA, guard
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("sync", "async", "stream")


class _Scripted:
    """Calls tools once, then is done. It keeps what it was given."""

    def __init__(self, *calls: ToolCallPart) -> None:
        self.calls = calls
        self.given: list[list[ModelMessage]] = []

    def _answered(self, messages: list[ModelMessage]) -> bool:
        self.given.append(messages)
        return any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)

    def answer(self, messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        return ModelResponse([TextPart(DONE)] if self._answered(messages) else list(self.calls))

    async def stream(self, messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Any]:
        if self._answered(messages):
            yield DONE
            return
        for number, call in enumerate(self.calls):
            yield {number: DeltaToolCall(call.tool_name, call.args_as_json_str(), tool_call_id=call.tool_call_id)}

    def model(self) -> FunctionModel:
        return FunctionModel(self.answer, stream_function=self.stream)


def play(script: Script) -> Played:
    played = Played()
    playing = _Playing(script)
    try:
        if script.mode == "sync":
            playing.play(played)
        else:
            asyncio.run(playing.aplay(played))
    except Exception as error:
        played.error, played.said = error, str(error)
    finally:
        playing.seen(played)
    return played


class _Playing:
    def __init__(self, script: Script) -> None:
        self.script = script
        capabilities = [] if script.options is None else [guard(**script.options)]
        self.model = self.first = _Scripted(
            *(ToolCallPart("note", {"text": text}, tool_call_id=f"c{n}") for n, text in enumerate(script.calls))
        )
        self.agent: Any = Agent(
            self.model.model(), name=MAIN, output_type=[str, DeferredToolRequests], capabilities=capabilities
        )
        does: Any = script.tool.run if script.mode == "sync" else script.tool.arun
        self.agent.tool_plain(does, name="note")
        if script.sub_agent:
            helper: Any = self.agent
            helper.name = HELPER
            self.first = _Scripted(ToolCallPart("delegate", {"task": script.message}, tool_call_id="d1"))
            self.agent = Agent(self.first.model(), name=MAIN, capabilities=capabilities)

            @self.agent.tool
            async def delegate(_ctx: RunContext[None], task: str) -> str:
                return str((await helper.run(task)).output)

    def options(self, paused: Any, played: Played) -> dict[str, Any]:
        """How a run goes on whose person answered."""
        results = DeferredToolResults()
        for call in paused.output.approvals:
            asked = paused.output.metadata[call.tool_call_id][METADATA]
            played.questions.append(f"{asked['question']} {asked['arguments']}")
            results.approvals[call.tool_call_id] = True if self.script.person == "yes" else ToolDenied("no")
        return {"message_history": paused.all_messages(), "deferred_tool_results": results}

    def play(self, played: Played) -> None:
        result = self.agent.run_sync(self.script.message, conversation_id=SESSION)
        while isinstance(result.output, DeferredToolRequests):
            result = self.agent.run_sync(**self.options(result, played))
        played.said = result.output

    async def aplay(self, played: Played) -> None:
        result = await self._run(self.script.message, conversation_id=SESSION)
        while isinstance(result.output, DeferredToolRequests):
            result = await self._run(**self.options(result, played))
        played.said = result.output

    async def _run(self, *given: Any, **options: Any) -> Any:
        if self.script.mode == "async":
            return await self.agent.run(*given, **options)
        result: Any = None
        async with self.agent.run_stream_events(*given, **options) as events:
            async for event in events:
                result = getattr(event, "result", result)
        return result

    def seen(self, played: Played) -> None:
        for given in self.model.given[-1:]:
            results = {
                part.tool_call_id: str(part.content)
                for message in given
                for part in message.parts
                if isinstance(part, ToolReturnPart)
            }
            played.seen = [results[f"c{n}"] for n in range(len(self.script.calls)) if f"c{n}" in results]
        for given in self.first.given[:1]:
            prompts = [part for message in given for part in message.parts if isinstance(part, UserPromptPart)]
            played.heard = str(prompts[0].content)
