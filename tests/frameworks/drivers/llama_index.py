"""Plays scripts with LlamaIndex's agents and its own model for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import HumanResponseEvent, InputRequiredEvent

from interpose.frameworks.llama_index import guard as guard_agent
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("async", "stream")


def guard(**options: Any) -> Any:
    return guard_agent(FunctionAgent(name=MAIN, llm=ScriptedModel()), **options)


class ScriptedModel(MockFunctionCallingLLM):
    """Calls tools once, then is done. It keeps what it was given."""

    calls: list[Any]
    given: list[list[ChatMessage]]

    def __init__(self, *calls: ToolCallBlock, **options: Any) -> None:
        super().__init__(response_generator=self._answer, calls=list(calls), given=[], **options)

    def _answer(self, messages: Sequence[ChatMessage], **_options: Any) -> ChatMessage:
        self.given.append([one.model_copy(deep=True) for one in messages])
        mine = {call.tool_call_id for call in self.calls}
        answered = any(one.additional_kwargs.get("tool_call_id") in mine for one in messages)
        if answered or not self.calls:
            return ChatMessage(role="assistant", content=DONE)
        return ChatMessage(role="assistant", blocks=list(self.calls))


def called(name: str, number: int | str, **arguments: Any) -> ToolCallBlock:
    return ToolCallBlock(tool_call_id=f"c{number}", tool_name=name, tool_kwargs=arguments)


def results(model: ScriptedModel) -> dict[str, str]:
    """What the model was given for each call."""
    return {
        one.additional_kwargs["tool_call_id"]: str(one.content)
        for one in model.given[-1]
        if one.role == MessageRole.TOOL
    }


def play(script: Script) -> Played:
    played = Played()
    try:
        asyncio.run(_play(script, played))
    except Exception as error:
        played.error, played.said = error, str(error)
    return played


async def _play(script: Script, played: Played) -> None:
    note = FunctionTool.from_defaults(async_fn=script.tool.arun, name="note", description="Take a note.")
    model = first = ScriptedModel(*(called("note", number, text=text) for number, text in enumerate(script.calls)))
    streaming = script.mode == "stream"
    agent: Any = FunctionAgent(name=MAIN, llm=model, tools=[note], streaming=streaming)
    if script.sub_agent:
        helper = FunctionAgent(name=HELPER, description="Helps.", llm=model, tools=[note], streaming=streaming)
        first = ScriptedModel(called("handoff", "h", to_agent=HELPER, reason="It can."))
        main = FunctionAgent(name=MAIN, description="Leads.", llm=first, streaming=streaming)
        agent = AgentWorkflow([main, helper], root_agent=MAIN)
    if script.options is not None:
        agent = guard_agent(agent, **script.options)
    try:
        handler = agent.run(user_msg=script.message, memory=Memory.from_defaults(session_id=SESSION))
        async for event in handler.stream_events():
            if isinstance(event, InputRequiredEvent):
                played.questions.append(f"{event.prefix} {event.tool_kwargs}")
                answer = HumanResponseEvent(response=script.person, question_id=event.question_id)
                handler.ctx.send_event(answer)
        played.said = str(await handler)
    finally:
        if len(model.given) > 1:
            seen = results(model)
            played.seen = [seen[f"c{n}"] for n in range(len(script.calls)) if f"c{n}" in seen]
        if first.given:
            played.heard = next(str(one.content) for one in first.given[0] if one.role == MessageRole.USER)
