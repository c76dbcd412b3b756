"""Plays scripts with both kinds of agents of smolagents and a scripted model."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from smolagents import CodeAgent, LogLevel, Model, Tool, ToolCallingAgent
from smolagents.agents import ToolOutput
from smolagents.models import ChatMessage, ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole

from interpose.frameworks.smolagents import guard as guard_agent
from tests.frameworks.playing import DONE, HELPER, MAIN, Mode, NoteTool, Played, Script

__all__ = ["guard", "modes", "play"]

modes: tuple[Mode, ...] = ("sync", "stream")

MARK = "@@@"
"""Stands before what code prints of each call."""


class ScriptedModel(Model):
    """Gives its answers one after another, and keeps what it was given."""

    def __init__(self, answers: list[Any]) -> None:
        super().__init__()
        self._answers = answers
        self.given: list[list[ChatMessage]] = []

    def generate(self, messages: list[Any], **_options: Any) -> ChatMessage:
        self.given.append(list(messages))
        answer = self._answers[min(len(self.given), len(self._answers)) - 1]
        if isinstance(answer, str):
            return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\n{answer}\n</code>")
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=answer)


class Noting(Tool):
    """The tool."""

    name = "note"
    description = "Take a note."
    inputs: ClassVar[Any] = {"text": {"type": "string", "description": "the note"}}
    output_type = "string"

    def __init__(self, tool: NoteTool) -> None:
        super().__init__()
        self._note = tool

    def forward(self, text: str) -> str:
        return self._note.run(text)


def called(name: str, arguments: dict[str, Any], call_id: str) -> ChatMessageToolCall:
    return ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), call_id, "function")


class Recording(ToolCallingAgent):
    """Keeps what the model will see of each call."""

    seen: dict[str, str]

    def process_tool_calls(self, *args: Any) -> Any:
        for one in super().process_tool_calls(*args):
            if isinstance(one, ToolOutput) and not one.is_final_answer:
                self.seen[one.id] = one.observation
            yield one


def guard(**options: Any) -> Any:
    return guard_agent(ToolCallingAgent(tools=[], model=ScriptedModel([])), **options)


def play(script: Script) -> Played:
    return played_with(script, _tool_calling)


def play_code(script: Script) -> Played:
    return played_with(script, _coding)


def played_with(script: Script, team: Any) -> Played:
    played = Played()
    agent, worker = team(script)
    if script.options is not None:
        guard_agent(agent, **script.options)
    try:
        if script.mode == "stream":
            for step in agent.run(script.message, stream=True):
                played.said = str(getattr(step, "output", ""))
        else:
            played.said = str(agent.run(script.message))
    except Exception as error:
        played.error, played.said = error, str(error)
    played.seen = seen_by(worker, script)
    if agent.model.given:
        asked = [one for one in agent.model.given[0] if one.role == MessageRole.USER]
        played.heard = asked[0].content[0]["text"].removeprefix("New task:\n")
    return played


def _named(name: str) -> dict[str, Any]:
    return {"name": name, "description": "It works.", "verbosity_level": LogLevel.OFF, "max_steps": 3}


def _tool_calling(script: Script) -> tuple[Any, Any]:
    calls = [called("note", {"text": text}, f"c{number:02}") for number, text in enumerate(script.calls)]
    done = [called("final_answer", {"answer": DONE}, "f1")]
    worker = Recording([Noting(script.tool)], ScriptedModel([calls, done]), **_named(MAIN))
    worker.seen = {}
    if not script.sub_agent:
        return worker, worker
    worker.name = HELPER
    handing = [called(HELPER, {"task": script.message}, "h1")]
    first = ToolCallingAgent([], ScriptedModel([handing, done]), managed_agents=[worker], **_named(MAIN))
    return first, worker


CODE = f"""\
for text in CALLS:
    try:
        print("{MARK}", note(text))
    except Exception as error:
        print("{MARK}", error)
"""


def _coding(script: Script) -> tuple[Any, Any]:
    done = f'final_answer("{DONE}")'
    worker = CodeAgent(
        [Noting(script.tool)], ScriptedModel([CODE.replace("CALLS", json.dumps(script.calls)), done]), **_named(MAIN)
    )
    if not script.sub_agent:
        return worker, worker
    worker.name = HELPER
    handing = f"print({HELPER}({json.dumps(script.message)}))"
    first = CodeAgent([], ScriptedModel([handing, done]), managed_agents=[worker], **_named(MAIN))
    return first, worker


def told(worker: Any) -> str:
    """All that the model was told after its first answer: what came of it, and the error if there was one."""
    messages = [one for one in worker.model.given[1] if one.role == MessageRole.TOOL_RESPONSE]
    return "\n".join(str(part["text"]) for one in messages for part in one.content)


def seen_by(worker: Any, script: Script) -> list[str]:
    """What the model was really given, call by call."""
    if len(worker.model.given) < 2:
        return []
    given = told(worker)
    if isinstance(worker, CodeAgent):
        return given.split(MARK)[1:] or [given]
    if not worker.seen:
        return [given]
    assert all(text in given for text in worker.seen.values())
    return [worker.seen[f"c{number:02}"] for number in range(len(script.calls))]
