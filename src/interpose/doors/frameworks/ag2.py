"""AG2: a middleware for `Agent`, of which AG2 makes a new one for each turn.

A question is AG2's own `ToolApprovalRequest`, put to the agent's `hitl_hook` and answered like AG2's own approvals. A
sub-agent that AG2 runs for a tool has a stream of its own and inherits the dependencies of its caller's context: there
it finds the session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from copy import copy
from functools import partial
from inspect import getclosurevars
from typing import Any, Unpack, assert_never

from ag2 import Agent, Middleware, Toolkit, ToolResult
from ag2.events import (
    BinaryInput,
    ClientToolCallEvent,
    DataInput,
    Input,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextInput,
    ToolApprovalRequest,
    ToolCallEvent,
    ToolErrorEvent,
    ToolResultEvent,
)
from ag2.exceptions import HumanInputError
from ag2.middleware import BaseMiddleware
from ag2.response import ResponseProto
from ag2.response.callable import CallableResponse
from ag2.tools.builtin.anthropic_bash import AnthropicBashToolSchema
from ag2.tools.final.function_tool import FunctionToolSchema
from ag2.utils import AGENT_CONTEXT_DEPENDENCY_KEY
from msgspec.json import Encoder
from pydantic_core import to_jsonable_python

from interpose.core.answers import Approved
from interpose.core.driving import drive_async
from interpose.core.errors import FrameworkLimitError
from interpose.core.formats import strict_json
from interpose.core.types import MAX_DEPTH, Deny
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import (
    AskPerson,
    FrameworkCall,
    FrameworkGuard,
    PersonsAnswer,
    Result,
    ResultShape,
    Told,
)
from interpose.doors.frameworks.options import GuardOptions
from interpose.doors.hooks.hosts.result_shapes import fitted, plain_text

FACTS = FrameworkFacts(name="ag2", title="AG2", asks="ToolApprovalRequest", messages=True)
NO_OBJECT = "Interpose refused this: its arguments are no JSON object"

_SESSION = "__interpose_session__"
_YES = frozenset({"y", "yes", "1"})
"""What AG2 itself takes for a yes. It also has `always`, which is no answer to a question about one call."""
_WITH_AGENT = ("ag2.tools.subagents.subagent_tool", "ag2.tools.subagents.background")
_MAKING_AGENTS = "ag2.tools.dynamic.factory"
"""Where AG2's own tools come from that run an agent: one that was given, or one that they make, without middleware."""

_WORDS = (TextInput, DataInput)
_RUN_HERE = (FunctionToolSchema, AnthropicBashToolSchema)
"""Tools that AG2 runs itself, through its middleware."""

_encode = Encoder(order="sorted").encode


def guard(**options: Unpack[GuardOptions]) -> Middleware:
    """A middleware that lets every tool call pass Interpose: `Agent(..., middleware=[guard()])`.

    Put it last, so that it is the innermost: then no other middleware changes a call that was judged. The options are
    those of `GuardOptions`.
    """
    return Middleware(InterposeTurn, guard=FrameworkGuard(FACTS, options))


class InterposeTurn(BaseMiddleware):
    """One turn of an agent: every tool call is judged before it runs and after, and what the user says."""

    def __init__(self, event: Any, context: Any, *, guard: FrameworkGuard) -> None:
        """Raises FrameworkLimitError for an agent with tools whose calls nobody would see."""
        super().__init__(event, context)
        self._guard = guard
        agent = context.dependencies.get(AGENT_CONTEXT_DEPENDENCY_KEY)
        if not isinstance(agent, Agent):
            raise FrameworkLimitError(
                "AG2 gives a place for everything that is judged only to an Agent, not to a LiveAgent"
            )
        self._looked_at = frozenset(self._guardable(agent))
        session = context.dependencies.setdefault(_SESSION, str(context.stream.id))
        self._who = {"session": session, "agent": agent.name}

    def _guardable(self, agent: Agent[Any]) -> Iterator[str]:
        """INVARIANT: no agent makes calls that nobody sees. The names of the tools that were looked at."""
        if agent.tasks is not None:
            self._guard.must_guard("run_subtask")  # and run_subtasks, whose agents are the same
        for tool in _flat(agent.tools):
            place = _place(tool)
            if place == _MAKING_AGENTS:
                self._guard.must_guard(tool.name)
            elif place in _WITH_AGENT:
                self._guarded(tool, getclosurevars(tool.model.call).nonlocals["agent"])
            yield tool.name

    def _guarded(self, tool: Any, helper: Agent[Any]) -> None:
        if not any(_is_ours(one.middleware) for one in helper.middleware):
            raise FrameworkLimitError(
                f"the tool {tool.name!r} runs the agent {helper.name!r}, whose own calls nobody would see: give it "
                "middleware=[guard()], too"
            )

    async def on_tool_execution(
        self, call_next: Callable[[Any, Any], Awaitable[Any]], event: ToolCallEvent, context: Any
    ) -> Any:
        """A call."""
        arguments = _read(event)
        if arguments is None:
            return ToolResultEvent.from_call(event, NO_OBJECT)
        self._seen(event)

        async def execute(final: dict[str, Any]) -> Any:
            # INVARIANT: AG2 keeps arguments twice. Both are what was judged, whichever the tool reads.
            behind = copy(event)
            behind.arguments, behind.serialized_arguments = _encode(final).decode(), final
            result = await call_next(behind, context)
            if isinstance(result, ToolErrorEvent):
                raise _ToolFailedError(result)
            if isinstance(result, ClientToolCallEvent):
                self._guard.must_guard(event.name)
            return result

        try:
            ending = await drive_async(
                self._guard.around(
                    FrameworkCall(name=event.name, arguments=arguments, call_id=event.id, **self._who), execute,
                    ask=partial(_asked, event, context), shape=ResultShape(_opened, partial(_closed, event)),
                    passes=(HumanInputError,),
                )
            )  # fmt: skip
        except _ToolFailedError as failed:
            return failed.event
        match ending:
            case Result(value):
                return value
            case Told(text):
                return ToolResultEvent.from_call(event, text)
            case _:
                assert_never(ending)

    def _seen(self, event: ToolCallEvent) -> None:
        """A tool that runs an agent, and came with this turn alone: nobody looked whether that agent is guarded."""
        place = (event.source or "").removeprefix("function:").partition(":")[0]
        if place in (*_WITH_AGENT, _MAKING_AGENTS) and event.name not in self._looked_at:
            self._guard.must_guard(event.name)

    async def on_turn(self, call_next: Callable[[Any, Any], Awaitable[Any]], event: Any, context: Any) -> Any:
        """What the user says, also what is added while the agent works. A refusal ends the turn."""
        if not self._guard.messages:
            return await call_next(event, context)

        async def judged(request: Any) -> Any:
            return await self._reworded(request)

        try:
            with context.stream.where(ModelRequest).sub_scope(judged, interrupt=True):
                return await call_next(event, context)
        except _MessageRefusedError as refused:
            return ModelResponse(ModelMessage(str(refused)))

    async def _reworded(self, request: ModelRequest) -> ModelRequest:
        texts = [one for one in request.parts if isinstance(one, _WORDS)]
        text = "\n".join(plain_text(_part(one)) for one in texts)
        answer = await drive_async(self._guard.message(text, **self._who))
        if isinstance(answer, Told):
            raise _MessageRefusedError(answer.text)
        if answer == text:
            return request
        others = [one for one in request.parts if not isinstance(one, _WORDS)]
        return type(request)([TextInput(answer), *others])

    async def on_llm_call(self, call_next: Callable[[Any, Any], Awaitable[Any]], events: Any, context: Any) -> Any:
        """A model is given its tools. INVARIANT: those that AG2 does not run itself run where nobody sees them."""
        given = _given(call_next)
        for schema in given["tools"]:
            if not isinstance(schema, _RUN_HERE):
                self._guard.must_guard(schema.type)
        if (function := _function_of(given.get("response_schema"))) is not None:
            self._guard.must_guard(function)
        return await call_next(events, context)


class _ToolFailedError(Exception):
    """A tool failed. AG2 shows the model the whole traceback, with the causes: that is what is judged."""

    def __init__(self, event: ToolErrorEvent) -> None:
        super().__init__("\n".join(plain_text(_part(one)) for one in event.result.parts))
        self.event = event


class _MessageRefusedError(Exception):
    """What is said instead of an answer of the model."""


def _is_ours(middleware: Any) -> bool:
    return isinstance(middleware, Middleware) and issubclass(middleware.cls, InterposeTurn)


def _flat(tools: Any) -> Iterator[Any]:
    for tool in tools:
        if isinstance(tool, Toolkit):
            yield from _flat(tool.tools)
        else:
            yield tool


def _place(tool: Any) -> str:
    """The module of the function that a tool runs."""
    call = getattr(getattr(tool, "model", None), "call", None)
    return str(getattr(call, "__module__", ""))


def _given(call_next: Any) -> Any:
    """What a model is given. AG2 has bound it to the innermost call."""
    while isinstance(call_next, partial):
        if "tools" in call_next.keywords:
            return call_next.keywords
        call_next = call_next.args[0] if call_next.args else None
    raise FrameworkLimitError("AG2 does not show which tools its model is given: put guard() last")


def _function_of(schema: Any) -> str | None:
    """The name of the function that is given the model's answer. AG2 runs it when the program reads the answer, where
    nobody can stand between."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, ResponseProto) or isinstance(schema, CallableResponse):
            break
        schema = next((held for held in vars(schema).values() if isinstance(held, ResponseProto)), None)
    return str(schema.name) if isinstance(schema, CallableResponse) else None


def _read(event: ToolCallEvent) -> dict[str, Any] | None:
    """The arguments that would run: another middleware may have put others beside the model's text."""
    try:
        strict_json.decode((event.arguments or "{}").encode())
        read = event.serialized_arguments
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


async def _asked(event: ToolCallEvent, context: Any, question: AskPerson) -> PersonsAnswer:
    """The person's answer. That nobody can be asked ends the turn, as it does for AG2's own questions."""
    shown = _encode(question.then.arguments).decode()
    text = f"{question.question}\nThe agent wants to call `{event.name}` with {shown}\nY/N?\n"
    said = await context.ask(ToolApprovalRequest(text, tool_call_id=event.id))
    return Approved(FACTS.name) if said.strip().lower() in _YES else Deny("")


def _part(part: Input) -> Any:
    """A part of a message or of a result, as plain data."""
    match part:
        case TextInput(content=content):
            return content
        case DataInput(data=data):
            return to_jsonable_python(data, fallback=str, bytes_mode="base64")
        case BinaryInput(data=data, media_type=kind):
            return {"type": kind, "data": to_jsonable_python(data, bytes_mode="base64")}
        case _:
            return to_jsonable_python(vars(part), fallback=str)


def _opened(event: Any) -> Any:
    """What a tool gave, as plain data: most give one part."""
    if not isinstance(event, ToolResultEvent):
        return None
    result = event.result
    parts = [_part(one) for one in result.parts]
    content = parts[0] if len(parts) == 1 else parts
    if not result.metadata:
        return content
    return {"content": content, "metadata": to_jsonable_python(result.metadata, fallback=str)}


def _closed(call: ToolCallEvent, event: Any, new: Any) -> Any:
    """The same with new data. What does not fit any more is its text."""
    if not isinstance(event, ToolResultEvent):
        return ToolResultEvent.from_call(call, plain_text(new))
    result, metadata = event.result, {}
    if result.metadata and isinstance(new, dict) and new.keys() == {"content", "metadata"}:
        new, metadata = new["content"], new["metadata"]
    parts = [new] if len(result.parts) == 1 else new
    if not isinstance(parts, list) or len(parts) != len(result.parts):
        return ToolResultEvent.from_call(call, plain_text(new))
    closed = [_put_back(old, one) for old, one in zip(result.parts, parts, strict=True)]
    return ToolResultEvent.from_call(call, ToolResult(parts=closed, final=result.final, metadata=metadata))


def _put_back(part: Input, new: Any) -> Input:
    old = _part(part)
    if new == old:
        return part
    return DataInput(fitted(old, new)) if isinstance(part, DataInput) else TextInput(plain_text(new))
