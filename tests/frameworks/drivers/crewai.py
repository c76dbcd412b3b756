"""Plays scripts with a crew of CrewAI and a scripted model."""

from __future__ import annotations

import asyncio
import copy
import io
import json
import os
import sys
from contextlib import nullcontext, redirect_stdout
from typing import Any
from unittest.mock import patch
from uuid import UUID

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", OTEL_SDK_DISABLED="true", CREWAI_TRACING_ENABLED="false")

from crewai import Agent, BaseLLM, Crew, Process, Task
from crewai.tools import BaseTool
from pydantic import ConfigDict

from interpose.frameworks.crewai import guard
from tests.frameworks.interceptors import OTHER_WORDS
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("sync", "async", "stream")


class ScriptedLLM(BaseLLM):
    """Calls tools once, then is done. It keeps what it was given."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="allow")
    calls: list[dict[str, Any]]
    given: list[list[dict[str, Any]]]

    def call(self, messages: Any, *_args: Any, **_options: Any) -> Any:
        self.given.append(copy.deepcopy(messages))
        answered = any(message["role"] == "tool" for message in messages)
        return DONE if answered or not self.calls else copy.deepcopy(self.calls)

    async def acall(self, messages: Any, *args: Any, **options: Any) -> Any:
        return self.call(messages, *args, **options)

    def supports_function_calling(self) -> bool:
        return True


def scripted(*calls: dict[str, Any]) -> ScriptedLLM:
    return ScriptedLLM(model="scripted", calls=list(calls), given=[])


class Note(BaseTool):
    name: str = "note"
    description: str = "Take a note."
    does: Any = None

    def _run(self, text: str) -> str:
        return str(self.does(text))


def call_of(name: str, arguments: Any, call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def agent_of(name: str, llm: BaseLLM, *tools: BaseTool, **options: Any) -> Agent:
    return Agent(role=name, goal="to help", backstory="none", llm=llm, tools=list(tools), **options)


def play(script: Script) -> Played:
    played = Played()
    options = script.options
    try:
        with guard(**options) if options is not None else nullcontext():
            _play(script, played)
    except Exception as error:
        played.error, played.said = error, str(error)
    return played


def _play(script: Script, played: Played) -> None:
    model = scripted(*(call_of("note", {"text": text}, f"c{n}") for n, text in enumerate(script.calls)))
    note = Note(does=script.tool.run)
    first, agents = model, [agent_of(MAIN, model, note)]
    if script.sub_agent:
        handed = {"task": script.message, "context": "none", "coworker": HELPER}
        first = scripted(call_of("delegate_work_to_coworker", handed, "d1"))
        agents = [agent_of(MAIN, first, allow_delegation=True), agent_of(HELPER, model, note)]
    task = Task(description="{message}", expected_output="a word", agent=agents[0])
    crew = Crew(agents=agents, tasks=[task], process=Process.sequential, stream=script.mode == "stream", cache=False)
    crew.__dict__["id"] = UUID(SESSION)  # CrewAI names it, and nobody else may
    person = Person(script.person)
    try:
        with patch.object(sys, "stdin", person), redirect_stdout(person.shown):
            played.said = run(crew, {"message": script.message}, script.mode)
    finally:
        played.questions = person.questions()
        results = {one["tool_call_id"]: one["content"] for one in (model.given or [[]])[-1] if one["role"] == "tool"}
        played.seen = [str(results[f"c{n}"]) for n in range(len(script.calls)) if f"c{n}" in results]
        if first.given:
            task_text = next(str(one["content"]) for one in first.given[0] if one["role"] == "user")
            played.heard = (
                OTHER_WORDS if OTHER_WORDS in task_text else script.message if script.message in task_text else "?"
            )


def run(crew: Crew, inputs: Any, mode: Mode) -> str:
    match mode:
        case "sync":
            return str(crew.kickoff(inputs=inputs))
        case "async":
            return str(asyncio.run(crew.akickoff(inputs=inputs)))
        case "stream":
            stream: Any = crew.kickoff(inputs=inputs)
            for _chunk in stream:
                pass
            return str(stream.result)


class Person:
    """Somebody at the terminal, who always says the same."""

    def __init__(self, says: str) -> None:
        self.says = says
        self.shown = io.StringIO()
        self.answers = 0

    def readline(self, _size: Any = -1) -> str:
        self.answers += 1
        return f"{self.says}\n"

    def questions(self) -> list[str]:
        return [line for line in self.shown.getvalue().splitlines() if "Interpose asks" in line]
