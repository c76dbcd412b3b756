"""Requests as the calls that rules and the ledger see, and rewritten calls as requests again.

tools/call       mcp__SERVER__NAME              the tool's arguments
prompts/get      mcp__SERVER__prompts/get       name, arguments
completion/complete  mcp__SERVER__completion/complete  ref, argument, context
resources/read   mcp__SERVER__resources/read    uri: looked at as a file that is read
                 mcp__SERVER__resources/fetch   uri, if it is one of the web: looked at as a page that is fetched
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpose.core.errors import InvalidCallError
from interpose.core.types import Context, ToolCall
from interpose.doors.mcp.gate.contract import Asked
from interpose.doors.mcp.gate.gate_schema import misfit

CALL, PROMPT, RESOURCE = "tools/call", "prompts/get", "resources/read"
COMPLETE = "completion/complete"
_COMPLETED = ("ref", "argument", "context")
_WEB = ("http:", "https:")
_FETCH = "resources/fetch"


def tool_name(server: str, name: str) -> str:
    """What rules and the ledger call a server's tool."""
    return f"mcp__{server}__{name}"


def call_of(asked: Asked, context: Context) -> ToolCall:
    """The call that a request is. Raises InvalidCallError or ValueError if it is none."""
    params = asked.params
    match asked.method:
        case "tools/call":
            return ToolCall(tool_name(asked.server, asked.name), _arguments(params), context=context)
        case "prompts/get":
            given = {"name": asked.name, "arguments": _arguments(params)}
            return ToolCall(tool_name(asked.server, PROMPT), given, context=context)
        case "resources/read":
            # INVARIANT: what is no address of the web is looked at as a file, whatever its scheme or lack of one.
            web = asked.name.strip().lower().startswith(_WEB)
            name = tool_name(asked.server, _FETCH if web else RESOURCE)
            return ToolCall(name, {"uri": asked.name}, context=context)
        case "completion/complete":
            given = {key: params[key] for key in _COMPLETED if key in params}
            return ToolCall(tool_name(asked.server, COMPLETE), given, context=context)
        case other:
            raise InvalidCallError(f"{other!r} is no request that could be judged")


def _arguments(params: Mapping[str, Any]) -> dict[str, Any]:
    given = params.get("arguments")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise InvalidCallError(f'"arguments" must be an object, not {type(given).__name__}')
    return given


def params_with(asked: Asked, arguments: dict[str, Any]) -> dict[str, Any] | str:
    """The parameters of a request whose call was rewritten, or why its server can't be sent them."""
    params = dict(asked.params)
    match asked.method:
        case "tools/call":
            if place := misfit(asked.definition.get("inputSchema"), arguments):
                return f"the tool does not take what became of {place}"
            return params | {"arguments": arguments}
        case "prompts/get":
            inner = arguments.get("arguments", {})
            if arguments.get("name") != asked.name or not isinstance(inner, dict):
                return "another prompt is another request"
            if not all(isinstance(value, str) for value in inner.values()):
                return "arguments of prompts are texts"
            return params | {"arguments": inner}
        case "completion/complete":
            if arguments.get("ref") != params.get("ref"):
                return "another reference is another request"
            return params | {key: arguments[key] for key in _COMPLETED if key in arguments}
        case _:
            uri = arguments.get("uri")
            return params | {"uri": uri} if isinstance(uri, str) and uri else "a resource has a URI"
