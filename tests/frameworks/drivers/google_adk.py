"""Plays scripts with ADK's runner and a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import FunctionTool
from google.genai import types

from interpose.frameworks.google_adk import guard
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

__all__ = ["ScriptedModel", "guard", "modes", "play"]

modes: tuple[Mode, ...] = ("sync", "async", "stream")

_ASKS = "adk_request_confirmation"


class ScriptedModel(BaseLlm):
    """Makes its calls once, then is done. It keeps what it was given."""

    calls: list[types.FunctionCall]
    given: list[list[types.Content]]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        self.given.append([content.model_copy(deep=True) for content in llm_request.contents])
        if any(name == self.calls[0].name for name, _response in responses(llm_request.contents)):
            if stream:
                yield _says([types.Part(text=DONE[:2])], partial=True)
            yield _says([types.Part(text=DONE)])
        else:
            yield _says([types.Part(function_call=call.model_copy(deep=True)) for call in self.calls])


def _says(parts: list[types.Part], *, partial: bool | None = None) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=parts), partial=partial)


def responses(contents: list[types.Content]) -> list[tuple[str, types.FunctionResponse]]:
    """What a model was given for its calls, and for which tool."""
    found = [part.function_response for content in contents for part in content.parts or []]
    return [(one.name or "", one) for one in found if one is not None]


def play(script: Script) -> Played:
    played = Played()
    playing = _Playing(script)
    try:
        if script.mode == "sync":
            playing.prepare()
            playing.blocking(played)
        else:
            asyncio.run(playing.awaited(played))
    except Exception as error:
        played.error, played.said = error, str(error)
    playing.seen(played)
    return played


class _Playing:
    """A runner and its models, and what they are asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        does = script.tool.run if script.mode == "sync" else script.tool.arun

        tool = FunctionTool(does)
        tool.name = "note"
        calls = [
            types.FunctionCall(id=f"c{number}", name="note", args={"text": text})
            for number, text in enumerate(script.calls)
        ]
        self.model = self.first = ScriptedModel(model="scripted", calls=calls, given=[])
        agent = LlmAgent(name=MAIN, model=self.model, tools=[tool])
        if script.sub_agent:
            handed = types.FunctionCall(id="h1", name="transfer_to_agent", args={"agent_name": HELPER})
            self.first = ScriptedModel(model="scripted", calls=[handed], given=[])
            helper = LlmAgent(name=HELPER, model=self.model, tools=[tool])
            agent = LlmAgent(name=MAIN, model=self.first, sub_agents=[helper])
        plugins = [] if script.options is None else [guard(**script.options)]
        self.sessions = InMemorySessionService()
        self.runner = Runner(app_name="notes", agent=agent, session_service=self.sessions, plugins=plugins)
        mode = StreamingMode.SSE if script.mode == "stream" else StreamingMode.NONE
        self.options: dict[str, Any] = {
            "user_id": "kim", "session_id": SESSION, "run_config": RunConfig(streaming_mode=mode)
        }  # fmt: skip
        self.message = types.Content(role="user", parts=[types.Part(text=script.message)])

    def prepare(self) -> None:
        self.sessions.create_session_sync(app_name="notes", user_id="kim", session_id=SESSION)

    def blocking(self, played: Played) -> None:
        given: types.Content | None = self.message
        while given is not None:
            given = self.answer(list(self.runner.run(new_message=given, **self.options)), played)

    async def awaited(self, played: Played) -> None:
        await self.sessions.create_session(app_name="notes", user_id="kim", session_id=SESSION)
        given: types.Content | None = self.message
        while given is not None:
            events = [event async for event in self.runner.run_async(new_message=given, **self.options)]
            given = self.answer(events, played)

    def answer(self, events: list[Event], played: Played) -> types.Content | None:
        """What the person answers to what was asked; None if nothing was."""
        parts = []
        for call in [call for event in events for call in event.get_function_calls() if call.name == _ASKS]:
            asked: Any = call.args
            played.questions.append(str(asked["toolConfirmation"]))
            response = {"confirmed": self.script.person == "yes"}
            parts.append(
                types.Part(function_response=types.FunctionResponse(id=call.id, name=_ASKS, response=response))
            )
        texts = [part.text for event in events for part in (event.content and event.content.parts) or () if part.text]
        played.said = texts[-1] if texts else ""
        return types.Content(role="user", parts=parts) if parts else None

    def seen(self, played: Played) -> None:
        given = self.model.given[-1] if self.model.given else []
        results = {one.id: str(one.response) for name, one in responses(given) if name == "note"}
        played.seen = [results[f"c{n}"] for n in range(len(self.script.calls)) if f"c{n}" in results]
        if self.first.given:
            parts = self.first.given[0][0].parts or []
            played.heard = parts[0].text or ""
