"""The variables of imported rules: `request`, `cli`, `response`, `auth`, and `tool` as some documents have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from interpose.core.tools import mcp_name
from interpose.rules.cel.variable_shapes import Dynamic, Shape
from interpose.rules.policy.result_texts import text_of_result
from interpose.rules.policy.variables import Variables

SHAPES: Mapping[str, Shape] = {name: Dynamic() for name in ("request", "cli", "response", "auth", "tool")}


class ImportedVariables(dict[str, Any]):
    """The variables of one call, as imported rules name them. `ran` is the command that is looked at."""

    __slots__ = ("ran", "variables")

    def __init__(self, variables: Variables, ran: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.variables = variables
        self.ran = ran

    def __missing__(self, name: str) -> Any:
        value = self[name] = _READERS[name](self)
        return value


def _name(variables: Variables) -> str:
    """The name that such a rule knows a tool by: `server__tool`, or what the agent called it."""
    given = variables.call.original_name or variables.call.name
    mcp = mcp_name(given)
    if mcp is None:
        return given
    return f"{mcp.server}__{mcp.tool}" if mcp.server else mcp.tool


def _request(of: ImportedVariables) -> dict[str, Any]:
    call = of.variables.call
    return {
        "method": "tools/call",
        "params": {"name": _name(of.variables), "arguments": call.arguments, "meta": call.metadata},
    }


def _tool(of: ImportedVariables) -> dict[str, Any]:
    return {"name": _name(of.variables), "arguments": of.variables.call.arguments}


def _cli(of: ImportedVariables) -> dict[str, Any]:
    if of.ran is None:
        return {}
    return {
        "command": of.ran["name"],
        "arguments": of.ran["args"],
        "working_directory": of.variables.call.context.cwd,
        "client_info": {},
    }


def _response(of: ImportedVariables) -> dict[str, Any]:
    outcome = of.variables.outcome
    if outcome is None:
        return {}
    result = outcome.result
    if isinstance(result, dict) and isinstance(result.get("content"), list | tuple):
        return {"content": result["content"], "isError": outcome.is_error, "meta": result.get("_meta", {})}
    return {"content": [{"type": "text", "text": text_of_result(result)}], "isError": outcome.is_error, "meta": {}}


def _auth(of: ImportedVariables) -> dict[str, Any]:
    who = of.variables.call.context.principal
    if not who:
        return {"authenticated": False}
    return {"authenticated": True, "user": {"sub": who, "email": "", "scopes": [], "claims": {}}}


_READERS: Mapping[str, Callable[[ImportedVariables], Any]] = {
    "request": _request,
    "tool": _tool,
    "cli": _cli,
    "response": _response,
    "auth": _auth,
}
