"""Plays scripts with an `Agent` of Microsoft Agent Framework and a scripted chat client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
    tool,
)

from interpose.frameworks.agent_framework import METADATA, guard
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("async", "stream")  # the framework has no run that blocks


class ScriptedClient(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Calls tools once, then is done. It keeps what it was given."""

    def __init__(self, calls: list[Content], **options: Any) -> None:
        super().__init__(**options)
        self.calls = calls
        self.given: list[list[Message]] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_kwargs: Any) -> Any:
        self.given.append(list(messages))
        said = max((n for n, message in enumerate(messages) if message.role == "user" and message.text), default=0)
        answered = any(part.type == "function_result" for message in messages[said:] for part in message.contents)
        contents = [Content.from_text(DONE)] if answered else [_again(call) for call in self.calls]
        if stream:
            return ResponseStream(_updates(contents), finalizer=ChatResponse.from_updates)
        return _response(contents)


async def _response(contents: list[Content]) -> ChatResponse:
    return ChatResponse(messages=[Message("assistant", contents)])


async def _updates(contents: list[Content]) -> AsyncIterator[ChatResponseUpdate]:
    for content in contents:
        yield ChatResponseUpdate(role="assistant", contents=[content])


def call_of(name: str, arguments: dict[str, Any], call_id: str) -> Content:
    return Content.from_function_call(call_id, name, arguments=json.dumps(arguments))


def _again(call: Content) -> Content:
    return Content.from_function_call(str(call.call_id), str(call.name), arguments=call.arguments)


def play(script: Script) -> Played:
    played = Played()
    try:
        asyncio.run(_play(script, played))
    except Exception as error:
        played.error, played.said = error, str(error)
    return played


async def _play(script: Script, played: Played) -> None:
    middleware = [] if script.options is None else [guard(**script.options)]
    note = tool(script.tool.arun, name="note", description="Take a note.")
    client = ScriptedClient([call_of("note", {"text": text}, f"c{n}") for n, text in enumerate(script.calls)])
    first, agent = client, Agent(client, name=MAIN, tools=[note], middleware=middleware)
    if script.sub_agent:
        helper = Agent(client, name=HELPER, tools=[note], middleware=middleware)
        first = ScriptedClient([call_of("delegate", {"task": script.message}, "d1")])
        agent = Agent(first, name=MAIN, tools=[helper.as_tool(name="delegate")], middleware=middleware)
    session = AgentSession(session_id=SESSION)
    try:
        given: Any = script.message
        while True:
            answer = await run(agent, given, session, script.mode)
            asked = [one for one in answer.user_input_requests if one.type == "function_approval_request"]
            if not asked:
                break
            played.questions += [
                f"{one.additional_properties[METADATA]} {one.function_call.arguments}" for one in asked
            ]
            given = Message("user", [one.to_function_approval_response(script.person == "yes") for one in asked])
        played.said = answer.text
    finally:
        _note(script, client, first, played)


async def run(agent: Any, given: Any, session: Any, mode: Mode) -> Any:
    if mode == "stream":
        stream = agent.run(given, stream=True, session=session)
        async for _update in stream:
            pass
        return await stream.get_final_response()
    return await agent.run(given, session=session)


def _note(script: Script, client: ScriptedClient, first: ScriptedClient, played: Played) -> None:
    parts = [part for given in client.given[-1:] for message in given for part in message.contents]
    results = {part.call_id: str(part.result) for part in parts if part.type == "function_result"}
    played.seen = [results[f"c{n}"] for n in range(len(script.calls)) if f"c{n}" in results]
    if first.given:
        played.heard = next(message.text for message in first.given[0] if message.role == "user")
