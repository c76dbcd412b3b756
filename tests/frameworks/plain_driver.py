"""A framework that is none: a loop over the calls of a script. All behaviours hold for what adapters stand on, too."""

from __future__ import annotations

import asyncio
from typing import Any, assert_never

from interpose.core.answers import Approved
from interpose.core.driving import drive, drive_async
from interpose.core.types import Deny
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import AskPerson, Ending, FrameworkCall, FrameworkGuard, Result, Told
from tests.frameworks.playing import DONE, HELPER, MAIN, SESSION, Mode, Played, Script

FACTS = FrameworkFacts(name="plain", title="a plain loop", asks="a function", messages=True)

modes: tuple[Mode, ...] = ("sync", "async")


def guard(**options: Any) -> FrameworkGuard:
    return FrameworkGuard(FACTS, options)  # type: ignore[arg-type]  # whatever a test gives it


def play(script: Script) -> Played:
    played = Played()
    try:
        behind = guard(**(script.options or {}))
        if script.mode == "sync":
            _play(behind, script, played)
        else:
            asyncio.run(_aplay(behind, script, played))
    except Exception as error:
        played.error, played.said = error, str(error)
    return played


def _play(behind: FrameworkGuard, script: Script, played: Played) -> None:
    if not _heard(drive(_message(behind, script)) if behind.messages else script.message, played):
        return
    for number, text in enumerate(script.calls):
        tool = script.tool.pieces if script.streaming_tool else script.tool.run

        def execute(arguments: dict[str, Any], tool: Any = tool) -> Any:
            return tool(arguments["text"])

        ending = drive(behind.around(_call(script, text, number), execute, ask=_asking(script, played)))
        played.seen.append(_seen(ending))
    played.said = DONE


async def _aplay(behind: FrameworkGuard, script: Script, played: Played) -> None:
    if not _heard(await drive_async(_message(behind, script)) if behind.messages else script.message, played):
        return

    async def one(number: int, text: str) -> str:
        async def execute(arguments: dict[str, Any]) -> Any:
            tool = script.tool
            return tool.pieces(arguments["text"]) if script.streaming_tool else await tool.arun(arguments["text"])

        asking = _asking(script, played)

        async def ask(question: AskPerson) -> Approved | Deny:
            return asking(question)

        return _seen(await drive_async(behind.around(_call(script, text, number), execute, ask=ask)))

    played.seen += await asyncio.gather(*(one(number, text) for number, text in enumerate(script.calls)))
    played.said = DONE


def _message(behind: FrameworkGuard, script: Script) -> Any:
    return behind.message(script.message, session=SESSION, agent=MAIN)


def _heard(answer: str | Told, played: Played) -> bool:
    if isinstance(answer, Told):
        played.said = answer.text
        return False
    played.heard = answer
    return True


def _call(script: Script, text: str, number: int) -> FrameworkCall:
    agent = HELPER if script.sub_agent else MAIN
    return FrameworkCall(name="note", arguments={"text": text}, call_id=f"c{number}", session=SESSION, agent=agent)


def _asking(script: Script, played: Played) -> Any:
    def ask(question: AskPerson) -> Approved | Deny:
        played.questions.append(f"{question.question} {question.then.arguments}")
        return Approved("kim") if script.person == "yes" else Deny("no")

    return ask


def _seen(ending: Ending) -> str:
    match ending:
        case Result(str(text)):
            return text
        case Result(value):
            return "".join(value)
        case Told(text):
            return text
        case _:
            assert_never(ending)
