"""`/api/v1/openapi.json`: what is served, made from the routes themselves."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from msgspec import Struct, json

from interpose.doors.http_server.messages import JSON, Request, Response, Route, Routes

PATH = "/api/v1/openapi.json"
PAGE = "text/html"
_REFERENCE = "#/components/schemas/{name}"
_NAMES = re.compile(r"{(\w+)}")
_ANY_SEGMENT = r"^[^\x00-\x1f\x7f/]+$"

_DESCRIPTION = """The decision server. Tokens stand in the tokens file of the server (`server.tokens_file`).

Routes of the role `agent` need no token on the Unix socket. On loopback they give a caller without a token a verdict
and nothing else, unless `server.loopback` says otherwise. Errors are
`{"error": code, "message": text}`. Any answer but 200 to a question whether something may run means: it may not."""

_ROLES = {
    "public": "Needs no token, from wherever it comes.",
    "open": "Needs no token.",
    "agent": "Needs the role `agent`, which the server's user has on the Unix socket. On loopback: a verdict only.",
    "auditor": "Needs a token of the role `auditor` or `operator`.",
    "approver": "Needs a token of the role `approver` or `operator`.",
    "operator": "Needs a token of the role `operator`.",
}


class Error(Struct, frozen=True):
    """Why there is no answer. Some errors say more in further fields."""

    error: str
    message: str


def with_document(routes: Routes, version: str) -> tuple[Route, ...]:
    """The routes, and one more that describes them all."""
    body = b""

    async def show(_request: Request) -> Response:
        return Response(body=body)

    described = (*routes, Route("GET", PATH, show, "open", "This document"))
    body = json.encode(document(described, version))
    return described


def document(routes: Routes, version: str) -> dict[str, Any]:
    """The OpenAPI document of these routes."""
    types = [kind for route in routes for kind in (route.body, route.answer, route.query) if kind is not None]
    unique = list(dict.fromkeys((*types, Error)))
    schemas, components = json.schema_components(unique, ref_template=_REFERENCE)
    schema_of = dict(zip(unique, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for route in routes:
        paths[route.path][route.method.lower()] = _operation(route, schema_of, components)
    queries = {route.query.__name__ for route in routes if route.query is not None}
    shown = {name: _readable(schema) for name, schema in components.items() if name not in queries}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Interpose", "version": version, "description": _DESCRIPTION},
        "paths": dict(paths),
        "components": {
            "schemas": shown,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "A line of the tokens file"}
            },
        },
    }


def _operation(route: Route, schema_of: dict[type, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "description": _ROLES[route.role],
        "security": [{"token": []}] if route.role not in ("public", "open", "agent") else [{}, {"token": []}],
        "responses": _responses(route, schema_of),
    }
    parameters = [_path_parameter(name) for name in _NAMES.findall(route.path)]
    if route.query is not None:
        parameters += _query_parameters(components[route.query.__name__])
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        schema = {"allOf": [schema_of[route.body], route.rules]} if route.rules else schema_of[route.body]
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return operation


def _operation_id(route: Route) -> str:
    words = [word for word in re.split(r"[/{}_.-]", route.path.removeprefix("/api/v1")) if word]
    return route.method.lower() + "".join(word.capitalize() for word in words)


def _responses(route: Route, schema_of: dict[type, Any]) -> dict[str, Any]:
    content = {
        kind: {"schema": schema_of[route.answer] if kind == JSON and route.answer is not None else _untyped(kind)}
        for kind in route.produces
    }
    responses: dict[str, Any] = {"200": {"description": "The answer", "content": content}}
    by_status: dict[int, list[str]] = defaultdict(list)
    for status, code in route.codes:
        by_status[status].append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = _error(" or ".join(f"`{code}`" for code in dict.fromkeys(codes)), schema_of)
    responses["default"] = _error("Refused before it came to the route, or failed", schema_of)
    if PAGE in route.produces:  # what a browser shows is a page, also where it says no
        for said in responses.values():
            said["content"].setdefault(PAGE, {"schema": _untyped(PAGE)})
    return responses


def _untyped(kind: str) -> dict[str, Any]:
    """Of events, each is an object: its name, its number and its data."""
    return {"type": "object"} if kind in (JSON, "text/event-stream") else {"type": "string"}


def _error(description: str, schema_of: dict[type, Any]) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": schema_of[Error]}}}


def _path_parameter(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "schema": {"type": "string", "minLength": 1, "maxLength": 256, "pattern": _ANY_SEGMENT},
    }


def _query_parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    required = schema.get("required", ())
    return [_query_parameter(name, found, name in required) for name, found in schema["properties"].items()]


def _query_parameter(name: str, schema: dict[str, Any], required: bool) -> dict[str, Any]:
    rest = dict(schema)
    parameter = {"name": name, "in": "query", "required": required, "schema": rest}
    if "description" in rest:
        parameter["description"] = rest.pop("description")
    return parameter


def _readable(schema: dict[str, Any]) -> dict[str, Any]:
    """Docstrings are folded at the width of our source; readers have their own."""
    if "description" not in schema:
        return schema
    return schema | {"description": " ".join(schema["description"].split())}
