"""`POST /api/v1/intercept`: the published endpoint for agents' hooks, with its fields, codes and order of checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType

from interpose.core.types import ToolOutcome
from interpose.doors.http import deciding, incoming
from interpose.doors.http.incoming import NOBODY, Arguments, CallerContext, Directory, Name
from interpose.doors.http.verdicts import InterceptAnswer, Mutated, Phase, intercept_answer
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

PATH = "/api/v1/intercept"
SOURCE = "intercept"
EVENT = "tools/call"
_NOT_JSON = "Request body must be valid JSON"


class CallParams(Struct, frozen=True):
    """`params` of MCP's `tools/call`."""

    name: Name | None = None
    arguments: Arguments | None = None


class Payload(Struct, frozen=True):
    """The call, and its result in the response phase: as it is published, or as the whole request of MCP."""

    name: Name | None = None
    arguments: Arguments | None = None
    result: Any = None
    method: str | UnsetType = UNSET
    params: CallParams | None = None


class InterceptOptions(Struct, frozen=True):
    """`config`: how this one event is to be looked at."""

    working_directory: Directory | None = None


class InterceptBody(Struct, frozen=True):
    """One event of an agent's tool call."""

    event: str | None = None
    phase: str | None = None
    payload: Payload | None = None
    context: CallerContext | None = None
    config: InterceptOptions | None = None


CODES = (
    (400, "intercept_disabled"),
    (415, "invalid_content_type"),
    (400, "invalid_request"),
    (400, "missing_event"),
    (400, "unsupported_event"),
    (400, "missing_phase"),
    (400, "invalid_phase"),
    (400, "missing_payload_name"),
    (400, "response_phase_missing_result"),
)
"""In the order in which they are checked."""


RULES = {
    "required": ["event", "phase", "payload"],
    "properties": {
        "event": {"const": EVENT},
        "payload": {
            "type": "object",
            "oneOf": [
                {**incoming.required("name"), "not": {"required": ["params"]}},
                {
                    "required": ["params"],
                    "properties": {
                        "method": {"const": EVENT},
                        "params": {"type": "object"} | incoming.required("name"),
                    },
                    "not": {"anyOf": [{"required": ["name"]}, {"required": ["arguments"]}]},
                },
            ],
        },
    },
    "oneOf": [
        {"properties": {"phase": {"const": "request"}}},
        {
            "properties": {
                "phase": {"const": "response"},
                "payload": {"required": ["result"], "properties": {"result": {"not": {"type": "null"}}}},
            }
        },
    ],
}
"""The same checks for the API document."""


class InterceptEvent(Struct, frozen=True):
    """A body that passed all checks."""

    phase: Phase
    name: str
    payload: Payload
    context: CallerContext
    cwd: str | None
    is_request: bool = False
    """Whether the payload came as the whole request of MCP."""

    def changed(self, arguments: Arguments, result: Any = UNSET) -> Mutated:
        """The payload with other arguments or another result."""
        if self.is_request:
            return Mutated(method=EVENT, params={"name": self.name, "arguments": arguments}, result=result)
        return Mutated(self.name, arguments, result)


def routes(service: Service) -> tuple[Route, ...]:
    """The route."""
    return (
        Route(
            "POST", PATH, handler(service), "agent", "Judge a tool call before it runs, or its result after",
            body=InterceptBody, answer=InterceptAnswer, codes=CODES, rules=RULES,
        ),
    )  # fmt: skip


def handler(service: Service) -> Callable[[Request], Awaitable[Response]]:
    """The handler of the route. The configuration is looked up for each request, as it may be reloaded."""

    async def intercept(request: Request) -> Response:
        settings = service.config.intercept
        as_published = settings.identity == "maybe-dont"
        event = await deciding.in_thread_if_large(
            request, partial(_checked, request, enabled=settings.enabled, as_published=as_published)
        )
        context = incoming.context_of(request, SOURCE, event.context, cwd=event.cwd)
        call = await deciding.in_thread_if_large(
            request, partial(incoming.call_of, event.name, event.payload.arguments, context)
        )
        wait, headers = deciding.wait_of(service, request)
        mutated: Mutated | None = None
        verdict: Any
        if event.phase == "request":
            verdict, arguments = await deciding.before(service, request, call, wait=wait)
            if arguments is not None:
                mutated = event.changed(arguments)
        else:
            result = event.payload.result
            outcome = await deciding.in_thread_if_large(request, partial(ToolOutcome, call, result, _is_error(result)))
            verdict, result = await deciding.after(service, request, outcome, wait=wait)
            if verdict.allowed and verdict.rewritten:
                mutated = event.changed(event.payload.arguments or {}, result)
        answer = intercept_answer(
            verdict, phase=event.phase, request_id=request.request_id, as_published=as_published, mutated=mutated
        )
        return json_response(answer, headers=headers)

    return intercept


def _checked(request: Request, *, enabled: bool, as_published: bool) -> InterceptEvent:
    """The event of a request. The first fault in the published order is the one that is said."""
    if not enabled:
        raise Refusal(400, "intercept_disabled", "The intercept endpoint is switched off (intercept.enabled)")
    incoming.require_json(request, 415)
    body = _body(request, as_published)
    if not body.event:
        raise Refusal(400, "missing_event", "event is missing or empty")
    if body.event != EVENT:
        raise Refusal(400, "unsupported_event", f"event {_short(body.event)} is not supported, only {EVENT!r} is")
    if not body.phase:
        raise Refusal(400, "missing_phase", "phase is missing or empty")
    if body.phase != "request" and body.phase != "response":
        raise Refusal(400, "invalid_phase", f"phase must be 'request' or 'response', not {_short(body.phase)}")
    payload = _plain_payload(body.payload)
    if payload is None or payload.name is None or not payload.name.strip():
        raise Refusal(400, "missing_payload_name", "payload.name is missing or empty")
    phase: Phase = "request" if body.phase == "request" else "response"
    if phase == "response" and payload.result is None:
        raise Refusal(400, "response_phase_missing_result", "payload.result is required in the response phase")
    cwd = body.config.working_directory if body.config is not None else None
    is_request = body.payload is not payload
    return InterceptEvent(phase, payload.name, payload, body.context or NOBODY, cwd, is_request)


def _plain_payload(payload: Payload | None) -> Payload | None:
    """The call in the published shape. INVARIANT: of a payload that says two calls, neither is judged."""
    if payload is None or payload.params is None:
        return payload
    if payload.method is not UNSET and payload.method != EVENT:
        raise Refusal(400, "unsupported_event", f"payload.method {_short(payload.method)} is not {EVENT!r}")
    if payload.name is not None or payload.arguments is not None:
        raise Refusal(400, "invalid_request", "payload has params, and name or arguments beside them: say one of both")
    return Payload(payload.params.name, payload.params.arguments, payload.result)


def _body(request: Request, as_published: bool) -> InterceptBody:
    try:
        value = incoming.value_of(request)
    except Refusal as refusal:
        if as_published:
            raise Refusal(refusal.status, refusal.code, _NOT_JSON) from None
        raise
    return incoming.as_kind(value, InterceptBody)


def _is_error(result: Any) -> bool:
    return isinstance(result, dict) and result.get("isError") is True


def _short(text: str) -> str:
    return repr(text if len(text) <= 64 else f"{text[:64]}...")
