"""Strands Agents: a plugin, whose middleware is the innermost around every tool call of its agent.

Hooks and interventions decide before the middleware, so what they make of a call is judged too. A question is the
framework's own interrupt. Its reason has the question and the call that would really run; it is answered with what
Strands itself takes for a yes.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Any, Unpack, assert_never
from weakref import WeakSet

from msgspec.json import Encoder
from pydantic_core import to_jsonable_python
from strands import Agent
from strands.hooks import AgentInitializedEvent, BeforeInvocationEvent
from strands.hooks.registry import HookOrder
from strands.interrupt import InterruptException
from strands.interventions.actions import default_evaluate
from strands.middleware import ExecuteToolContext, ExecuteToolStage
from strands.plugins import Plugin
from strands.types.events import ToolResultEvent

from interpose.core.answers import Approved
from interpose.core.driving import drive_async
from interpose.core.errors import FrameworkLimitError, text_of
from interpose.core.types import Deny, same
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import (
    SAID_NO,
    AskPerson,
    FrameworkCall,
    FrameworkGuard,
    PersonsAnswer,
    Result,
    ResultShape,
    RunWith,
    Told,
)
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts.result_shapes import fitted, plain_text

FACTS = FrameworkFacts(name="strands", title="Strands Agents", asks="interrupt", messages=True)
NO_OBJECT = "Interpose refused this: its arguments are no JSON object"
NO_MESSAGE = (
    "structured_output() shows nobody what the user says: call the agent with structured_output_model, or guard with "
    "messages=False"
)

MOST_PIECES = 10_000
"""How many pieces of a tool's result are held back. What it yields beyond them nobody gets."""

_NOT_ASKED = "interpose: nobody was asked"
_TOOL_LISTS = ("tools", "anthropic_tools", "gemini_tools")
"""Where the configuration of a model names tools that its provider runs."""
_encode = Encoder(order="sorted").encode

_outer: ContextVar[str] = ContextVar("interpose_strands_session", default="")
"""The session of the agent whose tool runs another one."""
_guarded: WeakSet[Agent] = WeakSet()


def guard(**options: Unpack[GuardOptions]) -> InterposeAgentPlugin:
    """A plugin that lets every tool call pass Interpose: `Agent(..., plugins=[guard()])`. Agents may share one.

    The options are those of `GuardOptions`.
    """
    return InterposeAgentPlugin(FrameworkGuard(FACTS, options))


class InterposeAgentPlugin(Plugin):
    """Every tool call of an agent, judged before it runs and after."""

    name = "interpose"

    def __init__(self, guard: FrameworkGuard) -> None:
        super().__init__()
        self._guard = guard
        self._stands: WeakSet[Agent] = WeakSet()

    def init_agent(self, agent: Agent) -> None:
        """Raises FrameworkLimitError for an agent of another kind, whose messages and streams nobody can judge."""
        if not isinstance(agent, Agent):
            raise FrameworkLimitError(f"{FACTS.title} shows nobody what a {type(agent).__name__} is told")
        _guarded.add(agent)
        agent.add_hook(lambda event: self._stand(event.agent), AgentInitializedEvent, order=HookOrder.SDK_LAST)
        agent.add_hook(self._before_invocation, BeforeInvocationEvent, order=HookOrder.SDK_LAST)

    def _stand(self, agent: Agent) -> None:
        """Once the agent has all of its plugins: the last middleware is the innermost."""
        if agent not in self._stands:
            self._stands.add(agent)
            agent.add_middleware(ExecuteToolStage, self._execute)

    async def _before_invocation(self, event: BeforeInvocationEvent) -> None:
        """What the user says, before it is in the conversation. Raises FrameworkLimitError for what would be unseen."""
        agent = event.agent
        self._stand(agent)
        for tool in [*agent.tool_registry.registry.values(), *agent.tool_registry.dynamic_tools.values()]:
            self._can_judge(tool)
        for name in _provided(agent.model):
            self._guard.must_guard(name)
        if not self._guard.messages:
            return
        if event.messages is None:
            raise FrameworkLimitError(NO_MESSAGE)
        changed = []
        for message in event.messages:
            content = [await self._judged(agent, block, message["role"]) for block in message["content"]]
            told = next((one for one in content if isinstance(one, Told)), None)
            if told is not None:
                event.cancel = told.text
                return
            changed.append({**message, "content": content})
        if changed != event.messages:
            event.messages = changed

    async def _judged(self, agent: Agent, block: Any, role: str) -> Any:
        if role != "user" or not isinstance(block, dict) or not block.get("text"):
            return block
        answer = await drive_async(self._guard.message(block["text"], session=_session(agent), agent=agent.name))
        return answer if isinstance(answer, Told) else {**block, "text": answer}

    def _can_judge(self, tool: Any) -> None:
        """INVARIANT: an agent that is a tool has a guard too, or else its own calls would pass nobody."""
        inner = getattr(tool, "agent", None)
        if isinstance(inner, Agent) and inner not in _guarded:
            self._guard.must_guard(tool.tool_name)

    async def _execute(self, context: ExecuteToolContext, forward: Callable[[Any], Any]) -> AsyncIterator[Any]:
        """One call. What the model sees of a refusal is a failed result."""
        given = context.tool_use["input"]
        if not isinstance(given, dict):
            yield _failed(context, NO_OBJECT)
            return
        self._can_judge(context.tool)
        shown = _plain(given)
        answer = await self._decided(context, shown)
        if isinstance(answer, Told):
            yield _failed(context, answer.text)
            return
        # Arguments of a direct call may be objects. They are judged as plain data, and run as they are if unchanged.
        final = given if not answer.changed and not same(shown, given) else answer.arguments
        before = _outer.get()
        _outer.set(_session(context.agent))
        start = perf_counter_ns()
        pieces: list[Any] = []
        came: ToolResultEvent | None = None
        try:
            async for event in forward(context.replace(tool_use={**context.tool_use, "input": final})):
                if isinstance(event, ToolResultEvent):
                    came = event
                elif _is_piece(event):
                    pieces += [event] if len(pieces) < MOST_PIECES else []  # held back: judged with the result
                else:
                    yield event
        except InterruptException:
            raise
        except (Exception, asyncio.CancelledError) as error:
            told = await drive_async(self._guard.failed(answer, error, duration_ns=perf_counter_ns() - start))
            if told is None or not isinstance(error, Exception):
                raise
            yield _failed(context, told.text)
            return
        finally:
            _outer.set(before)
        if came is not None:
            for event in await self._after(context, answer, pieces, came, perf_counter_ns() - start):
                yield event

    async def _decided(self, context: ExecuteToolContext, arguments: dict[str, Any]) -> RunWith | Told:
        call = FrameworkCall(
            name=context.tool_use["name"], arguments=arguments, call_id=context.tool_use["toolUseId"],
            session=_session(context.agent), agent=context.agent.name,
        )  # fmt: skip
        answer = await drive_async(self._guard.before(call))
        if isinstance(answer, AskPerson):
            return await drive_async(self._guard.asked(answer, lambda asked: _interrupted(context, asked)))
        if isinstance(answer, RunWith):
            said = context.interrupt(_question_name(answer.arguments), response=_NOT_ASKED).response
            if said != _NOT_ASKED and not _is_yes(said):
                return Told(SAID_NO)  # to a question of ours, which would not be asked any more
        return answer

    async def _after(
        self, context: ExecuteToolContext, ran: RunWith, pieces: list[Any], came: ToolResultEvent, took: int
    ) -> list[Any]:
        """What its reader gets of a call: its pieces, and at last its result."""
        flow = self._guard.after(
            ran, (pieces, came), is_error=came.tool_result.get("status") == "error", duration_ns=took, shape=_SHAPE
        )
        ending = await drive_async(flow)
        match ending:
            case Told(text):
                return [_failed(context, text)]
            case Result((pieces, result)):
                return [*pieces, result]
            case Result():
                raise AssertionError("a result has its shape")
            case _:
                assert_never(ending)


def _interrupted(context: ExecuteToolContext, question: AskPerson) -> PersonsAnswer:
    """INVARIANT: a yes counts for the arguments that its person was shown: they are in the name of the question."""
    arguments = question.then.arguments
    reason = {"question": question.question, "tool": context.tool_use["name"], "arguments": arguments}
    said = context.interrupt(_question_name(arguments), reason=reason).response
    if _is_yes(said):
        return Approved(FACTS.name)
    return Deny(said if isinstance(said, str) and said.strip().lower() not in {"n", "no"} else "")


def _question_name(arguments: dict[str, Any]) -> str:
    return f"interpose:{hashlib.sha256(_encode(arguments)).hexdigest()}"


def _is_yes(said: Any) -> bool:
    return default_evaluate(said) is True


def _session(agent: Any) -> str:
    return _outer.get() or str(getattr(agent, "session_id", ""))


def _failed(context: ExecuteToolContext, text: str) -> ToolResultEvent:
    return ToolResultEvent({"toolUseId": context.tool_use["toolUseId"], "status": "error", "content": [{"text": text}]})


def _provided(model: Any) -> Iterator[str]:
    """The tools that a model's provider runs, as its configuration names them."""
    config = model.get_config()
    places = [config] if isinstance(config, dict) else []
    places += [place for one in places for place in one.values() if isinstance(place, dict)]
    for place in places:
        for tool in [tool for key in _TOOL_LISTS for tool in place.get(key) or []]:
            named = tool if isinstance(tool, dict) else dict.fromkeys(getattr(tool, "model_fields_set", ()))
            yield text_of(named.get("name") or named.get("type") or next(iter(named), type(tool).__name__))


def _is_piece(event: Any) -> bool:
    """Whether a tool yielded it. What an agent that is a tool says on its way is its model's, not a tool's."""
    return isinstance(event, dict) and "tool_stream_event" in event and not hasattr(event, "agent_as_tool")


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, fallback=text_of, serialize_unknown=True, bytes_mode="base64")


def _opened(value: Any) -> Any:
    """What a tool gave, as plain data: one text if it is one, and before it what the tool yielded."""
    pieces, came = value
    content = _content(came)
    return {"pieces": [_plain(_data(piece)) for piece in pieces], "result": content} if pieces else content


def _content(came: ToolResultEvent) -> Any:
    content = _plain(came.tool_result.get("content", []))
    return content[0]["text"] if len(content) == 1 and content[0].keys() == {"text"} else content


def _data(piece: Any) -> Any:
    return piece["tool_stream_event"].get("data")


def _closed(value: Any, new: Any) -> Any:
    """The same with new data. Pieces that do not fit any more are left out."""
    pieces, came = value
    seen: list[Any] = []
    if pieces and isinstance(new, dict) and new.keys() == {"pieces", "result"}:
        others = new["pieces"] if isinstance(new["pieces"], list) else []
        if len(others) == len(pieces):
            seen = [_with_data(piece, other) for piece, other in zip(pieces, others, strict=True)]
        new = new["result"]
    content = came.tool_result.get("content", [])
    old = _content(came)
    if isinstance(old, str):
        content = [{"text": plain_text(new)}]
    else:
        # Pictures are bytes: what was not changed stays what it was.
        fit = fitted(old, new)
        content = [block if same(was, now) else now for block, was, now in zip(content, old, fit, strict=True)]
    return seen, ToolResultEvent({**came.tool_result, "content": content})


def _with_data(piece: Any, data: Any) -> Any:
    if same(_plain(_data(piece)), data):
        return piece
    return type(piece)(piece["tool_stream_event"]["tool_use"], data)


_SHAPE = ResultShape(_opened, _closed)
