"""Plays scripts with LangChain's `create_agent` and a scripted chat model."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from interpose.frameworks.langchain import guard
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("sync", "async", "stream")

_THREAD: Any = {"configurable": {"thread_id": SESSION}}


class ScriptedModel(BaseChatModel):
    """Calls tools once, then is done. It keeps what it was given."""

    calls: list[dict[str, Any]]
    given: list[list[BaseMessage]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_args: Any, **_options: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: list[BaseMessage], *_args: Any, **_options: Any) -> ChatResult:
        self.given.append(messages)
        answered = any(isinstance(message, ToolMessage) for message in messages)
        message = AIMessage(DONE) if answered else AIMessage("", tool_calls=self.calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def play(script: Script) -> Played:
    played = Played()
    try:
        if script.mode == "async":
            asyncio.run(_play(script, played))
        else:
            _drive(_play(script, played))
    except Exception as error:
        played.error, played.said = error, str(error)
    return played


def _drive(run: Any) -> None:
    """A coroutine that awaits nothing."""
    try:
        run.send(None)
    except StopIteration:
        pass
    else:
        raise AssertionError("a sync run awaited something")


async def _play(script: Script, played: Played) -> None:
    tool = StructuredTool.from_function(script.tool.run, script.tool.arun, name="note", description="Take a note.")
    middleware = [] if script.options is None else [guard(**script.options)]
    model = ScriptedModel(calls=[_call("note", text, number) for number, text in enumerate(script.calls)], given=[])
    first = model
    agent: Any
    if script.sub_agent:
        helper: Any = create_agent(model, [tool], middleware=middleware, name=HELPER)

        def delegate(task: str) -> str:
            return str(helper.invoke({"messages": [HumanMessage(task)]})["messages"][-1].content)

        async def adelegate(task: str) -> str:
            return str((await helper.ainvoke({"messages": [HumanMessage(task)]}))["messages"][-1].content)

        tool = StructuredTool.from_function(delegate, adelegate, name="delegate", description="Hand it over.")
        first = ScriptedModel(
            calls=[{"name": "delegate", "args": {"task": script.message}, "id": "d1", "type": "tool_call"}], given=[]
        )
    agent = create_agent(first, [tool], middleware=middleware, name=MAIN, checkpointer=InMemorySaver())
    ended = await _run(agent, {"messages": [HumanMessage(script.message)]}, script.mode)
    while asked := _questions(agent):
        answers: dict[str, Any] = {}
        for one in asked:
            played.questions.append(f"{one.value['description']} {one.value['args']}")
            answers[one.id] = {"type": "approve"} if script.person == "yes" else {"type": "reject"}
        ended = await _run(agent, Command(resume=answers), script.mode)
    for given in model.given[-1:]:
        results = {one.tool_call_id: str(one.content) for one in given if isinstance(one, ToolMessage)}
        played.seen = [results[f"c{number}"] for number in range(len(script.calls)) if f"c{number}" in results]
    if first.given:
        played.heard = next(str(one.content) for one in first.given[0] if isinstance(one, HumanMessage))
    played.said = ended


async def _run(agent: Any, given: Any, mode: Mode) -> str:
    """The last answer of a run."""
    match mode:
        case "sync":
            state = agent.invoke(given, _THREAD)
        case "async":
            state = await agent.ainvoke(given, _THREAD)
        case "stream":
            state = list(agent.stream(given, _THREAD, stream_mode="values"))[-1]
    return str(state["messages"][-1].content)


def _questions(agent: Any) -> list[Any]:
    return [one for task in agent.get_state(_THREAD).tasks for one in task.interrupts]


def _call(name: str, text: str, number: int) -> dict[str, Any]:
    return {"name": name, "args": {"text": text}, "id": f"c{number}", "type": "tool_call"}
