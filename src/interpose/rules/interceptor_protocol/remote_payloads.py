"""Our calls and results as events of MCP, and what another program made of them as calls and results again."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interpose.core.types import EMPTY, ToolCall, ToolOutcome, freeze
from interpose.rules.interceptor_protocol.invocations import InterceptorInvocation, MisansweredInvocationError

CALL, PROMPT, RESOURCE = "tools/call", "prompts/get", "resources/read"
_OF_MCP = "mcp__"
_ENDS = {"prompts/get": PROMPT, "resources/read": RESOURCE, "resources/fetch": RESOURCE}


def event_of(payload: ToolCall | ToolOutcome) -> tuple[str, Any]:
    """The event that it is, and how it is shown: bare, as the parameters or the result that MCP has."""
    call = payload.call if isinstance(payload, ToolOutcome) else payload
    event, server, name = _named(call)
    if isinstance(payload, ToolOutcome):
        return event, _shown(payload.result)
    if event == CALL:
        about = {"_meta": {"interpose/server": server}} if server else EMPTY
        return event, freeze({"name": name, "arguments": call.arguments, **about})
    return event, call.arguments


def _named(call: ToolCall) -> tuple[str, str, str]:
    """Event, server and name. Tools of MCP are shown by the name that their own server has for them."""
    said = call.original_name or call.name
    if not said.startswith(_OF_MCP):
        return CALL, "", said
    server, _, name = said.removeprefix(_OF_MCP).partition("__")
    return _ENDS.get(name, CALL), server, name or said


def _shown(result: Any) -> Any:
    """A result as MCP has it: a tool of another kind gave something else, mostly a text."""
    if isinstance(result, dict):
        return freeze(result)
    return freeze({"content": [{"type": "text", "text": result if isinstance(result, str) else _text(result)}]})


def _text(result: Any) -> str:
    from msgspec.json import encode

    return encode(result, enc_hook=str).decode()


def with_payload(payload: ToolCall | ToolOutcome, asked: InterceptorInvocation, new: Any) -> Any:
    """The same call, or outcome, as another program made it. Raises MisansweredInvocationError."""
    if not isinstance(new, dict):
        raise MisansweredInvocationError("a mutation made something else than an object")
    if isinstance(payload, ToolOutcome):
        return replace(payload, result=_result(payload.result, new))
    event = asked.event
    if event != CALL:
        return payload.with_arguments(dict(new))
    arguments = new.get("arguments", {})
    # INVARIANT: a rewrite turns no call into another.
    if new.get("name") != asked.payload["name"] or not isinstance(arguments, dict):
        raise MisansweredInvocationError("a mutation made another call of it")
    return payload.with_arguments(arguments)


def _result(old: Any, new: dict[str, Any]) -> Any:
    if isinstance(old, dict):
        return freeze(new)
    parts = new.get("content")
    if not isinstance(parts, list) or not all(
        isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts
    ):
        raise MisansweredInvocationError("a mutation made something else than texts of a text")
    return "\n".join(part["text"] for part in parts)
