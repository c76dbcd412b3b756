"""Plays scripts with the Agents SDK's runner and its own scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, InputGuardrailTripwireTriggered, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from interpose.frameworks.openai_agents import guard as guard_agent
from interpose.frameworks.openai_agents import question
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("sync", "async", "stream")


def guard(**options: Any) -> Any:
    return guard_agent(Agent(name=MAIN), **options)


def play(script: Script) -> Played:
    played = Played()
    try:
        if script.mode == "sync":
            _play(script, played)
        else:
            asyncio.run(_aplay(script, played))
    except InputGuardrailTripwireTriggered as error:
        played.error, played.said = error, str(error.guardrail_result.output.output_info)
    except Exception as error:
        played.error, played.said = error, str(error)
    return played


class _Playing:
    """An agent and its models, and what they are asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        does = script.tool.run if script.mode == "sync" else script.tool.arun
        tool = function_tool(does, name_override="note", failure_error_function=lambda _context, error: str(error))
        calls = [
            function_call("note", {"text": text}, call_id=f"c{number}") for number, text in enumerate(script.calls)
        ]
        self.model = self.first = ScriptedModel([calls, [assistant_message(DONE)]])
        agent = Agent(name=MAIN, model=self.model, tools=[tool])
        if script.sub_agent:
            agent.name = HELPER
            self.first = ScriptedModel([[function_call(f"transfer_to_{HELPER}", {}, call_id="h1")]])
            agent = Agent(name=MAIN, model=self.first, handoffs=[agent])
        self.agent = agent if script.options is None else guard_agent(agent, **script.options)
        self.options: dict[str, Any] = {"run_config": RunConfig(group_id=SESSION)}

    def answer(self, result: Any, played: Played) -> Any:
        """The state of a run that waits, after its person answered; None if it does not wait."""
        if not result.interruptions:
            return None
        state = result.to_state()
        for one in result.interruptions:
            played.questions.append(f"{question(one)} {one.arguments}")
            if self.script.person == "yes":
                state.approve(one)
            else:
                state.reject(one)
        return state

    def ended(self, result: Any, played: Played) -> None:
        played.said = str(result.final_output)

    def seen(self, played: Played) -> None:
        calls = self.model.calls
        given = calls[-1].input if len(calls) > 1 else []
        results = {
            item["call_id"]: str(item["output"])
            for item in given
            if isinstance(item, dict) and item.get("type") == "function_call_output"
        }
        played.seen = [results[f"c{n}"] for n in range(len(self.script.calls)) if f"c{n}" in results]
        if self.first.calls:
            said = self.first.calls[0].input
            played.heard = said if isinstance(said, str) else str(said[0]["content"])


def _play(script: Script, played: Played) -> None:
    playing = _Playing(script)
    try:
        given: Any = script.message
        while given is not None:
            result = Runner.run_sync(playing.agent, given, **playing.options)
            given = playing.answer(result, played)
        playing.ended(result, played)
    finally:
        playing.seen(played)


async def _aplay(script: Script, played: Played) -> None:
    playing = _Playing(script)
    try:
        given: Any = script.message
        while given is not None:
            if script.mode == "async":
                result: Any = await Runner.run(playing.agent, given, **playing.options)
            else:
                result = Runner.run_streamed(playing.agent, given, **playing.options)
                async for _event in result.stream_events():
                    pass
            given = playing.answer(result, played)
        playing.ended(result, played)
    finally:
        playing.seen(played)
