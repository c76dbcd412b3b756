"""Plays scripts with a Strands agent and a scripted model."""

from __future__ import annotations

import asyncio
import copy
import json
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager

from interpose.frameworks.strands import guard
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

__all__ = ["ScriptedModel", "guard", "modes", "play", "results"]

modes: tuple[Mode, ...] = ("sync", "async", "stream")


class ScriptedModel(Model):
    """Makes its calls once, then is done. It keeps what it was given."""

    def __init__(self, *calls: tuple[str, str, Any], **config: Any) -> None:
        """Each call has an id, the tool's name and its arguments."""
        self.calls = calls
        self.given: list[Any] = []
        self._config = config

    def update_config(self, **config: Any) -> None:
        self._config |= config

    def get_config(self) -> Any:
        return self._config

    def structured_output(self, *_args: Any, **_options: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_args: Any, **_options: Any) -> AsyncIterator[Any]:
        self.given.append(copy.deepcopy(messages))
        yield {"messageStart": {"role": "assistant"}}
        calls = [] if any("toolResult" in block for block in messages[-1]["content"]) else self.calls
        for call_id, name, arguments in calls:
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": call_id, "name": name}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(arguments)}}}}
            yield {"contentBlockStop": {}}
        if not calls:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": DONE}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


def results(messages: Any) -> dict[str, str]:
    """What a model was given for each of its calls."""
    blocks = [block["toolResult"] for message in messages for block in message["content"] if "toolResult" in block]
    return {block["toolUseId"]: str(block["content"]) for block in blocks}


def play(script: Script) -> Played:
    played = Played()
    with tempfile.TemporaryDirectory() as place:
        playing = _Playing(script, place)
        try:
            if script.mode == "sync":
                given: Any = script.message
                while given is not None:
                    given = playing.answer(playing.agent(given), played)
            else:
                asyncio.run(playing.awaited(played))
        except Exception as error:
            played.error, played.said = error, str(error)
        playing.seen(played)
    return played


class _Playing:
    """An agent and its models, and what they are asked."""

    def __init__(self, script: Script, place: str) -> None:
        self.script = script
        plugins = [] if script.options is None else [guard(**script.options)]
        calls = [(f"c{number}", "note", {"text": text}) for number, text in enumerate(script.calls)]
        self.model = self.first = ScriptedModel(*calls)
        tools: list[Any] = [_note(script)]
        options: dict[str, Any] = {"plugins": plugins, "callback_handler": None}
        if script.sub_agent:
            helper = Agent(name=HELPER, model=self.model, tools=tools, **options)
            self.first = ScriptedModel(("h1", HELPER, {"input": script.message}))
            tools = [helper.as_tool(name=HELPER)]
        session = FileSessionManager(session_id=SESSION, storage_dir=place)
        self.agent = Agent(name=MAIN, model=self.first, tools=tools, session_manager=session, **options)

    async def awaited(self, played: Played) -> None:
        given: Any = self.script.message
        while given is not None:
            if self.script.mode == "async":
                result: Any = await self.agent.invoke_async(given)
            else:
                async for event in self.agent.stream_async(given):
                    result = event.get("result")
            given = self.answer(result, played)

    def answer(self, result: Any, played: Played) -> Any:
        """What the person answers to what was asked; None if nothing was."""
        played.said = str(result).strip()
        if result.stop_reason != "interrupt":
            return None
        answers = []
        for one in result.interrupts:
            played.questions.append(str(one.reason))
            said = "yes" if self.script.person == "yes" else "no"
            answers.append({"interruptResponse": {"interruptId": one.id, "response": said}})
        return answers

    def seen(self, played: Played) -> None:
        found = results(self.model.given[-1]) if self.model.given else {}
        played.seen = [found[f"c{n}"] for n in range(len(self.script.calls)) if f"c{n}" in found]
        if self.first.given:
            played.heard = self.first.given[0][0]["content"][0]["text"]


def _note(script: Script) -> Any:
    if script.streaming_tool:

        @tool(name="note", description="Take a note.")
        async def yielding(text: str) -> Any:
            whole = ""
            for piece in script.tool.pieces(text):
                whole += piece
                yield piece
            yield whole

        return yielding
    does = script.tool.run if script.mode == "sync" else script.tool.arun
    return tool(does, name="note", description="Take a note.")
