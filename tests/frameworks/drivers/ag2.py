"""Plays scripts with AG2's `Agent` and its own scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from ag2 import Agent, MemoryStream, tool
from ag2.config import LLMClient
from ag2.events import ModelMessage, ModelRequest, ModelResponse, ToolCallEvent, ToolCallsEvent, ToolResultsEvent
from ag2.testing import TestConfig

from interpose.frameworks.ag2 import guard
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("async", "stream")


class ScriptedModel(TestConfig):
    """Calls tools once, then is done. It keeps what it was given."""

    def __init__(self, *calls: ToolCallEvent) -> None:
        super().__init__()
        self.calls, self.given = calls, list[list[Any]]()

    def create(self) -> Any:
        return _Client(self)


class _Client(LLMClient):
    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def __call__(self, messages: Sequence[Any], context: Any, **_options: Any) -> ModelResponse:
        self._model.given.append(list(messages))
        if not self._model.calls or any(isinstance(one, ToolResultsEvent) for one in messages):
            message = ModelMessage(DONE)
            await context.send(message)
            return ModelResponse(message)
        return ModelResponse(tool_calls=ToolCallsEvent(list(self._model.calls)))


def called(name: str, number: int | str, **arguments: Any) -> ToolCallEvent:
    import json

    return ToolCallEvent(name, id=f"c{number}", arguments=json.dumps(arguments))


def results(model: ScriptedModel) -> dict[str, str]:
    """What the model was given for each call."""
    return {
        one.parent_id: "\n".join(str(getattr(part, "content", part)) for part in one.result.parts)
        for event in model.given[-1]
        if isinstance(event, ToolResultsEvent)
        for one in event.results
    }


def play(script: Script) -> Played:
    played = Played()
    try:
        asyncio.run(_play(script, played))
    except Exception as error:
        played.error, played.said = error, str(error)
    return played


async def _play(script: Script, played: Played) -> None:
    @tool
    async def note(text: str) -> str:  # a function: AG2 copies what methods belong to
        """Take a note."""
        return await script.tool.arun(text)

    middleware = [] if script.options is None else [guard(**script.options)]
    model = first = ScriptedModel(*(called("note", number, text=text) for number, text in enumerate(script.calls)))

    def answer(request: Any) -> str:
        played.questions.append(request.content)
        return "yes" if script.person == "yes" else "no"

    agent = Agent(MAIN, config=model, tools=[note], middleware=middleware, hitl_hook=answer)
    if script.sub_agent:
        helper = Agent(HELPER, config=model, tools=[note], middleware=middleware)
        first = ScriptedModel(called("delegate", "d", objective=script.message))
        delegate = helper.as_tool(description="Hand it over.", name="delegate")
        agent = Agent(MAIN, config=first, tools=[delegate], middleware=middleware, hitl_hook=answer)
    stream = MemoryStream(id=UUID(SESSION))
    try:
        if script.mode == "async":
            reply: Any = await agent.ask(script.message, stream=stream)
        else:
            async with agent.run(script.message, stream=stream) as run:
                run.start()
                reply = await run.result()
        played.said = str(reply.body)
    finally:
        if len(model.given) > 1:
            seen = results(model)
            played.seen = [seen[f"c{n}"] for n in range(len(script.calls)) if f"c{n}" in seen]
        if first.given:
            played.heard = next(one.parts[0].content for one in first.given[0] if isinstance(one, ModelRequest))
