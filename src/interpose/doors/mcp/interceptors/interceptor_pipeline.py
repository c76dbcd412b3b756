"""Our pipeline as two interceptors: one that objects (`interpose/decide`), one that rewrites (`interpose/rewrite`).

                     request                                      response
interpose/rewrite    other arguments, if a rule wants others       secrets hidden, what is withheld replaced
interpose/decide     decided, asked and recorded                   withheld results, recorded with their call

A client asks for a rewrite first when it sends, and last when it receives. So a request is decided as it will be sent,
and what would still have to be rewritten is refused; a result that will be rewritten is valid, with a warning.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.json import encode

from interpose.core.driving import Flow, drive_in_server, drive_thread_of_server
from interpose.core.driving.fair_workers import FairWorkers
from interpose.core.errors import InvalidCallError
from interpose.core.formats.value_sizes import is_large
from interpose.core.types import EMPTY, Context, ToolCall, ToolOutcome, Verdict, same, thaw
from interpose.doors.hooks.clients.remote_desk import desk_of
from interpose.doors.hooks.hosts import reply_texts
from interpose.doors.mcp.gate.contract import Asked, Client
from interpose.doors.mcp.gate.gate_calls import CALL, PROMPT, RESOURCE, call_of
from interpose.doors.mcp.gate.gate_results import opened, rewritten, text_result
from interpose.doors.mcp.interceptors.interceptor_methods import InvokingCaller
from interpose.doors.mcp.interceptors.interceptor_payloads import (
    COMPLETION,
    EVENTS,
    Completion,
    Enclosed,
    changed_places,
    completion_of,
    enclosed,
)
from interpose.engine.flow.hosted import Abilities, AskThem, Go, GoWith, Hosted, Refuse, WaitFor
from interpose.rules.interceptor_protocol.descriptors import InterceptorDescriptor, PhasePriority, both_phases
from interpose.rules.interceptor_protocol.invocations import (
    InterceptorInvocation,
    InterceptorMessage,
    InterceptorSaid,
    MutationSaid,
    ValidationSaid,
    denied,
)
from interpose.rules.interceptor_protocol.offering import OfferedInterceptor

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.engine.flow.run_parts import ToolRun

T = TypeVar("T")

DECIDE, REWRITE = "interpose/decide", "interpose/rewrite"
SOURCE = "interceptor"
SERVER = "interceptor"
"""Stands for the server of prompts and resources, as the protocol names none: `mcp__interceptor__prompts/get`."""
MOST_SESSIONS = 10_000
MOST_LOOKED_AT = 256
LARGEST_KEPT = 256 * 1024
WILL_BE_REWRITTEN = "This result has parts that must not be passed on; interpose/rewrite takes them out"
_AS_IT_CAME, _REWRITES = Abilities(), Abilities(rewrite=True, rewrite_carried=True)
_large = FairWorkers("interceptors", 2)


class _Known(Struct, frozen=True):
    """The last request of a session: the result that comes next is its own."""

    asked: Asked
    call: ToolCall


class _LookedAt(Struct, frozen=True):
    """A result, and what was said of it."""

    by: str
    known: _Known
    done: Any


class PipelineInterceptors:
    """Both of them, over one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._last: OrderedDict[tuple[str, str], _Known] = OrderedDict()
        self._looked_at: OrderedDict[bytes, _LookedAt] = OrderedDict()
        """Results that one of the two has looked at: the other says the same, and nothing is recorded twice."""

    def offered(self, version: str = "") -> tuple[OfferedInterceptor, ...]:
        """What is offered."""
        hooks = both_phases(*EVENTS)
        decide = InterceptorDescriptor(
            name=DECIDE, type="validation", hooks=hooks, version=version,
            description="Decides by the rules of Interpose, asks a person where they say so, and records it",
        )  # fmt: skip
        rewrite = InterceptorDescriptor(
            name=REWRITE, type="mutation", hooks=hooks, version=version,
            description="Rewrites requests as rules of Interpose say, and takes secrets out of results",
            # First of all on the way out, so that others see what will run; last on the way in, so that nothing of
            # what others put there gets past it.
            priority=PhasePriority(-1_000_000, 1_000_000),
        )  # fmt: skip
        return OfferedInterceptor(decide, self._decide, inline=True), OfferedInterceptor(
            rewrite, self._rewrite, inline=True
        )

    async def _decide(self, asked: InterceptorInvocation) -> InterceptorSaid:
        context = _context(asked)
        payload = enclosed(asked.event, asked.phase, asked.payload)
        if asked.phase == "response":
            return await self._decide_result(asked, context, payload)
        if asked.event == COMPLETION:
            return await self._decide_completion(asked, context, completion_of(payload.params))
        what, call = _call(asked.event, payload.params, context)
        hosted = self._hosted(asked, context, _AS_IT_CAME)
        answer = await self._driven(asked, lambda: hosted.before(call))
        match answer:
            case Go() | GoWith():
                if not _is_stranger(asked):
                    self._remember(context, _Known(what, call))
                return ValidationSaid(info=_info(answer.verdict))
            case WaitFor(verdict) | AskThem(verdict):
                return denied(reply_texts.waiting(verdict), _part(payload, verdict))
            case Refuse(verdict, ToolCall() as other):
                places = changed_places(payload.place("arguments"), call.arguments, other.arguments)
                return denied(reply_texts.refusal(verdict), payload.place("arguments"), suggestions=places)
            case Refuse(verdict):
                return denied(reply_texts.refusal(verdict), _part(payload, verdict))

    async def _rewrite(self, asked: InterceptorInvocation) -> InterceptorSaid:
        context = _context(asked)
        payload = enclosed(asked.event, asked.phase, asked.payload)
        if asked.phase == "response":
            known, done, shown = await self._looked(asked, context, payload, REWRITE)
            return _changed(asked, payload, _passed_on(known, payload, done, shown))
        if asked.event == COMPLETION:
            completion = completion_of(payload.params)
            said = await self._message(asked, context, completion)
            if not said.allowed or said.payload.text == completion.text:
                return MutationSaid()
            return _changed(asked, payload, completion.with_text(said.payload.text))
        _, call = _call(asked.event, payload.params, context)
        hosted = self._hosted(asked, context, _REWRITES)
        verdict = await self._driven(asked, lambda: hosted.decide(call))
        # What is denied is for `interpose/decide` to say: a mutation has no word for it.
        if verdict.outcome == "deny" or not verdict.rewritten or same(verdict.payload.arguments, call.arguments):
            return MutationSaid()
        return _changed(asked, payload, _with_arguments(asked.event, payload.params, verdict.payload))

    # results

    async def _decide_result(self, asked: InterceptorInvocation, context: Context, payload: Enclosed) -> ValidationSaid:
        known, done, shown = await self._looked(asked, context, payload, DECIDE)
        said = done.after
        if said is not None and not said.allowed:
            return denied(reply_texts.withheld(said), payload.place(""))
        if same(_passed_on(known, payload, done, shown), payload.params):
            return ValidationSaid()
        warning = InterceptorMessage(WILL_BE_REWRITTEN, payload.place(""), "warning")
        return ValidationSaid(severity="warning", messages=(warning,))

    async def _looked(
        self, asked: InterceptorInvocation, context: Context, payload: Enclosed, by: str
    ) -> tuple[_Known, ToolRun, Any]:
        shown = opened(payload.params)
        # INVARIANT: nothing that a stranger sends is kept, or joined to what another stranger sent.
        key = b"" if _is_stranger(asked) else _digest(context, asked)
        found = self._looked_at.pop(key, None) if key else None
        if found is None or found.by == by:  # whoever asks again asks about another result of the same words
            known = self._of_result(asked, context, payload)
            outcome = ToolOutcome(known.call, shown.value, is_error=payload.params.get("isError") is True)
            hosted = self._hosted(asked, context, _REWRITES)
            found = _LookedAt(by, known, await self._driven(asked, lambda: hosted.after(outcome)))
            if key:
                self._looked_at[key] = found
                if len(self._looked_at) > MOST_LOOKED_AT:
                    self._looked_at.popitem(last=False)
        return found.known, found.done, shown

    def _of_result(self, asked: InterceptorInvocation, context: Context, payload: Enclosed) -> _Known:
        """The request that a result answers: what comes with it says so, else the last of the session."""
        if payload.request is not None:
            return _Known(*_call(asked.event, payload.request, context))
        last = None if _is_stranger(asked) else self._last.pop(_session(context), None)
        if last is not None and last.asked.method == asked.event:
            return last
        what = Asked(server=SERVER, method=asked.event, name="", params=EMPTY, client=Client(context=context))
        return _Known(what, ToolCall(f"mcp__{SERVER}__{asked.event}", context=context))

    def _remember(self, context: Context, known: _Known) -> None:
        self._last[_session(context)] = known
        self._last.move_to_end(_session(context))
        if len(self._last) > MOST_SESSIONS:
            self._last.popitem(last=False)

    # messages to a model

    async def _decide_completion(
        self, asked: InterceptorInvocation, context: Context, completion: Completion
    ) -> ValidationSaid:
        said = await self._message(asked, context, completion)
        if not said.allowed:
            text = reply_texts.refusal(said) if said.outcome == "deny" else reply_texts.waiting(said)
            return denied(text, completion.place)
        if said.payload.text == completion.text:
            return ValidationSaid()
        suggestion = {"path": completion.place, "value": said.payload.text}
        return denied(f"{reply_texts.rewriting(said)}", completion.place, suggestions=(suggestion,))

    async def _message(self, asked: InterceptorInvocation, context: Context, completion: Completion) -> Verdict[Any]:
        hosted = self._hosted(asked, context, _REWRITES)
        return await self._driven(asked, lambda: hosted.message(completion.text, model=completion.model))

    # the one flow

    def _hosted(self, asked: InterceptorInvocation, context: Context, can: Abilities) -> Hosted:
        if _is_stranger(asked):
            return self._service.for_anonymous(context, can)
        return self._service.hosted(context, can, confirm=desk_of(self._service))

    async def _driven(self, asked: InterceptorInvocation, flow: Callable[[], Flow[T]]) -> T:
        if not is_large(asked.payload):
            return await drive_in_server(flow())
        caller = asked.context.caller
        who = caller.principal if isinstance(caller, InvokingCaller) else ""
        return await asyncio.wrap_future(_large.submit(who, lambda: drive_thread_of_server(flow())))


def _context(asked: InterceptorInvocation) -> Context:
    """Who acts. INVARIANT: nobody gets into the session of another principal by naming it, and what a client says of
    itself is a claim."""
    said, caller = asked.context, asked.context.caller
    if not isinstance(caller, InvokingCaller):
        caller = InvokingCaller()
    claimed = f"{said.principal_type}:{said.principal_id}" if said.principal_type else said.principal_id
    session = said.session_id if not caller.anonymous else ""
    owned = f"{caller.principal}:{session}" if session and caller.principal else session
    return Context(
        session_id=owned or f"{SOURCE}:{caller.principal or 'local'}", principal=caller.principal, cwd=caller.cwd,
        trace_id=said.trace_id, span_id=said.span_id, source=SOURCE, claimed=claimed,
    )  # fmt: skip


def _is_stranger(asked: InterceptorInvocation) -> bool:
    caller = asked.context.caller
    return isinstance(caller, InvokingCaller) and caller.anonymous


def _session(context: Context) -> tuple[str, str]:
    return context.principal, context.session_id


def _call(event: str, params: Mapping[str, Any], context: Context) -> tuple[Asked, ToolCall]:
    """The call that a request is: as rules and the ledger see it. Raises InvalidCallError."""
    name = params.get("uri" if event == RESOURCE else "name")
    if not isinstance(name, str) or not name.strip():
        raise InvalidCallError(f"{event}: the payload has no {'uri' if event == RESOURCE else 'name'}")
    client = Client(principal=context.principal, context=context)
    asked = Asked(server=SERVER, method=event, name=name, params=params, client=client)
    if event != CALL:
        return asked, call_of(asked, context)
    arguments = params.get("arguments", EMPTY)
    if not isinstance(arguments, dict):
        raise InvalidCallError('"arguments" must be an object')
    return asked, ToolCall(name, arguments, context=context)


def _with_arguments(event: str, params: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    arguments = thaw(call.arguments)
    match event:
        case "tools/call":
            return {**params, "arguments": arguments}
        case "prompts/get" if arguments.get("name") == params.get("name"):
            return {**params, "arguments": arguments.get("arguments", {})}
        case "resources/read" if isinstance(arguments.get("uri"), str):
            return {**params, "uri": arguments["uri"]}
        case _:
            raise InvalidCallError(f"a rule made something else of this {PROMPT if event == PROMPT else event}")


def _passed_on(known: _Known, payload: Enclosed, done: ToolRun, shown: Any) -> Mapping[str, Any]:
    """The result that may be passed on."""
    said = done.after
    if said is not None and not said.allowed:
        return text_result(known.asked, reply_texts.withheld(said), is_error=True)
    if same(done.response, shown.value):
        return payload.params
    return rewritten(known.asked, payload.params, shown, thaw(done.response), is_error=done.outcome.is_error)


def _changed(asked: InterceptorInvocation, payload: Enclosed, new: Mapping[str, Any]) -> MutationSaid:
    if same(new, payload.params):
        return MutationSaid()
    return MutationSaid(payload=payload.around(dict(new), asked.payload))


def _part(payload: Enclosed, verdict: Verdict[ToolCall]) -> str:
    """Where it is: the argument that has the part that was objected to."""
    part = verdict.decided_by.part if verdict.decided_by is not None else ""
    arguments = verdict.payload.arguments
    if part:
        for name, value in arguments.items():
            if isinstance(value, str) and part in value:
                return payload.place(f"arguments.{name}")
    return payload.place("arguments" if arguments else "")


def _info(verdict: Verdict[Any]) -> Mapping[str, Any]:
    return {"policy": verdict.policy} if verdict.policy else EMPTY


def _digest(context: Context, asked: InterceptorInvocation) -> bytes:
    text = encode([*_session(context), asked.event, asked.payload])
    return b"" if len(text) > LARGEST_KEPT else hashlib.sha256(text).digest()
