"""Calls that carry other calls: a wrapper's call is judged as the call inside it, and gets its own arguments back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpose.core.errors import InvalidCallError
from interpose.core.tools import (
    BATCH_TOOLS,
    KNOWN_TOOL_NAMES,
    WRAPPER_TOOLS,
    namespace_of,
    normalize_tool_name,
    plain_name,
)
from interpose.core.types import FrozenDict, ToolCall, freeze

_BATCH_CALLS = frozenset({"tooluses", "toolcalls", "invocations", "calls"})
_MAX_WRAPPERS = 8
_KNOWN = frozenset(KNOWN_TOOL_NAMES)


def canonical(call: ToolCall, shells: frozenset[str] = frozenset()) -> ToolCall:
    """The call under its canonical name, unwrapped if it only carries another call.

    The name that the agent said is then that of the tool inside: it runs, in its own shell or on its own server. A
    tool whose name is among `shells` is judged as `exec`.

    INVARIANT: names are only added. What is a shell by its own name stays one, whatever else is listed.
    """
    call = _unwrapped(call)
    if shells and plain_name(call.name) in shells:
        return ToolCall("exec", call.arguments, call.call_id, call.context, call.metadata, call.original_name)
    return call


def _unwrapped(call: ToolCall) -> ToolCall:
    name, arguments = normalize_tool_name(call.name), call.arguments
    own = _own_name(name)
    if name == call.name and own not in WRAPPER_TOOLS and own not in BATCH_TOOLS:
        return call
    original = call.original_name
    for _ in range(_MAX_WRAPPERS):
        keys = _carrier(name, arguments)
        if keys is None:
            if _own_name(name) in BATCH_TOOLS and _holds_calls(arguments):
                raise InvalidCallError(f"{original} carries several calls: make them one by one")
            return ToolCall(name, arguments, call.call_id, call.context, call.metadata, original)
        inner, carried, server = arguments.get(keys[0]), arguments.get(keys[1], FrozenDict()), arguments.get(keys[2])
        if not isinstance(inner, str) or not inner.strip():
            raise InvalidCallError(f"{original} carries no tool name in its argument {keys[0]!r}")
        if isinstance(carried, str):
            carried = _decoded(original, keys[1], carried)
        if not isinstance(carried, dict):
            raise InvalidCallError(f"{original} carries {type(carried).__name__} in {keys[1]!r}, expected an object")
        # A wrapper of somebody else's calls that one's tools: `mcp__x__call_tool` carries a call of `mcp__x__bash`.
        inner = f"mcp__{server or ''}__{inner}" if keys[2] else f"{namespace_of(name)}{inner}"
        name, arguments, original = normalize_tool_name(inner), _frozen(original, carried), inner
    raise InvalidCallError(f"{original} wraps calls more than {_MAX_WRAPPERS} deep")


def _holds_calls(arguments: Mapping[Any, Any]) -> bool:
    return any(isinstance(key, str) and plain_name(key) in _BATCH_CALLS for key in arguments)


def is_wrapper(name: str) -> bool:
    """Whether a tool's calls only carry calls of other tools."""
    return _own_name(normalize_tool_name(name)) in WRAPPER_TOOLS


def _carrier(name: str, arguments: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Which arguments hold the call that a call carries; None if it carries none. A tool of somebody else that is only
    called like a wrapper may be anything: it is one if its arguments are those of one."""
    keys = WRAPPER_TOOLS.get(_own_name(name))
    return keys if keys and (name in WRAPPER_TOOLS or isinstance(arguments.get(keys[0]), str)) else None


def _own_name(name: str) -> str:
    """The name without whose tool it is: `tool_call` of `functions.tool_call` and of `mcp__x__toolCall`."""
    if name in _KNOWN or name in BATCH_TOOLS:
        return name
    return normalize_tool_name(name[len(namespace_of(name)) :])


def carrying(name: str, arguments: Mapping[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an agent's own call, so that what it carries has the arguments `inner`.

    The way back of `canonical`, for a call that it understood: a tool that carries no other gets `inner` itself.
    """
    plain = normalize_tool_name(name)
    keys = _carrier(plain, arguments)
    if keys is None:
        return inner
    given = arguments.get(keys[1], FrozenDict())
    as_text = isinstance(given, str)
    carried: Any = _decoded(name, keys[1], given) if as_text else given
    again = inner if keys[2] else carrying(f"{namespace_of(plain)}{arguments[keys[0]]}", carried, inner)
    return {**arguments, keys[1]: _encoded(again) if as_text else again}


def _encoded(value: object) -> str:
    import json

    return json.dumps(value)


def _frozen(tool: str, arguments: dict[str, Any]) -> FrozenDict:
    try:
        frozen: FrozenDict = freeze(arguments)
    except ValueError as error:
        raise InvalidCallError(f"{tool}: {error}") from None
    return frozen


def _decoded(tool: str, key: str, text: str) -> object:
    from interpose.core.formats import strict_json

    try:
        return strict_json.decode(text.encode())
    except ValueError as error:  # StrictJsonError, or half a character
        raise InvalidCallError(f"{tool} carries text in {key!r} that is no JSON object: {error}") from None
