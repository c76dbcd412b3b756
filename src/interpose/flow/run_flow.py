"""THE FLOW: one run of an agent, from its message to the results of its tools.

    message.before -> params.before -> tool.before -> [tool] -> tool.after

Each flow is a generator, so that sync and async callers share every line. One call reads top to bottom:

    tool = prepare -> before (decide, ask, record) -> execute -> after (tool.after, observe, record)

A host that runs its tools itself walks the two halves one by one (hosted.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns
from typing import Any, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from interpose.approvals import ConfirmationHandler, StandingAnswer, put_question, question, standing_answer
from interpose.driving import Execute, Failure, Flow, Keep, PendingRecord, called
from interpose.errors import InvalidCallError, logged, text_of
from interpose.flow.batch import run_batch
from interpose.flow.observing import observe_all
from interpose.flow.result_streams import TextFilter, is_stream, stream_of
from interpose.flow.status_lines import Listener, Verbose, events_of, format_event, format_summary, hidden, tell
from interpose.flow.wire_log import WireLog
from interpose.interceptor import Registration
from interpose.pipeline import Approve, decide
from interpose.points import BLOCKED
from interpose.registration import registration
from interpose.registry import Snapshot
from interpose.tools import canonical, carrying
from interpose.toolsets import ToolSet
from interpose.types import (
    AUDIT_UNAVAILABLE,
    EMPTY,
    Allow,
    Confirm,
    Context,
    Deny,
    Finding,
    HookPoint,
    Message,
    Params,
    Pending,
    Raised,
    ToolCall,
    ToolOutcome,
    Verdict,
    freeze,
    refused,
    thaw,
)

Tool = Callable[[dict[str, Any]], Any]
"""What runs when a call is allowed. It gets the arguments as a dict of its own."""

NeedsConfirmation = Callable[[dict[str, Any]], bool | str]
"""A tool's own wish to be confirmed, asked with the arguments that it would really get."""


class Interceptors(Protocol):
    """A registry or a chain."""

    def snapshot(self) -> Snapshot:
        """The interceptors as they are now."""


class Recorder(Protocol):
    """Keeps what was decided and what came of it."""

    def decided(self, verdict: Verdict[ToolCall], /) -> PendingRecord | None:
        """Called before the tool runs. If it raises, or the record that it returns fails, the tool does not run."""

    def finished(
        self, verdict: Verdict[ToolCall], outcome: ToolOutcome, after: Verdict[ToolOutcome] | None, /
    ) -> PendingRecord | None:
        """Called when the outcome is known, with what tool.after said of it. The answer waits for the record."""


class ToolRun(Struct, frozen=True):
    """One call from question to answer. `response` is what the agent gets, `after` what tool.after said of it."""

    response: Any
    verdict: Verdict[ToolCall]
    outcome: ToolOutcome
    after: Verdict[ToolOutcome] | None = None


class Parts(Protocol):
    """What an engine is made of."""

    interceptors: Interceptors
    standing: tuple[StandingAnswer, ...]
    recorder: Recorder | None
    tools: ToolSet
    shell_tools: frozenset[str]
    refuse_questions: bool
    verbose: Verbose
    sinks: tuple[Callable[[str], object], ...]
    wire: WireLog


class RunFlow:
    """The flows of one run: what holds for all of its calls, and a generator for each thing that can happen."""

    def __init__(
        self, parts: Parts, context: Context, listeners: Iterable[Listener], confirm: ConfirmationHandler | None
    ) -> None:
        self._parts, self._context, self._confirm = parts, context, confirm
        self._listeners = tuple(listeners)
        self.metadata: dict[str, Any] = EMPTY
        self.stopped = ""
        self._text = ""

    def message(self, message: Message) -> Flow[Verdict[Message]]:
        """message.before. A refusal stops the run."""
        snapshot = self._parts.interceptors.snapshot()
        entries = snapshot.select(HookPoint.MESSAGE_BEFORE, None, self._context.agent_id)
        verdict: Verdict[Message] = yield from decide(entries, message, approve=self._approval(snapshot))
        self.metadata, self._text = verdict.payload.metadata, verdict.payload.text
        self._settle(HookPoint.MESSAGE_BEFORE, verdict)
        return verdict

    def params(self, params: Params) -> Flow[Verdict[Params]]:
        """params.before. A refusal stops the run."""
        snapshot = self._parts.interceptors.snapshot()
        entries = snapshot.select(HookPoint.PARAMS_BEFORE, None, self._context.agent_id)
        payload = replace(params, message=self._text, metadata=self.metadata, context=self._context)
        verdict: Verdict[Params] = yield from decide(entries, payload, approve=self._approval(snapshot))
        self._settle(HookPoint.PARAMS_BEFORE, verdict)
        return verdict

    def _settle(self, point: HookPoint, verdict: Verdict[Any]) -> None:
        if not verdict.allowed:
            self.stopped = verdict.reason or BLOCKED
        self._announce(point, verdict)

    def decide(self, call: ToolCall) -> Flow[Verdict[ToolCall]]:
        """tool.before, and nothing else: nobody is asked, nothing is recorded."""
        snapshot = self._parts.interceptors.snapshot()
        call, entries = self._prepare(call, snapshot)
        approve = self._approval(snapshot) if self._parts.refuse_questions else None  # who is never asked says no
        return (yield from decide(entries, call, approve=approve))

    def batch(self, calls: Sequence[tuple[ToolCall, Tool]]) -> Flow[list[ToolRun]]:
        """Several calls: all are decided, all questions are put together, then the calls run in order."""
        flows = [self.tool(call, execute, None) for call, execute in calls]
        return (yield from run_batch(self._confirm, flows, [call.name for call, _ in calls]))

    def tool(self, call: ToolCall, execute: Tool, wish: NeedsConfirmation | None) -> Flow[ToolRun]:
        """One call of a tool that runs here."""
        snapshot = self._parts.interceptors.snapshot()
        came = call
        call, entries = self._prepare(call, snapshot, wish)
        verdict = yield from self._gate(snapshot, entries, call)
        call = verdict.payload
        answer: Any = None
        outcome = _refused(verdict)
        if verdict.allowed:
            start = perf_counter_ns()
            # INVARIANT: a tool that carries calls of others gets its own arguments back, with the judged call inside.
            answer = yield Execute(
                lambda final: execute(carrying(came.name, came.arguments, thaw(final.arguments))), call
            )
            if is_stream(answer) and self._is_looked_at(snapshot, entries, call):
                filters = called(self._text_filters, (snapshot, call))
                if type(filters) is not Failure:
                    return self._streamed(snapshot, entries, verdict, answer, cast("list[TextFilter]", filters))
                answer = filters  # what can't be searched is not handed on
            outcome = _outcome(call, answer, perf_counter_ns() - start, verdict.approver)
        aborted = type(answer) is Failure and not isinstance(answer.error, Exception)
        done = yield from self._close(snapshot, entries, verdict, outcome, look_only=outcome.denied or aborted)
        if aborted:
            raise answer.error  # cancellation and interrupts are the caller's, not a tool's error
        return done

    def _is_looked_at(self, snapshot: Snapshot, entries: tuple[Registration, ...], call: ToolCall) -> bool:
        """Whether anybody wants to know what comes of a call. If not, its result is none of our business."""
        after = snapshot.select(HookPoint.TOOL_AFTER, call.name, self._context.agent_id)
        return bool(after) or self._parts.recorder is not None or any(entry.observe is not None for entry in entries)

    def _streamed(
        self,
        snapshot: Snapshot,
        entries: tuple[Registration, ...],
        verdict: Verdict[ToolCall],
        result: Any,
        filters: list[TextFilter],
    ) -> ToolRun:
        """A result that comes piece by piece. What stands behind the tool follows when it has ended."""
        call, start = verdict.payload, perf_counter_ns()
        outcome = ToolOutcome(call, approver=verdict.approver)

        def judge(piece: Any) -> Flow[tuple[Any, bool]]:
            _, shown, after = yield from self._after(snapshot, replace(outcome, result=piece), look_only=False)
            return shown, after is None or after.allowed

        def end(kept: Any, error: BaseException | None) -> Flow[ToolOutcome]:
            answer = kept if error is None else Failure(error)
            final = _outcome(call, answer, perf_counter_ns() - start, verdict.approver)
            yield from observe_all(entries, call, final)
            yield from self._finish(verdict, final, None)
            return final

        stream = stream_of(result, filters, judge, end)
        return ToolRun(stream, verdict, replace(outcome, result=stream))

    def _text_filters(self, snapshot: Snapshot, call: ToolCall) -> list[TextFilter]:
        after = snapshot.select(HookPoint.TOOL_AFTER, call.name, self._context.agent_id)
        enforcing = (entry.handler for entry in after if entry.mode == "enforce")
        return [handler.text_filter() for handler in enforcing if hasattr(handler, "text_filter")]

    def before(self, call: ToolCall, wish: NeedsConfirmation | None = None) -> Flow[Verdict[ToolCall]]:
        """The first half of a call that somebody else runs."""
        snapshot = self._parts.interceptors.snapshot()
        call, entries = self._prepare(call, snapshot, wish)
        verdict = yield from self._gate(snapshot, entries, call)
        if verdict.outcome == "deny":  # a question may still be answered, and then there is an outcome to come
            yield from self._close(snapshot, entries, verdict, _refused(verdict), look_only=True)
        return verdict

    def after(
        self, outcome: ToolOutcome, decided: bool = True, *, before: Verdict[ToolCall] | None = None
    ) -> Flow[ToolRun]:
        """The second half. `before` is what the first came to; `decided` is false if it was not walked here: that is
        recorded, too."""
        snapshot = self._parts.interceptors.snapshot()
        call, entries = self._prepare(outcome.call, snapshot)
        verdict: Verdict[ToolCall] = before or Verdict(outcome="allow", decision=Allow(), payload=call)
        if not decided:
            verdict = yield from self._record(replace(verdict, findings=(_UNSEEN,)))
        return (
            yield from self._close(snapshot, entries, verdict, replace(outcome, call=call), look_only=outcome.denied)
        )

    def not_run(self, verdict: Verdict[ToolCall], reason: str) -> Flow[ToolRun]:
        """The end of a call that was let through and that nobody will run."""
        return self.after(_refused(verdict, reason))

    def _gate(self, snapshot: Snapshot, entries: tuple[Registration, ...], call: ToolCall) -> Flow[Verdict[ToolCall]]:
        """What stands before the tool: decide, ask, record."""
        self._parts.wire.call(call)
        verdict: Verdict[ToolCall] = yield from decide(entries, call, approve=self._approval(snapshot))
        verdict = yield from self._record(verdict)
        self._announce(HookPoint.TOOL_BEFORE, verdict)
        return verdict

    def _close(
        self,
        snapshot: Snapshot,
        entries: tuple[Registration, ...],
        verdict: Verdict[ToolCall],
        outcome: ToolOutcome,
        *,
        look_only: bool,
    ) -> Flow[ToolRun]:
        """What stands behind the tool: tool.after, observers, the record of the outcome."""
        outcome, response, after = yield from self._after(snapshot, outcome, look_only=look_only)
        yield from observe_all(entries, outcome.call, outcome)
        yield from self._finish(verdict, outcome, after)
        return ToolRun(response, verdict, outcome, after)

    def canonical(self, call: ToolCall) -> ToolCall:
        """The call as interceptors and records name it. One that is none stays as it is, to be refused."""
        try:
            return canonical(call, self._parts.shell_tools)
        except InvalidCallError:
            return call

    def _prepare(
        self, call: ToolCall, snapshot: Snapshot, wish: NeedsConfirmation | None = None
    ) -> tuple[ToolCall, tuple[Registration, ...]]:
        """The canonical call in this run's context, and who has a say in it."""
        refusal = self.stopped and f"The run was stopped: {self.stopped}"
        try:
            call = canonical(call, self._parts.shell_tools)
        except InvalidCallError as error:
            refusal = text_of(error)
        if call.context is not self._context or call.metadata is not self.metadata:
            call = replace(call, context=self._context, metadata=self.metadata)
        entries = snapshot.select(HookPoint.TOOL_BEFORE, call.name, self._context.agent_id)
        if not refusal and not self._parts.tools.matches(call.name):
            refusal = f"Tool '{call.name}' is not available to this agent"
        if refusal:
            entries = (_refusing(refusal), *entries)
        if wish is not None:
            deciding = sum(not entry.is_observer for entry in entries)
            entries = (*entries[:deciding], _wishing(call.name, wish), *entries[deciding:])
        return call, entries

    def _approval(self, snapshot: Snapshot) -> Approve:
        """The approval step: permission.ask, then standing answers, then a person."""

        def approve(payload: Any, asks: tuple[Finding, ...]) -> Flow[str | Deny | Pending]:
            request = question(payload, asks)
            tool = payload.name if isinstance(payload, ToolCall) else None
            entries = snapshot.select(HookPoint.PERMISSION_ASK, tool, self._context.agent_id)
            verdict = yield from decide(entries, request)
            if isinstance(verdict.decision, Deny):
                return verdict.decision
            request = verdict.payload
            if name := standing_answer((*self._parts.standing, *snapshot.standing), request):
                return name
            if self._parts.refuse_questions:
                return Deny(f"Refused, as nobody is asked here: {request.message}", rule="questions-refused")
            return (yield from put_question(self._confirm, request))

        return approve

    def _after(
        self, snapshot: Snapshot, outcome: ToolOutcome, *, look_only: bool
    ) -> Flow[tuple[ToolOutcome, Any, Verdict[ToolOutcome] | None]]:
        """tool.after: the outcome as it ended, what the agent gets of it, and what was said."""
        call = outcome.call
        entries = snapshot.select(HookPoint.TOOL_AFTER, call.name, self._context.agent_id)
        if not entries:
            return outcome, outcome.result, None
        try:
            shown = replace(outcome, result=freeze(outcome.result))
        except BaseException as error:  # noqa: BLE001 - too deep, or of a class that refuses to be read
            # A result that interceptors can't be shown is not handed on unseen.
            shown = outcome = _outcome(call, Failure(error), outcome.duration_ns, outcome.approver)
        verdict = yield from decide(entries, shown, approve=self._approval(snapshot), look_only=look_only)
        if not verdict.allowed:
            withheld = _withheld(call, verdict.reason)
            return replace(outcome, result=withheld), withheld, verdict
        if not verdict.rewritten:
            return outcome, outcome.result, verdict
        try:
            result = thaw(freeze(verdict.payload.result))
        except BaseException as error:  # noqa: BLE001 - as above, of an interceptor's making
            result = _withheld(call, f"The rewritten result can't be handed on: {text_of(error)}")
        return replace(outcome, result=result), result, verdict

    def _record(self, verdict: Verdict[ToolCall]) -> Flow[Verdict[ToolCall]]:
        """INVARIANT (law 9): no record, no execution."""
        if self._parts.recorder is None:
            return verdict
        record: Any = called(self._parts.recorder.decided, (verdict,))
        answer = record if record is None or type(record) is Failure else (yield Keep(record))
        if type(answer) is not Failure or not verdict.may_run_unseen:
            return verdict
        return refused(verdict, Deny(f"{AUDIT_UNAVAILABLE}: {text_of(answer.error)}", AUDIT_UNAVAILABLE), by=RECORD)

    def _announce(self, point: HookPoint, verdict: Verdict[Any]) -> None:
        parts = self._parts
        shown = parts.verbose != "off" and parts.sinks
        if not shown and not self._listeners:
            return
        for event in events_of(point, verdict):
            tell(self._listeners, event)
            if shown and (line := format_event(event)) is not None:
                tell((self._show,), line)

    def _show(self, line: str) -> None:
        tell(self._parts.sinks, hidden(line))

    def _finish(
        self, verdict: Verdict[ToolCall], outcome: ToolOutcome, after: Verdict[ToolOutcome] | None
    ) -> Flow[None]:
        parts = self._parts
        parts.wire.outcome(outcome)
        if parts.recorder is not None:
            record: Any = called(parts.recorder.finished, (verdict, outcome, after))
            if record is not None and type(record) is not Failure:
                yield Keep(record)  # the tool has run: its result is not lost with its record
        if parts.verbose != "off" and parts.sinks:
            tell((self._summarise,), outcome)

    def _summarise(self, outcome: ToolOutcome) -> None:
        line = format_summary(outcome, self._parts.verbose)
        if line is not None:
            tell(self._parts.sinks, line)


def _outcome(call: ToolCall, answer: Any, duration_ns: int, approver: str) -> ToolOutcome:
    if type(answer) is Failure:
        error = logged(answer.error, call.name)
        result = {"status": "error", "tool": call.name, "error": text_of(error)}
        return ToolOutcome(
            call, result, is_error=True, duration_ns=duration_ns, approver=approver, errors=Raised((error,))
        )
    return ToolOutcome(call, answer, duration_ns=duration_ns, approver=approver)


def _refused(verdict: Verdict[ToolCall], reason: str = "") -> ToolOutcome:
    call = verdict.payload
    blocked = {"status": "blocked", "tool": call.name, "reason": reason or verdict.reason or BLOCKED}
    if verdict.instead:
        blocked["instead"] = verdict.instead
    return ToolOutcome(call, blocked, is_error=True, denied=True, errors=verdict.errors)


def _withheld(call: ToolCall, reason: str) -> dict[str, Any]:
    """In the place of a result. The tool ran: an agent must not think that it can try again."""
    return {"status": "withheld", "tool": call.name, "reason": reason or BLOCKED, "ran": True}


RECORD = "interpose:record"
_UNSEEN = Finding(
    interceptor=RECORD, said="note", rule="undecided", reason="The call was not decided here before it ran"
)


class _Refusing:
    def __init__(self, reason: str) -> None:
        self._deny = Deny(reason, rule="not-available")

    def intercept(self, _call: ToolCall) -> Deny:
        return self._deny


def _refusing(reason: str) -> Registration:
    return registration(id="interpose:run", name=HookPoint.TOOL_BEFORE, interceptor=_Refusing(reason))


class _Wishing:
    def __init__(self, wish: NeedsConfirmation) -> None:
        self._wish = wish

    def intercept(self, call: ToolCall) -> Allow | Confirm:
        answer: object = self._wish(thaw(call.arguments))
        if answer is False:
            return Allow()
        return Confirm(answer if isinstance(answer, str) and answer else f"Execute tool '{call.name}'?")


def _wishing(tool: str, wish: NeedsConfirmation) -> Registration:
    """The tool's own wish has the last word before observers: it sees what it would really get."""
    return registration(id=f"tool:{tool}", name=HookPoint.TOOL_BEFORE, interceptor=_Wishing(wish))
