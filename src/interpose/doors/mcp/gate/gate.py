"""The gate: what is asked of the one flow before a request is passed on to its server, and after.

    before:  request -> call -> decide, ask, record -> forward, refuse, or a question for the client
    after:   result, every part of it -> tool.after -> what the client gets

INVARIANT: nothing but a cancellation gets out of here. What breaks is a refusal, or a result that is withheld.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from interpose.core.driving import Flow, drive_in_server, drive_thread_of_server
from interpose.core.driving.fair_workers import FairWorkers
from interpose.core.errors import InvalidCallError, text_of
from interpose.core.formats.value_sizes import is_large
from interpose.core.tool_descriptions import describe_tools
from interpose.core.types import Context, ToolCall, ToolOutcome, new_id, thaw
from interpose.doors.hooks.clients.remote_desk import desk_of
from interpose.doors.hooks.hosts import reply_texts
from interpose.doors.mcp.gate.contract import AnswerNow, AskClient, Asked, Fail, Forward, Gated
from interpose.doors.mcp.gate.gate_asides import MOST_LETTERS, aside
from interpose.doors.mcp.gate.gate_calls import CALL, call_of, params_with, tool_name
from interpose.doors.mcp.gate.gate_listing import ToolFilter, definition_key
from interpose.doors.mcp.gate.gate_questions import ClientPrompt, DeskPrompt
from interpose.doors.mcp.gate.gate_results import (
    asks_back,
    is_task,
    opened,
    rewritten,
    text_result,
    with_word,
    withheld,
)
from interpose.doors.mcp.gate.gate_state import RequestStates, seal_of
from interpose.doors.mcp.links.frames import INVALID_PARAMS
from interpose.engine.flow.hosted import Abilities, AskThem, Go, GoWith, Hosted, HostedAnswer, Refuse, WaitFor
from interpose.people.approvals import ConfirmationHandler
from interpose.people.approvals.latest_time import LatestTime
from interpose.reading.secrets import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from interpose.composition.service.service import Service
    from interpose.engine.flow.run_parts import ToolRun

T = TypeVar("T")

REFUSED = -32010
"""The code of a refusal of requests whose results can't say that they failed."""
ANSWERS = "inputResponses"
_CAN = Abilities(rewrite=True, rewrite_carried=True, holds=False, hears=True)
_MOST_DESCRIBED = MOST_TASKS = 10_000
_large = FairWorkers("mcp", 2)


class GateTicket(Struct, frozen=True):
    """A request that was let through: what `after` needs to know it again."""

    key: str
    call: ToolCall
    started_ns: int


class McpGate:
    """`contract.RequestGate` over a service."""

    def __init__(self, service: Service, *, start_server: bool = True) -> None:
        """`start_server`: a gateway that is no server starts one when there is somebody to ask. Raises ServerError."""
        self._service, self._start = service, start_server
        settings, answering = service.config.gateway, service.answering
        self._redactor = Redactor(service.ledger.keys.redaction)
        seal = seal_of(settings.key) or (None if answering is None else answering.seal)
        self._states = RequestStates(
            service.store, digests=service.ledger.keys.digests, seconds=settings.state_timeout,
            clock=LatestTime() if answering is None else answering.clock, seal=seal,
        )  # fmt: skip
        self._described: dict[str, Mapping[str, Any]] = {}
        self._tasks: dict[str, None] = {}

    @property
    def _filter(self) -> ToolFilter:
        """As it is set now: the configuration of a server may be read again."""
        settings = self._service.config.gateway
        return ToolFilter(settings.show, settings.hide)

    async def before(self, asked: Asked, /) -> Gated:
        """What becomes of a request."""
        try:
            return await self._before(asked)
        except InvalidCallError as error:
            return Fail(INVALID_PARAMS, text_of(error))
        except Exception as error:  # noqa: BLE001 - whatever broke, it was not judged
            return _refused(asked, f"Interpose could not decide: {text_of(error)}")

    async def after(self, asked: Asked, ticket: Any, result: Mapping[str, Any], /) -> Mapping[str, Any]:
        """What the client gets of a result."""
        try:
            return await self._after(asked, ticket, result)
        except Exception as error:  # noqa: BLE001 - what was not looked at is not handed on
            reason = f"it could not be looked at: {text_of(error)}"
            return withheld(asked, reply_texts.withheld_unseen(reason), result)

    async def failed(self, asked: Asked, ticket: Any, _code: int, message: str, /) -> str:
        """The text of a server's error, as the client gets it."""
        try:
            call, key, took = _ticket(asked, ticket)
            outcome = ToolOutcome(call, message, is_error=True, duration_ns=took)
            done = await self._ended(asked, outcome, key, large=is_large(message))
            if done.after is not None and not done.after.allowed:
                return reply_texts.withheld(done.after)
            return done.response if isinstance(done.response, str) else "The server's error was rewritten"
        except Exception as error:  # noqa: BLE001 - as above
            return reply_texts.withheld_unseen(f"the server's error could not be looked at: {text_of(error)}")

    async def foreseen(self, asked: Asked, /) -> str:
        """Why a request would not simply be let through."""
        try:
            call, hosted = call_of(asked, asked.client.context), self._service.hosted(asked.client.context, _CAN)
            said = await self._driven(asked, is_large(asked.params), lambda: hosted.decide(call))
            return "" if said.allowed else reply_texts.refusal(said)
        except Exception as error:  # noqa: BLE001 - whatever broke, it was not judged
            return f"Interpose could not decide: {text_of(error)}"

    def aside(self, said: Mapping[str, Any], /) -> dict[str, Any] | None:
        """What the client gets of what a server says beside its results."""
        try:
            return None if is_large(said, MOST_LETTERS) else aside(self._redactor, said)
        except Exception:  # noqa: BLE001 - what was not looked at is not handed on
            return None

    def describe(self, server: str, tools: Sequence[Mapping[str, Any]]) -> None:
        """Keep what a server says of its tools: it tells what their arguments mean. A stranger's word only tightens."""
        for tool in tools:
            name = tool.get("name")
            if isinstance(name, str) and name.strip():
                self._describe(tool_name(server, name), tool)

    def hide(self, context: Context, server: str, tools: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """The tools that somebody may use at all. The others would be refused whatever their arguments are.

        A list that was made so is for nobody else (`cacheScope: private`).
        """
        hosted = self._service.hosted(context, _CAN)
        return tuple(tool for tool in tools if not self._never(hosted, server, tool.get("name")))

    def _never(self, hosted: Hosted, server: str, name: object) -> str:
        if not isinstance(name, str):
            return "it has no name"
        return self._filter.why_not(server, name) or hosted.never(tool_name(server, name))

    async def _before(self, asked: Asked) -> Gated:
        context = asked.client.context
        call = call_of(asked, context)
        unavailable = ""
        if asked.method == CALL:
            self._describe(call.original_name, asked.definition)
            unavailable = self._filter.why_not(asked.server, asked.name)
        passed = _passed(asked, call)
        if passed is not None:
            answered = await self._answers(asked, passed)
            if not isinstance(answered, ToolCall):
                return answered
            call = answered
        prompt = self._prompt(asked)
        hosted = self._service.hosted(context, _CAN, confirm=prompt)
        key = new_id()
        answer: HostedAnswer = await self._driven(
            asked, is_large(asked.params), lambda: hosted.before(call, key=key, unavailable=unavailable)
        )
        match answer:
            case Go() | GoWith() if passed is not None:
                return _going_on(asked, passed, answer.verdict.payload)
            case Go():
                return Forward(None, GateTicket(key, call, perf_counter_ns()))
            case GoWith(_, arguments):
                return await self._forwarded(asked, hosted, call, answer, key, arguments)
            case WaitFor(verdict) | AskThem(verdict):
                return prompt.put or _refused(asked, self._waiting(reply_texts.waiting(verdict), verdict.approval))
            case Refuse(verdict):
                return _refused(asked, reply_texts.refusal(verdict))

    async def _answers(self, asked: Asked, passed: GateTicket) -> Gated | ToolCall:
        """What a client answers to a question of the server, in the middle of a call that was let through.

        INVARIANT: answers are words for the tool like its arguments, and judged with them. If they raise nothing that
        the call did not raise, it goes on; else what they make of it is decided anew, as the call that comes back.
        """
        answers = asked.params.get(ANSWERS)
        arguments = {**passed.call.arguments, ANSWERS: answers}
        call = ToolCall(passed.call.original_name, arguments, context=asked.client.context)
        hosted = self._service.hosted(asked.client.context, _CAN)
        now = await self._driven(asked, is_large(asked.params), lambda: hosted.decide(call))
        if now.outcome == "deny":
            return call
        if now.outcome == "ask":
            before = await self._driven(asked, is_large(asked.params), lambda: hosted.decide(passed.call))
            if not set(now.questions) <= set(before.questions):
                return call
        return _going_on(asked, passed, now.payload)

    async def _forwarded(
        self, asked: Asked, hosted: Hosted, call: ToolCall, answer: GoWith, key: str, arguments: dict[str, Any]
    ) -> Gated:
        params = params_with(asked, arguments)
        if isinstance(params, dict):
            return Forward(params, GateTicket(key, call.with_arguments(arguments), perf_counter_ns()))
        # INVARIANT: nothing runs but what was decided, and the record says that it did not.
        why = f"{reply_texts.rewriting(answer.verdict)}, and {params}"
        await self._driven(asked, is_large(asked.params), lambda: hosted.not_run(answer.verdict, why, key=key))
        return _refused(asked, f"Not run as it is: {why}")

    def _waiting(self, text: str, approval: str) -> str:
        page = self._service.config.gateway.approval_page
        return f"{text}\nOr on the page {page}?question={approval}" if page and approval else text

    def _prompt(self, asked: Asked) -> ClientPrompt | DeskPrompt:
        """Who is asked. INVARIANT: only where the operator chose so does an answer count that comes by the client."""
        config, client = self._service.config, asked.client
        settings = config.gateway
        if settings.ask == "client" and config.approvals.ask == "host" and client.elicits_form:
            return ClientPrompt(asked, self._states, self._redactor, self._desk)
        return DeskPrompt(
            asked, self._states, self._redactor, self._desk, wait=settings.wait, page=settings.approval_page
        )

    def _desk(self, wait: float) -> ConfirmationHandler:
        return desk_of(self._service, wait, start=self._start, hears=True, rewrites=True)

    async def _after(self, asked: Asked, ticket: Any, result: Mapping[str, Any]) -> Mapping[str, Any]:
        call, key, took = _ticket(asked, ticket)
        large = is_large(result)
        shown = await self._worked(asked, lambda: opened(result)) if large else opened(result)
        outcome = ToolOutcome(call, shown.value, is_error=result.get("isError") is True, duration_ns=took)
        done = await self._ended(asked, outcome, key, large=large, more=self._goes_on(key, result))
        said = done.after
        if done.response is outcome.result and (said is None or said.outcome == "allow"):
            return with_word(asked, result, reply_texts.word(done.verdict))
        if said is None or said.allowed:
            new = partial(rewritten, asked, result, shown, done.response, is_error=done.outcome.is_error)
            return await self._worked(asked, new) if large else new()
        return withheld(asked, reply_texts.withheld(said), result)

    def _goes_on(self, key: str, result: Mapping[str, Any]) -> bool:
        """Whether more may come of a call. A client may ask for a task and its result as often as it likes."""
        if is_task(result):
            self._tasks[key] = None
            if len(self._tasks) > MOST_TASKS:
                del self._tasks[next(iter(self._tasks))]
        return key in self._tasks or asks_back(result)

    async def _ended(self, asked: Asked, outcome: ToolOutcome, key: str, *, large: bool, more: bool = False) -> ToolRun:
        desk = self._desk(self._service.config.gateway.wait)  # what a tool gave is no question for its own client
        hosted = self._service.hosted(asked.client.context, _CAN, confirm=desk)
        return await self._driven(asked, large, lambda: hosted.after(outcome, key=key, more=more))

    async def _driven(self, asked: Asked, large: bool, flow: Callable[[], Flow[T]]) -> T:
        """Walk a flow: at once if it is about little, else where nobody else has to wait for it."""
        if not large:
            return await drive_in_server(flow())
        return await self._worked(asked, lambda: drive_thread_of_server(flow()))

    async def _worked(self, asked: Asked, work: Callable[[], T]) -> T:
        who = asked.client.principal or asked.client.context.session_id
        return await asyncio.wrap_future(_large.submit(who, work))

    def _describe(self, name: str, definition: Mapping[str, Any]) -> None:
        if not definition or self._described.get(name) is definition:
            return
        if len(self._described) >= _MOST_DESCRIBED:
            self._described.clear()
        self._described[name] = definition
        describe_tools([definition_key(definition, name)])


def _passed(asked: Asked, call: ToolCall) -> GateTicket | None:
    """The ticket of the call that this one continues. INVARIANT: one of another call is none."""
    given = asked.continues
    return given if isinstance(given, GateTicket) and given.call.original_name == call.original_name else None


def _going_on(asked: Asked, passed: GateTicket, judged: ToolCall) -> Gated:
    """The call that was let through before, with answers as they were judged."""
    arguments: dict[str, Any] = thaw(passed.call.arguments)
    params = params_with(asked, arguments)
    if not isinstance(params, dict):
        return _refused(asked, f"Not run as it is: {params}")
    return Forward(params | {ANSWERS: thaw(judged.arguments.get(ANSWERS))}, passed)


def _ticket(asked: Asked, ticket: Any) -> tuple[ToolCall, str, int]:
    """The call that was let through; without a ticket, one that nobody decided about, which the record says."""
    if isinstance(ticket, GateTicket):
        return ticket.call, ticket.key, perf_counter_ns() - ticket.started_ns
    return call_of(asked, asked.client.context), "", 0


def _refused(asked: Asked, text: str) -> AnswerNow | Fail | AskClient:
    if asked.method == CALL:
        return AnswerNow(text_result(asked, text, is_error=True))
    return Fail(REFUSED, text)
