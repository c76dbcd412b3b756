"""FastMCP: a middleware for servers, and for proxies of other servers.

It speaks the words of the MCP SDK, on which FastMCP stands (mcp_sdk.py): names, questions and results are the same.
"""

from __future__ import annotations

import dataclasses
from base64 import b64decode
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Unpack, assert_never

from fastmcp.exceptions import FastMCPError, PromptError, ResourceError, ToolError
from fastmcp.prompts.base import InputRequiredPromptResult, Message, PromptResult
from fastmcp.resources.base import InputRequiredResourceResult, ResourceContent, ResourceResult
from fastmcp.server.dependencies import bind_request_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp.types import CallToolResult, GetPromptResult, InputRequiredResult, ReadResourceResult
from msgspec import Struct
from pydantic import ValidationError

from interpose.core.driving import drive_async
from interpose.doors.frameworks.facts import FrameworkFacts
from interpose.doors.frameworks.guarding import FrameworkGuard, Result, Told
from interpose.doors.frameworks.mcp_sdk import (
    CONTINUES,
    ClientQuestions,
    QuestionPut,
    Round,
    ServerGuard,
    ServerResult,
    called,
    no_task,
    put_back,
    wire,
)
from interpose.doors.frameworks.options import GuardOptions

FACTS = FrameworkFacts(name="fastmcp", title="FastMCP", asks="elicitation")
NO_RESULT = "Interpose withheld this result: what became of it is no result"


def guard(name: str = "", /, **options: Unpack[GuardOptions]) -> InterposeFastMCPMiddleware:
    """A middleware that lets every tool call pass Interpose: `FastMCP("notes", middleware=[guard()])`.

    Put it first, so that it is the outermost: then no other middleware answers a call that nobody judged. `name` is
    what rules call the server (`mcp__notes__TOOL`), if it is not the server's own name. The options are those of
    `GuardOptions`.
    """
    return InterposeFastMCPMiddleware(ServerGuard(FACTS, options), name)


class InterposeFastMCPMiddleware(Middleware):
    """Every tool call of a server, judged before it runs and after; and its prompts and resources."""

    def __init__(self, guard: FrameworkGuard, name: str) -> None:
        self._guard, self._name = guard, name
        self._questions = ClientQuestions()

    async def on_call_tool(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """A call of a tool."""
        return await self._judged(_TOOL, context, call_next)

    async def on_read_resource(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """A resource that is read."""
        return await self._judged(_RESOURCE, context, call_next)

    async def on_get_prompt(self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        """A prompt that is filled in."""
        return await self._judged(_PROMPT, context, call_next)

    async def _judged(self, kind: _RequestKind, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]) -> Any:
        current, came = _round(context), _Came()
        call = called(self._name or _server(context), kind.method, current)
        answers = current.continued()

        async def execute(arguments: dict[str, Any]) -> Any:
            message = context.message.model_copy(update=put_back(kind.method, current.params, arguments))
            # A tool that asks by itself reads its answers from the request, and must not find ours there.
            with nullcontext() if current.continued() == answers else _without_ours(current):
                came.result = await call_next(context.copy(message=message))
            if isinstance(came.result, kind.result):
                came.wire = kind.opened(came.result, str(current.params.get("uri")))
            else:
                no_task(self._guard, call)
                came.wire = wire(came.result)
            return came.wire

        ask = partial(self._questions.asked, current)
        try:
            ending = await drive_async(self._guard.around(call, execute, ask=ask, shape=ServerResult().shape))
        except QuestionPut as put:
            return kind.asking(put.result)
        match ending:
            case Result(value):
                self._questions.goes_on(current, value)
                return came.result if value is came.wire else kind.made(value)
            case Told(text):
                raise kind.error(text)
            case _:
                assert_never(ending)


class _Came:
    """What a tool gave, in FastMCP's shape and in that of the wire."""

    result: Any = None
    wire: Any = None


class _RequestKind(Struct, frozen=True):
    """What is asked of a server, and how its result goes to the wire and back."""

    method: str
    result: type[Any]
    opened: Callable[[Any, str], dict[str, Any]]
    closed: Callable[[dict[str, Any]], Any]
    asking: Callable[[InputRequiredResult], Any]
    error: type[FastMCPError]

    def made(self, value: dict[str, Any]) -> Any:
        """The result with other data. Raises FastMCPError if that is none."""
        try:
            if value.get("resultType") == "input_required":
                return self.asking(InputRequiredResult.model_validate(value))
            return self.closed(value)
        except (ValidationError, ValueError, TypeError):
            raise self.error(NO_RESULT) from None


def _tool_opened(result: ToolResult, _uri: str) -> dict[str, Any]:
    if isinstance(result, InputRequiredToolResult):
        return wire(result.input_required)
    # INVARIANT: what is judged is what goes out: a tool may have given a whole result of the protocol besides.
    out = result.to_mcp_result()
    if isinstance(out, CallToolResult):
        return wire(out)
    content, structured = out if isinstance(out, tuple) else (out, None)
    return wire(CallToolResult(content=content, structured_content=structured))


def _tool_closed(value: dict[str, Any]) -> ToolResult:
    out = CallToolResult.model_validate(value)
    return ToolResult(
        content=out.content, structured_content=out.structured_content, meta=out.meta, is_error=bool(out.is_error)
    )


def _resource_opened(result: ResourceResult, uri: str) -> dict[str, Any]:
    asks = isinstance(result, InputRequiredResourceResult)
    return wire(result.input_required if asks else result.to_mcp_result(uri))


def _resource_closed(value: dict[str, Any]) -> ResourceResult:
    out = ReadResourceResult.model_validate(value)
    contents: list[ResourceContent] = []
    for one in out.contents:
        text = getattr(one, "text", None)
        data = b64decode(getattr(one, "blob", "")) if text is None else text
        contents.append(ResourceContent(data, mime_type=one.mime_type, meta=one.meta))
    return ResourceResult(contents, meta=out.meta)


def _prompt_opened(result: PromptResult, _uri: str) -> dict[str, Any]:
    asks = isinstance(result, InputRequiredPromptResult)
    return wire(result.input_required if asks else result.to_mcp_prompt_result())


def _prompt_closed(value: dict[str, Any]) -> PromptResult:
    out = GetPromptResult.model_validate(value)
    messages = [Message(one.content, role=one.role) for one in out.messages]
    return PromptResult(messages, description=out.description, meta=out.meta)


_TOOL = _RequestKind("tools/call", ToolResult, _tool_opened, _tool_closed, InputRequiredToolResult, ToolError)
_RESOURCE = _RequestKind(
    "resources/read", ResourceResult, _resource_opened, _resource_closed, InputRequiredResourceResult, ResourceError
)
_PROMPT = _RequestKind(
    "prompts/get", PromptResult, _prompt_opened, _prompt_closed, InputRequiredPromptResult, PromptError
)


def _round(context: MiddlewareContext[Any]) -> Round:
    """The call as it came through the other middleware, with what the client sent besides."""
    active = context.fastmcp_context.request_context if context.fastmcp_context else None
    request = active._srctx if active is not None else None  # noqa: SLF001 - where FastMCP itself looks for answers
    sent = (request.params if request is not None else None) or {}
    besides = {key: sent[key] for key in ("_meta", *CONTINUES) if key in sent}
    message = context.message
    named = {"uri": str(message.uri)} if hasattr(message, "uri") else {"name": message.name}
    return Round(request, besides | named | {"arguments": getattr(message, "arguments", None)})


def _without_ours(current: Round) -> Any:
    request: Any = current.context
    sent = {key: value for key, value in request.params.items() if key not in CONTINUES}
    return bind_request_context(dataclasses.replace(request, params=sent | current.continued()))


def _server(context: MiddlewareContext[Any]) -> str:
    return str(context.fastmcp_context.fastmcp.name) if context.fastmcp_context else ""
