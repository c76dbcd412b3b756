"""Pydantic AI: a capability, whose toolset stands in front of all of an agent's tools.

It is the toolset that judges and not a hook around it: other capabilities may still change a call before it comes
here. A question is the framework's own deferred approval (`ApprovalRequired`). Its metadata has the question and the
arguments that would really run.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from enum import Enum
from functools import partial
from typing import Any, Unpack, assert_never

from msgspec.json import Encoder
from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, RunContext, ToolFailed
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest, ToolReturn, UserPromptPart, is_multi_modal_content
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.output import OutputContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_core import to_jsonable_python

from interpose.core.answers import Approved
from interpose.core.driving import drive_async
from interpose.core.errors import RefusedError, text_of
from interpose.core.formats.nested_values import is_stream
from interpose.core.types import same
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
from interpose.doors.hooks.hosts.result_shapes import fitted

FACTS = FrameworkFacts(name="pydantic_ai", title="Pydantic AI", asks="ApprovalRequired", messages=True)
METADATA = "interpose"
"""The key in a deferred call's metadata under which the question stands."""

OUTPUT = "output"
"""What an answer of the model is called that goes to a function, if nothing else names it."""
NOT_ANEW = "Interpose refused this as it is, and what it would become can't be made anew"

_SCALARS = (str, int, float, bytes, bytearray)
_SEVERAL = (list, tuple, set, frozenset, deque)
_MOST = 10_000
_encode = Encoder(order="sorted", enc_hook=text_of).encode
_outer: ContextVar[str] = ContextVar("interpose_session", default="")
"""The session of the run in which this one runs."""


def guard(**options: Unpack[GuardOptions]) -> InterposeCapability:
    """A capability that lets every tool call pass Interpose: `Agent(..., capabilities=[guard()])`.

    The options are those of `GuardOptions`.
    """
    return InterposeCapability(FrameworkGuard(FACTS, options))


class InterposeCapability(AbstractCapability[Any]):
    """Every tool call of an agent, judged before it runs and after."""

    def __init__(self, guard: FrameworkGuard) -> None:
        self._guard = guard
        self._put: OrderedDict[bytes, None] = OrderedDict()

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """All tools, behind the guard."""
        return _GuardedToolset(toolset, self._guard, self._put)

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Callable[[], Awaitable[Any]]) -> Any:
        """A run that a tool starts belongs to the session of the run that called the tool."""
        before = _outer.set(_session(ctx))
        try:
            return await handler()
        finally:
            _outer.reset(before)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """What the user said is judged before the model reads it. Raises RefusedError, which ends the run."""
        for tool in request_context.model_request_parameters.native_tools:
            self._guard.must_guard(tool.kind)
        request = request_context.messages[-1]
        if not self._guard.messages or not isinstance(request, ModelRequest):
            return request_context
        parts = [await self._judged(ctx, part) for part in request.parts]
        if all(new is old for new, old in zip(parts, request.parts, strict=True)):
            return request_context
        new = dataclasses.replace(request, parts=parts)
        ctx.messages[:] = [new if message is request else message for message in ctx.messages]
        return dataclasses.replace(request_context, messages=[*request_context.messages[:-1], new])

    async def wrap_output_process(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any, handler: Callable[[Any], Any]
    ) -> Any:
        """A function that is given the model's answer runs like a tool, and no toolset sees it. A refusal asks for
        another answer; nobody can be asked here."""
        if not output_context.has_function:
            return await handler(output)
        made = output_context.tool_call
        plain = _plain(output)
        names = list(made.args_as_dict()) if made is not None else []
        key = names[0] if len(names) == 1 else OUTPUT
        shown = plain if isinstance(output, dict) else {key: plain}
        call = FrameworkCall(
            name=output_context.function_name or (OUTPUT if made is None else made.tool_name), arguments=shown,
            call_id="" if made is None else made.tool_call_id, session=_session(ctx), agent=_agent(ctx),
        )  # fmt: skip

        async def execute(arguments: dict[str, Any]) -> Any:
            if same(arguments, shown):
                return await handler(output)
            new = arguments if isinstance(output, dict) else arguments.get(key)
            if not same(plain, output) or type(new) is not type(output):
                raise ModelRetry(NOT_ANEW)
            return await handler(new)

        ending = await drive_async(self._guard.around(call, execute, shape=_SHAPE, passes=(ModelRetry,)))
        match ending:
            case Result(value):
                return value
            case Told(text):
                raise ModelRetry(text)
            case _:
                assert_never(ending)

    async def _judged(self, ctx: RunContext[Any], part: Any) -> Any:
        if not isinstance(part, UserPromptPart):
            return part
        texts = [part.content] if isinstance(part.content, str) else part.content
        new: list[Any] = []
        for text in texts:
            answer: Any = text
            if isinstance(text, str):
                flow = self._guard.message(text, session=_session(ctx), agent=_agent(ctx))
                answer = await drive_async(flow)
            if isinstance(answer, Told):
                raise RefusedError(answer.verdict)
            new.append(answer)
        if all(one is other or one == other for one, other in zip(new, texts, strict=True)):
            return part
        return dataclasses.replace(part, content=new[0] if isinstance(part.content, str) else new)


@dataclasses.dataclass
class _GuardedToolset(WrapperToolset[Any]):
    guard: FrameworkGuard
    put: OrderedDict[bytes, None]

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """INVARIANT: a tool that somebody else runs, where we are not asked, is none that may be used unseen."""
        tools = await super().get_tools(ctx)
        for name, tool in tools.items():
            if tool.tool_def.kind == "external":
                self.guard.must_guard(name)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """One call. What the model sees of a refusal is a failed tool result."""
        shown = _plain(tool_args)
        call = FrameworkCall(
            name=name, arguments=shown, call_id=ctx.tool_call_id or "", session=_session(ctx), agent=_agent(ctx)
        )
        forward = super().call_tool

        async def execute(arguments: dict[str, Any]) -> Any:
            # Validated values are objects. They are judged as plain data, and made of it anew if that was changed.
            given = tool_args if same(arguments, shown) else _validated(tool, ctx, arguments)
            return await forward(name, given, ctx, tool)

        ending = await drive_async(
            self.guard.around(
                call, execute, ask=partial(self._asked, ctx), shape=_SHAPE, passes=(ApprovalRequired, CallDeferred)
            )
        )
        match ending:
            case Result(value):
                return value
            case Told(text):
                raise ToolFailed(text)
            case _:
                assert_never(ending)

    def _asked(self, ctx: RunContext[Any], question: AskPerson) -> PersonsAnswer:
        """INVARIANT: a yes counts for the arguments that its person was shown. Others than the model's are shown by us
        alone, so that a yes to the model's own is none to them."""
        asked = {"question": question.question, "arguments": question.then.arguments}
        key = _encode((ctx.tool_call_id, asked))
        if ctx.tool_call_approved and (not question.then.changed or key in self.put or _shown(ctx) == asked):
            return Approved(FACTS.name)
        self.put[key] = None
        if len(self.put) > _MOST:
            self.put.popitem(last=False)
        raise ApprovalRequired(metadata={METADATA: asked})


def _shown(ctx: RunContext[Any]) -> Any:
    """What stood in the metadata of the deferred call, if the program hands it on."""
    return ctx.tool_call_metadata.get(METADATA) if isinstance(ctx.tool_call_metadata, dict) else None


def _session(ctx: RunContext[Any]) -> str:
    return _outer.get() or ctx.conversation_id or ""


def _agent(ctx: RunContext[Any]) -> str:
    return (ctx.agent.name if ctx.agent is not None else None) or ""


def _validated(tool: ToolsetTool[Any], ctx: RunContext[Any], arguments: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = tool.args_validator.validate_python(arguments, context=ctx.validation_context)
    return made


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, fallback=text_of, serialize_unknown=True)


def _opened(value: Any) -> Any:
    """What a tool gave, as plain data. Pictures and other files stay what they are, all else is what JSON makes of it:
    that is what the model reads."""
    if isinstance(value, ToolReturn):
        return {"return_value": _opened(value.return_value), "content": _parts(value.content)}
    if isinstance(value, Enum):
        return _opened(value.value)
    if value is None or isinstance(value, _SCALARS) or is_multi_modal_content(value) or is_stream(value):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {one.name: getattr(value, one.name, None) for one in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {key: _opened(item) for key, item in value.items()}
    if isinstance(value, _SEVERAL):
        return [_opened(item) for item in value]
    return _plain(value)


def _parts(content: Any) -> Any:
    """What a tool says to the model beside its result, in the parts of a message: these are Pydantic AI's own."""
    return content if content is None or isinstance(content, str) else list(content)


def _closed(value: Any, new: Any) -> Any:
    if not isinstance(value, ToolReturn):
        return fitted(_opened(value), new)
    if not isinstance(new, dict) or new.keys() != {"return_value", "content"}:
        return new
    return dataclasses.replace(value, return_value=new["return_value"], content=new["content"], metadata=None)


_SHAPE = ResultShape(_opened, _closed)
