"""THE FLOW: one run of an agent, from its message to the results of its tools.

    message.before -> params.before -> tool.before -> [tool] -> tool.after
    command.before, wherever a person or the agent starts a command of its host

Each flow is a generator, so that sync and async callers share every line. One call reads top to bottom:

    tool = prepare -> before (decide, ask, record) -> execute -> after (tool.after, observe, record)

A host that runs its tools itself walks the two halves one by one (hosted.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from interpose.core.answers import Pending
from interpose.core.carried_calls import canonical, carrying
from interpose.core.driving import Execute, Failure, Flow, Keep, called
from interpose.core.errors import InvalidCallError, text_of
from interpose.core.formats.nested_values import is_stream
from interpose.core.interceptor import Registration
from interpose.core.pipeline import Approve, decide
from interpose.core.points import BLOCKED
from interpose.core.registry import Snapshot
from interpose.core.tools import plain_name
from interpose.core.types import (
    AUDIT_UNAVAILABLE,
    EMPTY,
    Allow,
    Command,
    Context,
    Deny,
    Finding,
    HookPoint,
    Message,
    Params,
    Raised,
    ToolCall,
    ToolOutcome,
    Verdict,
    freeze,
    refused,
    thaw,
)
from interpose.engine.flow import observing
from interpose.engine.flow.run_parts import Entries, NeedsConfirmation, Parts, Renaming, Tool, ToolRun
from interpose.engine.flow.status_lines import Listener, events_of, format_event, format_summary, tell, warn_of_refusal
from interpose.people.approvals import ConfirmationHandler, Put, put_question, question, standing_answer
from interpose.reading import hidden

if TYPE_CHECKING:
    # Loaded when there is a result, or somebody governs: whoever only decides has neither.
    from interpose.core.governing import Governing
    from interpose.engine.flow.streamed_calls import StreamedCall


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

    def command(self, command: Command, *, only_look: bool = False) -> Flow[Verdict[Command]]:
        """command.before. A refusal holds this command and not the run; what anybody said about it is recorded. With
        `only_look` nobody is asked and nothing is recorded."""
        from interpose.core.command_text import plain_command
        from interpose.engine.flow.command_records import recorded_command
        from interpose.engine.flow.governing import counted_command, entered_command
        from interpose.engine.flow.own_steps import refusing

        parts, snapshot = self._parts, self._parts.interceptors.snapshot()
        entries = snapshot.select(HookPoint.COMMAND_BEFORE, None, self._context.agent_id)
        if self.stopped:
            entries = (refusing(f"The run was stopped: {self.stopped}"), *entries)
        command = Command(plain_command(command.name), command.arguments, self._context, self.metadata)
        command, entries = yield from entered_command(parts.governor, command, entries)
        approve = self._approval(snapshot, ask=not only_look)
        verdict: Verdict[Command] = yield from decide(entries, command, approve=approve)
        if only_look:
            return verdict
        if verdict.findings and parts.recorder is not None:
            verdict = yield from recorded_command(verdict, self._record, parts.recorder.finished)
        yield from counted_command(parts.governor, verdict)
        self._announce(HookPoint.COMMAND_BEFORE, verdict)
        return verdict

    def _settle(self, point: HookPoint, verdict: Verdict[Any]) -> None:
        if not verdict.allowed:
            self.stopped = verdict.reason or BLOCKED
        self._announce(point, verdict)

    def decide(self, call: ToolCall, *, renames: bool = True) -> Flow[Verdict[ToolCall]]:
        """tool.before, and what answers a question without a person. Nobody is asked, nothing is recorded.

        `renames` is false where the tool runs elsewhere: a rewrite can't make another one of it there.
        """
        snapshot = self._parts.interceptors.snapshot()
        call, entries = self._prepare(call, snapshot)
        if self._parts.governor is not None:
            call, entries = yield from self._entered(call, entries, only_look=True)
        renaming = Renaming(self._renamed, snapshot, entries) if renames else None
        return (yield from decide(entries, call, approve=self._approval(snapshot, ask=False), renamed=renaming))

    def batch(self, calls: Sequence[tuple[ToolCall, Tool]]) -> Flow[list[ToolRun]]:
        """Several calls: all are decided, all questions are put together, then the calls run in order."""
        from interpose.engine.flow.batch import run_batch

        flows = [self.tool(call, execute, None) for call, execute in calls]
        return (yield from run_batch(self._confirm, flows, [call.original_name for call, _ in calls]))

    def tool(self, call: ToolCall, execute: Tool, wish: NeedsConfirmation | None) -> Flow[ToolRun]:
        """One call of a tool that runs here."""
        snapshot, came = self._parts.interceptors.snapshot(), call
        call, entries = self._prepare(call, snapshot, wish)
        if self._parts.governor is not None:
            call, entries = yield from self._entered(call, entries)
        renaming = Renaming(self._renamed, snapshot, entries)
        verdict = yield from self._gate(snapshot, entries, call, renaming)
        entries, call = renaming.watching(entries), verdict.payload
        answer: Any = None
        outcome = observing.refused_outcome(verdict)
        if verdict.allowed:
            start = perf_counter_ns()
            # INVARIANT: the call that was judged is the one that runs: of another tool, if a rewrite made it one. A
            # tool that carries calls of others gets its own arguments back, with the judged call inside.
            answer = yield Execute(
                (lambda final: renaming.execute(thaw(final.arguments)))
                if renaming.happened
                else lambda final: execute(carrying(came.name, came.arguments, thaw(final.arguments))),
                call,
            )
            outcome = observing.outcome_of(call, answer, perf_counter_ns() - start, verdict.approver)
        aborted = type(answer) is Failure and not isinstance(answer.error, Exception)
        done = yield from self._close(snapshot, entries, verdict, outcome, look_only=outcome.denied or aborted)
        if aborted:
            raise answer.error  # cancellation and interrupts are the caller's, not a tool's error
        return done

    def _put_behind(
        self,
        snapshot: Snapshot,
        entries: tuple[Registration, ...],
        verdict: Verdict[ToolCall],
        outcome: ToolOutcome,
    ) -> tuple[StreamedCall, Any] | None:
        """The result with streams of ours in the place of iterators, if it is or holds one and anybody looks at it."""
        from interpose.engine.flow.streamed_calls import StreamedCall

        after = snapshot.select(HookPoint.TOOL_AFTER, outcome.call.name, self._context.agent_id)
        whole = is_stream(outcome.result)
        if not after and not (whole and self._is_looked_at(entries)):
            return None

        def finish(final: ToolOutcome, said: Verdict[ToolOutcome] | None) -> Flow[None]:
            yield from observing.observe_all(entries, final.call, final)
            yield from self._finish(verdict, final, said)

        call = StreamedCall(
            outcome,
            lambda piece, look_only: self._after(snapshot, piece, look_only=look_only),
            finish,
            lambda: observing.text_filters(after, outcome.call),
        )
        result = call.whole(outcome.result) if whole else call.inside(outcome.result)
        return (call, result) if result is not outcome.result else None

    def _is_looked_at(self, entries: tuple[Registration, ...]) -> bool:
        """Whether anybody wants to know what comes of a call. If not, its result is none of our business."""
        return self._parts.recorder is not None or any(entry.observe is not None for entry in entries)

    def before(
        self, call: ToolCall, wish: NeedsConfirmation | None = None, unavailable: str = "", *, rewrites: bool = True
    ) -> Flow[Verdict[ToolCall]]:
        """The first half of a call that somebody else runs. `unavailable`: why its tool is not to be had there."""
        snapshot = self._parts.interceptors.snapshot()
        call, entries = self._prepare(call, snapshot, wish, unavailable)
        if self._parts.governor is not None:
            call, entries = yield from self._entered(call, entries)
        verdict = yield from self._gate(snapshot, entries, call, rewrites=rewrites)
        if verdict.outcome == "deny":  # a question may still be answered, and then there is an outcome to come
            yield from self._close(snapshot, entries, verdict, observing.refused_outcome(verdict), look_only=True)
        return verdict

    def after(
        self,
        outcome: ToolOutcome,
        decided: bool = True,
        *,
        before: Verdict[ToolCall] | None = None,
        notes: tuple[Finding, ...] = (),
        withheld: Deny | None = None,
    ) -> Flow[ToolRun]:
        """The second half. `before` is what the first came to; `decided` is false if it was not walked here. That is
        recorded, and `notes` are. `withheld` is why the agent must not have the result, whatever it is."""
        snapshot = self._parts.interceptors.snapshot()
        call, entries = self._prepare(outcome.call, snapshot)
        if self._parts.governor is not None:
            call, entries = yield from self._entered(call, entries, only_look=True)
        verdict: Verdict[ToolCall] = before or Verdict(outcome="allow", decision=Allow(), payload=call)
        if not decided:
            verdict = yield from self._record(replace(verdict, findings=(observing.UNSEEN,)))
        outcome = replace(outcome, call=call)
        first: tuple[Registration, ...] = ()
        if withheld is not None:
            from interpose.engine.flow.own_steps import withholding

            first = (withholding(withheld),)
        return (
            yield from self._close(
                snapshot, entries, verdict, outcome, look_only=outcome.denied, notes=notes, first=first
            )
        )

    def not_run(self, verdict: Verdict[ToolCall], reason: str) -> Flow[ToolRun]:
        """The end of a call that was let through and that nobody will run."""
        return self.after(observing.refused_outcome(verdict, reason))

    def _entered(
        self, call: ToolCall, entries: tuple[Registration, ...], *, only_look: bool = False
    ) -> Flow[tuple[ToolCall, tuple[Registration, ...]]]:
        """A governed call in its session."""
        from interpose.engine.flow.governing import entered

        return (yield from entered(cast("Governing", self._parts.governor), call, entries, only_look=only_look))

    def _renamed(self, call: ToolCall, snapshot: Snapshot) -> Flow[tuple[ToolCall, Entries, Any]]:
        """A call that a rewrite made one of another tool: as interceptors see it, who has a say, and what runs it."""
        found = self._parts.functions.find(call.original_name)
        call, entries = self._prepare(call, snapshot, found.requires_confirmation if found else None)
        if self._parts.governor is not None:
            call, entries = yield from self._entered(call, entries, only_look=True)
        return call, entries, found

    def _gate(
        self,
        snapshot: Snapshot,
        entries: Entries,
        call: ToolCall,
        renaming: Renaming | None = None,
        *,
        rewrites: bool = True,
    ) -> Flow[Verdict[ToolCall]]:
        """What stands before the tool: decide, ask, decide about what a person made of it, record.

        Without `renaming` the tool runs elsewhere, and a rewrite can't make another one of it.
        """
        self._parts.wire.call(call)
        approve = self._approval(snapshot, came=call)
        verdict: Verdict[ToolCall] = yield from decide(entries, call, approve=approve, renamed=renaming)
        if renaming is not None and renaming.happened:
            entries, verdict = renaming.entries, renaming.runnable(verdict)
        if verdict.edit is not None:
            from interpose.engine.flow.edited_calls import decide_edited

            verdict = yield from decide_edited(entries, verdict, approve, rewrites=rewrites)
        if self._parts.governor is not None:
            from interpose.engine.flow.governing import admitted

            verdict = yield from admitted(self._parts.governor, verdict)
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
        notes: tuple[Finding, ...] = (),
        first: tuple[Registration, ...] = (),
    ) -> Flow[ToolRun]:
        """What stands behind the tool: tool.after (those of `first` before all others), observers, the record.

        Of a result that comes piece by piece, they follow when it has ended.
        """
        from interpose.engine.flow.streamed_calls import failed_outcome, may_hold_streams

        if not look_only and not first and may_hold_streams(outcome.result):
            try:
                streamed = self._put_behind(snapshot, entries, verdict, outcome)
            except BaseException as error:  # noqa: BLE001 - what can't be searched is not handed on
                outcome = failed_outcome(outcome.call, error, outcome.duration_ns, outcome.approver)
            else:
                if streamed is not None:
                    return (yield from self._begin(snapshot, verdict, outcome, *streamed))
        outcome, response, after = yield from self._after(snapshot, outcome, look_only=look_only, first=first)
        if notes:
            after = after or Verdict(outcome="allow", decision=Allow(), payload=outcome)
            after = replace(after, findings=(*after.findings, *notes))
        yield from observing.observe_all(entries, outcome.call, outcome)
        yield from self._finish(verdict, outcome, after)
        return ToolRun(response, verdict, outcome, after)

    def _begin(
        self, snapshot: Snapshot, verdict: Verdict[ToolCall], outcome: ToolOutcome, streamed: StreamedCall, result: Any
    ) -> Flow[ToolRun]:
        """Hand on streams. What stands around them passes tool.after now, their pieces when they are read."""
        outcome = replace(outcome, result=result)
        if streamed.is_whole:
            return ToolRun(result, verdict, outcome, streamed=streamed)
        outcome, response, after = yield from self._after(snapshot, outcome, look_only=False)
        yield from streamed.begin(outcome, after)
        return ToolRun(response, verdict, outcome, after, streamed)

    def never(self, name: str) -> str:
        """Why a tool is refused whatever its arguments are; empty if nobody can say so by its name alone."""
        snapshot = self._parts.interceptors.snapshot()
        call = replace(self.canonical(ToolCall(name)), context=self._context)
        if not self._parts.tool_set.matches(*self._names(call)):
            return observing.not_available(call)
        return observing.never(snapshot.select(HookPoint.TOOL_BEFORE, call.name, self._context.agent_id), call)

    def canonical(self, call: ToolCall) -> ToolCall:
        """The call as interceptors and records name it. One that is none stays as it is, to be refused."""
        try:
            return canonical(call, self._parts.shell_tools)
        except InvalidCallError:
            return call

    def _prepare(
        self, call: ToolCall, snapshot: Snapshot, wish: NeedsConfirmation | None = None, unavailable: str = ""
    ) -> tuple[ToolCall, tuple[Registration, ...]]:
        """The canonical call in this run's context, and who has a say in it."""
        refusal = f"The run was stopped: {self.stopped}" if self.stopped else unavailable
        came = call
        try:
            call = canonical(call, self._parts.shell_tools)
        except InvalidCallError as error:
            refusal = text_of(error)
        if call.context is not self._context or call.metadata is not self.metadata:
            call = replace(call, context=self._context, metadata=self.metadata)
        entries = snapshot.select(HookPoint.TOOL_BEFORE, call.name, self._context.agent_id)
        if not refusal and not self._parts.tool_set.matches(*self._names(call)):
            refusal = observing.not_available(call)
        if not refusal and wish is None:
            return call, entries
        from interpose.engine.flow.own_steps import refusing, wishing

        if refusal:
            entries = (refusing(refusal), *entries)
        if wish is not None:
            deciding = sum(not entry.is_observer for entry in entries)
            entries = (*entries[:deciding], wishing(call.name, wish, came), *entries[deciding:])
        return call, entries

    def _names(self, call: ToolCall) -> tuple[str, ...]:
        """What tool sets know a tool by. One that the operator calls a shell has its own name, too."""
        own = call.original_name
        return (call.name, own) if plain_name(own) in self._parts.shell_tools else (call.name,)

    def _approval(self, snapshot: Snapshot, *, ask: bool = True, came: ToolCall | None = None) -> Approve:
        """The approval step: permission.ask, then standing answers, then a person, unless we must not `ask` one."""

        def approve(payload: Any, asks: tuple[Finding, ...]) -> Flow[Put]:
            request = question(payload, asks, came)
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
            if not ask:
                return Pending()
            if self._parts.governor is not None and (no := (yield from self._parts.governor.question(request))):
                return no
            return (yield from put_question(self._confirm, request))

        return approve

    def _after(
        self, snapshot: Snapshot, outcome: ToolOutcome, *, look_only: bool, first: tuple[Registration, ...] = ()
    ) -> Flow[tuple[ToolOutcome, Any, Verdict[ToolOutcome] | None]]:
        """tool.after: the outcome as it ended, what the agent gets of it, and what was said."""
        from interpose.engine.flow.streamed_calls import withheld_result

        call = outcome.call
        entries = first + snapshot.select(HookPoint.TOOL_AFTER, call.name, self._context.agent_id)
        if not entries:
            return outcome, outcome.result, None
        try:
            shown = replace(outcome, result=freeze(outcome.result))
        except BaseException as error:  # noqa: BLE001 - too deep, or of a class that refuses to be read
            # A result that interceptors can't be shown is not handed on unseen.
            shown = outcome = observing.outcome_of(call, Failure(error), outcome.duration_ns, outcome.approver)
        verdict = yield from decide(entries, shown, approve=self._approval(snapshot), look_only=look_only)
        if not verdict.allowed:
            withheld = withheld_result(call, verdict.reason or BLOCKED)
            errors = Raised((*outcome.errors, *verdict.errors))
            return replace(outcome, result=withheld, errors=errors), withheld, verdict
        if not verdict.rewritten:
            return outcome, outcome.result, verdict
        try:
            result = thaw(freeze(verdict.payload.result))
        except BaseException as error:  # noqa: BLE001 - as above, of an interceptor's making
            result = withheld_result(call, f"The rewritten result can't be handed on: {text_of(error)}")
        return replace(outcome, result=result), result, verdict

    def _record(self, verdict: Verdict[ToolCall]) -> Flow[Verdict[ToolCall]]:
        """INVARIANT (law 9): no record, no execution."""
        if self._parts.recorder is None:
            return verdict
        record: Any = called(self._parts.recorder.decided, (verdict,))
        answer = record if record is None or type(record) is Failure else (yield Keep(record))
        if type(answer) is not Failure or not verdict.may_run_unseen:
            return verdict
        return refused(
            verdict, Deny(f"{AUDIT_UNAVAILABLE}: {text_of(answer.error)}", AUDIT_UNAVAILABLE), by=observing.RECORD
        )

    def _announce(self, point: HookPoint, verdict: Verdict[Any]) -> None:
        parts = self._parts
        shown = parts.verbose != "off" and parts.sinks
        if verdict.outcome == "deny" and parts.recorder is None and not shown and not self._is_logged():
            warn_of_refusal(point, verdict)  # it would leave no trace at all
        if not shown and not self._listeners:
            return
        for event in events_of(point, verdict):
            tell(self._listeners, event)
            if shown and (line := format_event(event)) is not None:
                tell((self._show,), line)

    def _is_logged(self) -> bool:
        """Whether an interceptor writes every denial into a log."""
        entries = self._parts.interceptors.snapshot().entries
        return any(getattr(entry.handler, "logs_denials", False) is True for entry in entries)

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
        if parts.governor is not None:
            from interpose.engine.flow.governing import counted

            yield from counted(parts.governor, verdict, outcome)
        if parts.verbose != "off" and parts.sinks:
            tell((self._summarise,), outcome)

    def _summarise(self, outcome: ToolOutcome) -> None:
        if (line := format_summary(outcome, self._parts.verbose)) is not None:
            tell(self._parts.sinks, line)
