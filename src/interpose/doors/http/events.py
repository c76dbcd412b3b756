"""`POST /api/v1/events/{point}`: every hook point, in plain JSON that mirrors the types of the library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

from interpose.core.driving import Flow
from interpose.core.types import (
    EMPTY,
    Context,
    Finding,
    HookPoint,
    Outcome,
    Params,
    ToolCall,
    ToolOutcome,
    Verdict,
    thaw,
)
from interpose.doors.http import deciding, incoming
from interpose.doors.http.incoming import NOBODY, VISIBLE, Arguments, CallerContext, Directory, Name
from interpose.doors.http.verdicts import milliseconds
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.engine.flow.hosted import Hosted, undecidable

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

P = TypeVar("P")

PATH = "/api/v1/events"
SOURCE = "intercept"
CODES = ((400, "intercept_disabled"), (415, "invalid_content_type"), (400, "invalid_request"))


class _Event(Struct, frozen=True, kw_only=True):
    context: CallerContext | None = None
    cwd: Directory | None = None


class ToolBefore(_Event, frozen=True, kw_only=True):
    """`tool.before`: a call that is about to run. `call_id` is the caller's own name for it."""

    name: Annotated[Name, Meta(pattern=VISIBLE)]
    arguments: Arguments | None = None
    call_id: Name | None = None


class PermissionAsk(ToolBefore, frozen=True, kw_only=True):
    """`permission.ask`: a call about which the caller's own program wants to ask a person."""

    message: Annotated[str, Meta(max_length=10_000)] | None = None


class ToolAfter(ToolBefore, frozen=True, kw_only=True):
    """`tool.after`: what came of a call."""

    result: Any
    is_error: bool = False
    duration_ms: Annotated[float, Meta(ge=0, le=1e12)] = 0.0


class MessageBefore(_Event, frozen=True, kw_only=True):
    """`message.before`: a message on its way to the agent."""

    text: str
    provider: Name | None = None
    model: Name | None = None


class ParamsBefore(_Event, frozen=True, kw_only=True):
    """`params.before`: the model parameters of a run. `extras` carries what has no field."""

    model: Name | None = None
    provider: Name | None = None
    think_level: Name | None = None
    reasoning_level: Name | None = None
    temperature: float | None = None
    extras: Arguments | None = None


class CommandBefore(_Event, frozen=True, kw_only=True):
    """`command.before`: a command of the agent's host on its way. `/review 12` is `review` with the arguments `12`."""

    name: Annotated[Name, Meta(pattern=VISIBLE)]
    arguments: str = ""


class EventAnswer(Struct, frozen=True, kw_only=True):
    """A verdict. `payload` is what should go on: it is there when the event may go on and was rewritten."""

    point: HookPoint
    decision: Outcome
    allowed: bool
    reason: str
    payload: dict[str, Any] | UnsetType = UNSET
    findings: tuple[Finding, ...]
    questions: tuple[str, ...]
    approval_id: str
    approver: str
    policy: str
    request_id: str
    duration_ms: int


class _IncomingEvent(Struct, frozen=True):
    """An event in its context, ready to be put."""

    service: Service
    request: Request
    context: Context
    wait: float


async def _permission_ask(asked: _IncomingEvent, event: PermissionAsk) -> tuple[Verdict[Any], dict[str, Any]]:
    """The caller's question is one more reason to ask. No objection of ours is no answer to it."""
    return await _tool_before(asked, event, event.message or f"Execute tool '{event.name}'?")


async def _tool_before(
    asked: _IncomingEvent, event: ToolBefore, question: str = ""
) -> tuple[Verdict[Any], dict[str, Any]]:
    verdict, arguments = await deciding.before(
        asked.service, asked.request, await _call(asked, event), wait=asked.wait, key=event.call_id or "",
        wish=(lambda _arguments: question) if question else None,
    )  # fmt: skip
    return verdict, {} if arguments is None else {"arguments": arguments}


async def _tool_after(asked: _IncomingEvent, event: ToolAfter) -> tuple[Verdict[Any], dict[str, Any]]:
    call, took = await _call(asked, event), int(event.duration_ms * 1_000_000)
    outcome = await deciding.in_thread_if_large(
        asked.request, partial(ToolOutcome, call, event.result, event.is_error, duration_ns=took)
    )
    verdict, result = await deciding.after(
        asked.service, asked.request, outcome, wait=asked.wait, key=event.call_id or ""
    )
    return verdict, {"result": result}


async def _message_before(asked: _IncomingEvent, event: MessageBefore) -> tuple[Verdict[Any], dict[str, Any]]:
    provider, model = event.provider or "", event.model or ""
    verdict = await _walk(asked, lambda hosted: hosted.message(event.text, provider=provider, model=model))
    return verdict, {"text": verdict.payload.text, "metadata": thaw(verdict.payload.metadata)}


async def _params_before(asked: _IncomingEvent, event: ParamsBefore) -> tuple[Verdict[Any], dict[str, Any]]:
    params = Params(
        model=event.model, provider=event.provider, think_level=event.think_level,
        reasoning_level=event.reasoning_level, temperature=event.temperature, extras=event.extras or EMPTY,
    )  # fmt: skip
    verdict = await _walk(asked, lambda hosted: hosted.params(params))
    final = verdict.payload
    return verdict, {
        "model": final.model, "provider": final.provider, "think_level": final.think_level,
        "reasoning_level": final.reasoning_level, "temperature": final.temperature, "extras": thaw(final.extras),
    }  # fmt: skip


async def _command_before(asked: _IncomingEvent, event: CommandBefore) -> tuple[Verdict[Any], dict[str, Any]]:
    return await _walk(asked, lambda hosted: hosted.command(event.name, event.arguments)), {}


async def _walk(asked: _IncomingEvent, flow: Callable[[Hosted], Flow[Verdict[P]]]) -> Verdict[P]:
    return await deciding.walk(
        asked.service, asked.request, asked.context, flow, wait=asked.wait, asks=deciding.question_of
    )


async def _call(asked: _IncomingEvent, event: ToolBefore) -> ToolCall:
    return await deciding.in_thread_if_large(
        asked.request, partial(incoming.call_of, event.name, event.arguments, asked.context)
    )


Put = Callable[[_IncomingEvent, Any], Awaitable[tuple[Verdict[Any], dict[str, Any]]]]
"""Puts an event: the verdict, and what of the event may go on."""

POINTS: tuple[tuple[HookPoint, type[Any], str, Put], ...] = (
    (HookPoint.MESSAGE_BEFORE, MessageBefore, "Judge a message before the agent sees it", _message_before),
    (HookPoint.PARAMS_BEFORE, ParamsBefore, "Judge the model parameters of a run", _params_before),
    (HookPoint.TOOL_BEFORE, ToolBefore, "Judge a tool call before it runs", _tool_before),
    (HookPoint.PERMISSION_ASK, PermissionAsk, "Answer a question about a tool call, or leave it open", _permission_ask),
    (HookPoint.TOOL_AFTER, ToolAfter, "Judge the result of a tool call", _tool_after),
    (HookPoint.COMMAND_BEFORE, CommandBefore, "Judge a command of the agent's host before it runs", _command_before),
)


def routes(service: Service) -> tuple[Route, ...]:
    """One route for each hook point, and one that says which there are."""
    return (
        *(
            Route(
                "POST", f"{PATH}/{point}", handler(service, point, body, put), "agent", summary,
                body=body, answer=EventAnswer, codes=CODES,
            )
            for point, body, summary, put in POINTS
        ),
        Route("POST", f"{PATH}/{{point}}", _unknown, "agent", "No such hook point", codes=((404, "unknown_point"),)),
    )  # fmt: skip


def handler(service: Service, point: HookPoint, body: type[Any], put: Put) -> Callable[[Request], Awaitable[Response]]:
    """The handler of one hook point."""

    async def judge(request: Request) -> Response:
        settings = service.config.intercept
        if not settings.enabled:
            raise Refusal(400, "intercept_disabled", "Events are not judged here (intercept.enabled)")
        incoming.require_json(request, 415)
        event = await deciding.in_thread_if_large(request, partial(incoming.body_of, request, body))
        context = incoming.context_of(request, SOURCE, event.context or NOBODY, cwd=event.cwd)
        wait, headers = deciding.wait_of(service, request)
        try:
            verdict, payload = await put(_IncomingEvent(service, request, context, wait), event)
        except Refusal:
            raise
        except Exception as error:  # noqa: BLE001 - deny by default: a caller gets a refusal, whatever broke
            verdict, payload = undecidable(error), {}
        goes_on = verdict.allowed and verdict.rewritten
        return json_response(event_answer(point, verdict, request, payload if goes_on else UNSET), headers=headers)

    return judge


async def _unknown(request: Request) -> Response:
    known = ", ".join(point for point, _, _, _ in POINTS)
    raise Refusal(404, "unknown_point", f"there is no hook point {request.params['point'][:64]!r}, only {known}")


def event_answer(
    point: HookPoint, verdict: Verdict[Any], request: Request, payload: dict[str, Any] | UnsetType = UNSET
) -> EventAnswer:
    """A verdict as the caller reads it."""
    return EventAnswer(
        point=point, decision=verdict.outcome, allowed=verdict.allowed, reason=verdict.reason, payload=payload,
        findings=verdict.findings, questions=verdict.questions, approval_id=verdict.approval,
        approver=verdict.approver, policy=verdict.policy, request_id=request.request_id,
        duration_ms=milliseconds(verdict),
    )  # fmt: skip
