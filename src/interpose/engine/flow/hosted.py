"""The flow of a call that somebody else runs: an agent's host, an HTTP client, a gateway, a framework.

    before:     decide, ask, record -> go, go with these arguments, ask them, wait for this question, or refuse
    after:      the outcome, matched with the call that was let through -> what the agent gets of it
    undecided:  a record of a call that was let through although nobody could decide

What the other side can do is given as `Abilities`. A surface reads its wire, walks one of these, and writes the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from interpose.core.answers import Pending
from interpose.core.carried_calls import carrying, is_wrapper
from interpose.core.driving import Block, Failure, Flow, Keep
from interpose.core.errors import text_of
from interpose.core.late import late_logger
from interpose.core.tools import command_of, plain_arguments
from interpose.core.types import (
    EMPTY,
    Allow,
    Command,
    Context,
    Deny,
    Finding,
    HookPoint,
    Message,
    Params,
    PermissionRequest,
    ToolCall,
    ToolOutcome,
    Verdict,
)
from interpose.core.types import refused as refusal
from interpose.engine.flow.pending_calls import PendingCall, PendingCalls, place_of
from interpose.engine.flow.run_flow import RunFlow
from interpose.engine.flow.run_parts import NeedsConfirmation, Recorder, ToolRun

if TYPE_CHECKING:
    from interpose.engine.flow.handed_over import HandedOver, HandedOverCalls
    from interpose.engine.flow.refused_calls import RefusedCall, RefusedCalls

log = late_logger("interpose.flow")

REWRITTEN = "A rule lets this run only in another form"
AT_THEIR_PROMPT = "host:"
"""How the name of an approver begins who answered at the other side's own prompt."""
FAIL_OPEN = "fail-open"
"""The rule that records of calls name which were let through undecided."""
OTHER_ARGUMENTS = "other-arguments"
"""The rule that records of results name whose host ran something else than was decided."""
RAN_REFUSED = "ran-although-refused"
"""The rule that records of results name whose host ran what was refused."""
_SHOWN = 1000


class Abilities(Struct, frozen=True, kw_only=True):
    """What the other side can do with an answer."""

    ask: bool = False
    """Put our question to its own person."""
    says_it_asks: bool = False
    """Say so when it does."""
    holds: bool = False
    """Keep to it when a call has to wait. An outcome that comes all the same belongs to that call, and is an alarm."""
    rewrite: bool = False
    """Run other arguments than those that it came with."""
    rewrite_carried: bool = False
    """Also where its call only carries another, as a wrapper of tools does: the arguments are then the wrapper's."""
    hears: bool = False
    """Let the agent read a text of ours beside what it gets."""
    asks_rewritten: bool = False
    """Show its person the call as it was rewritten, and run that one if the answer is yes."""


class Go(Struct, frozen=True):
    """It may run as it is."""

    verdict: Verdict[ToolCall]


class GoWith(Struct, frozen=True):
    """It may run with these arguments: those of `verdict.payload`, as the call that was asked about carries them."""

    verdict: Verdict[ToolCall]
    arguments: dict[str, Any]


class AskThem(Struct, frozen=True):
    """The other side asks its person, and runs it if the answer is yes: with these arguments, if there are any, which
    are then the ones to show."""

    verdict: Verdict[ToolCall]
    arguments: dict[str, Any] | None = None


class WaitFor(Struct, frozen=True):
    """A person must agree first: `verdict.approval` is the question, empty if nobody can be asked."""

    verdict: Verdict[ToolCall]


class Refuse(Struct, frozen=True):
    """It must not run. `other_form` is the call that could, if the other side could run another than it asked about."""

    verdict: Verdict[ToolCall]
    other_form: ToolCall | None = None


Count = Callable[[HookPoint, str, Verdict[Any]], None]
Recall = Callable[[Context, ToolCall, int], str]
"""The id of a call like this one that was let through since a time and has no outcome yet; empty if there is none. May
block."""
HostedAnswer = Go | GoWith | AskThem | WaitFor | Refuse


class TheyAsk:
    """A confirmation handler that leaves the question to the other side, which has a person in front of it."""

    immediate = True

    def confirm(self, _request: PermissionRequest, /) -> Pending:
        """Not answered here."""
        return Pending()


class Hosted:
    """One run whose tools somebody else runs."""

    def __init__(
        self,
        flow: RunFlow,
        pending: PendingCalls,
        context: Context,
        can: Abilities,
        count: Count | None = None,
        recall: Recall | None = None,
        refused: Callable[[], RefusedCalls] | None = None,
        handed_over: HandedOverCalls | None = None,
    ) -> None:
        """`count` hears of verdicts that are not recorded as calls: those about messages, parameters and commands.
        `recall` knows calls that another process let through. `refused` opens what keeps calls that were refused,
        by the other side's own names, `handed_over` those whose question was left to a prompt that may be answered by
        itself."""
        self._flow, self._pending, self._context, self._can = flow, pending, context, can
        self._count, self._recall, self._refused, self._handed_over = count, recall, refused, handed_over

    def before(
        self, call: ToolCall, *, key: str = "", wish: NeedsConfirmation | None = None, unavailable: str = ""
    ) -> Flow[HostedAnswer]:
        """What the other side is to do with a call. `key` is its own name for the call, `unavailable` why the tool is
        not to be had from there: it is refused, like any other call."""
        known = None if wish is not None else self._pending.seen_before(call, self._context, key)
        if known is not None:  # a hook asked about this very call: it has its answer and its record
            return Go(replace(known, outcome="allow", decision=Allow(), rewritten=False, original=None, approval=""))
        rewrites = self._can.rewrite and (self._can.rewrite_carried or not is_wrapper(call.name))
        verdict = yield from self._flow.before(call, wish, unavailable, rewrites=rewrites)
        match verdict.outcome:
            case "deny":
                yield from self._keep_refusal(call, verdict, key)
                edit = verdict.edit  # a person agreed to another call, and they can't run that one by themselves
                return Refuse(verdict, None if edit is None else verdict.payload.with_arguments(edit.arguments))
            case "ask" if verdict.approval or not self._can.ask:
                if self._can.holds:
                    self._pending.open(call, verdict, key, may_run=False)
                return WaitFor(verdict)
            case "ask" if verdict.rewritten and not self._can.asks_rewritten:  # they would show the call as it came
                return (yield from self._not_run(call, verdict, key))
            case "ask":
                self._pending.open(call, verdict, key, put=not self._can.says_it_asks)
                return AskThem(verdict, _running(call, verdict) if verdict.rewritten else None)
            case "rewrite":
                return (yield from self._rewritten(call, verdict, key, rewrites=rewrites))
            case "allow":
                self._pending.open(call, verdict, key)
                return Go(verdict)

    def after(self, outcome: ToolOutcome, *, key: str = "", more: bool = False) -> Flow[ToolRun]:
        """What came of a call, and what the agent gets of it. `more` of the same call comes later, if it is a task."""
        came, call = outcome.call, self._flow.canonical(outcome.call)
        closed = self._pending.close(self._context, call.original_name or call.name, call.arguments, key)
        notes: tuple[Finding, ...] = ()
        if closed is not None and not closed.allows(came):
            notes = (_other_arguments(call),)
        before, withheld = None if closed is None else closed.verdict, None
        refused = (yield from self._refusal_of(key)) if closed is None else None
        call_id = "" if before is None else before.payload.call_id
        if closed is None and self._recall is not None:
            since_ns = 0 if refused is None else refused.at_ns
            known = yield Block(self._recall, self._context, call, since_ns)
            call_id = known if isinstance(known, str) else ""
        # A host may give its name for a call twice: one that was let through since then is not the refused one.
        if refused is not None and not call_id:
            from interpose.engine.flow.refused_calls import verdict_of, withheld_refused

            withheld, said = withheld_refused(refused)
            before, notes, call_id = verdict_of(refused, call), (said,), refused.call_id
            log.error("alarm: %s ran %s in session %r, which was refused: its result is withheld (call %s)",
                      self._context.source, refused.tool, self._context.session_id[:64], refused.call_id)  # fmt: skip
        handed = yield from self._returned(key)
        if handed is not None and not handed.asked:
            from interpose.engine.flow.handed_over import withheld_unasked

            withheld, said = withheld_unasked(handed)
            notes = (*notes, said)
        if before is None and handed is not None:  # another process of ours handed it over
            call_id = handed.call_id
        if call_id:
            call = replace(call, call_id=call_id)
        approver = f"{AT_THEIR_PROMPT}{handed.host}" if handed is not None and handed.asked else _approver(closed)
        outcome = replace(outcome, call=call, approver=approver or outcome.approver)
        done = yield from self._flow.after(outcome, bool(call_id), before=before, notes=notes, withheld=withheld)
        if done.after is not None and done.after.outcome == "ask":  # they will come again with the same result
            again: Verdict[ToolCall] = Verdict(outcome="allow", decision=Allow(), payload=done.outcome.call)
            self._pending.open(call, again, key)
        elif more and closed is not None:
            self._pending.open(came, closed.verdict, key)
        return done

    def _keep_refusal(self, call: ToolCall, verdict: Verdict[ToolCall], key: str) -> Flow[None]:
        """What was let through under this name before is so no more."""
        if self._refused is None or not key:
            return
        from interpose.engine.flow.refused_calls import refused_call

        self._pending.close(self._context, verdict.payload.original_name or call.name, call.arguments, key)
        yield Block(self._refused().keep, self._context, key, refused_call(verdict))

    def _refusal_of(self, key: str) -> Flow[RefusedCall | None]:
        """The refusal of a call that was not let through here.

        INVARIANT: where it can't be looked up, the result is not shown to the agent.
        """
        if self._refused is None or not key:
            return None
        found = yield Block(self._refused().find, self._context, key)
        if type(found) is Failure:
            raise found.error
        return found  # type: ignore[no-any-return]  # a step answers what its function returned

    def _returned(self, key: str) -> Flow[HandedOver | None]:
        """The handed-over call that has a result now. INVARIANT: what can't be looked up is not shown to the agent."""
        if self._handed_over is None or not key:
            return None
        from interpose.engine.flow.handed_over import HandedOver  # few hosts are handed questions

        handed = yield Block(self._handed_over.close, self._context.session_id, key)
        if type(handed) is Failure:
            raise handed.error
        if type(handed) is HandedOver and not handed.asked:
            ended = yield Block(self._handed_over.end, handed)
            if type(ended) is Failure:
                log.error("alarm: %s ran a call unasked, and that can't be kept: %s", handed.where, ended.error)
        return handed if type(handed) is HandedOver else None

    def not_run(self, verdict: Verdict[ToolCall], reason: str, *, key: str = "") -> Flow[ToolRun]:
        """The other side can't run what became of a call that was let through."""
        call = verdict.payload
        self._pending.close(self._context, call.original_name or call.name, call.arguments, key)
        return (yield from self._flow.not_run(verdict, reason))

    def never(self, name: str) -> str:
        """Why a tool is refused whatever its arguments are; empty if its name alone doesn't tell."""
        return self._flow.never(name)

    def asking(self, call: ToolCall, *, key: str = "") -> Flow[None]:
        """The other side says that it puts this call to its person now."""
        self._pending.put_to_person(call, self._context)
        if self._handed_over is not None:
            heard = yield Block(self._handed_over.heard, self._context.session_id, key, place_of(self._context, call))
            if type(heard) is Failure:  # it is known in memory; if that is lost, its result is withheld
                log.warning("that a host asks about a call can't be kept: %s", heard.error)

    def decide(self, call: ToolCall) -> Flow[Verdict[ToolCall]]:
        """What would be said about a call. Nobody is asked and nothing is recorded."""
        return self._flow.decide(call, renames=False)

    def message(self, text: str, *, provider: str = "", model: str = "") -> Flow[Verdict[Message]]:
        """What is said about a message on its way to the agent."""
        verdict = yield from self._flow.message(Message(text, EMPTY, self._context, provider, model))
        if self._count is not None:
            self._count(HookPoint.MESSAGE_BEFORE, "", verdict)
        return verdict

    def params(self, params: Params) -> Flow[Verdict[Params]]:
        """What is said about the parameters of a run."""
        verdict = yield from self._flow.params(params)
        if self._count is not None:
            self._count(HookPoint.PARAMS_BEFORE, "", verdict)
        return verdict

    def command(self, name: str, arguments: str = "") -> Flow[Verdict[Command]]:
        """What is said about a command of the host, on its way."""
        verdict = yield from self._flow.command(Command(name, arguments, self._context))
        if self._count is not None:
            self._count(HookPoint.COMMAND_BEFORE, "", verdict)
        return verdict

    def decide_command(self, name: str, arguments: str = "") -> Flow[Verdict[Command]]:
        """What would be said about a command. Nobody is asked and nothing is recorded."""
        return self._flow.command(Command(name, arguments, self._context), only_look=True)

    def _rewritten(self, call: ToolCall, verdict: Verdict[ToolCall], key: str, *, rewrites: bool) -> Flow[HostedAnswer]:
        if not rewrites:
            return (yield from self._not_run(call, verdict, key))
        self._pending.open(call, verdict, key)
        return GoWith(verdict, _running(call, verdict))

    def _not_run(self, call: ToolCall, verdict: Verdict[ToolCall], key: str) -> Flow[Refuse]:
        """INVARIANT: nothing runs but what was decided. They would run the call as it came: it is refused, the answer
        says what to run instead, and the record that it did not run."""
        yield from self._flow.not_run(verdict, REWRITTEN)
        refuse = in_another_form(verdict)
        yield from self._keep_refusal(call, refuse.verdict, key)
        return refuse


def _running(call: ToolCall, verdict: Verdict[ToolCall]) -> dict[str, Any]:
    """The arguments that the other side runs: those of the verdict, as the call that came carries them."""
    return carrying(call.name, call.arguments, plain_arguments(verdict.payload))


def _approver(closed: PendingCall | None) -> str:
    """Who said yes at the other side's own prompt, as far as it is known.

    INVARIANT: a call that ran although it had to wait, or that a host ran without the prompt of which it says when it
    shows it, has no approver, and is an alarm.
    """
    if closed is None or closed.verdict.outcome != "ask" or not (closed.may_run and closed.put):
        return ""
    source = closed.verdict.payload.context.source
    return f"{AT_THEIR_PROMPT}{source.partition(':')[2] or source}"


def in_another_form(verdict: Verdict[ToolCall]) -> Refuse:
    """The answer about a call that may run only in another form, for those who run it as it came."""
    deny = Deny(REWRITTEN, rule="rewritten", instead=command_of(verdict.payload) or _json(verdict.payload.arguments))
    said = Finding(interceptor="interpose", said="deny", reason=REWRITTEN, rule=deny.rule, severity=deny.severity,
                   instead=deny.instead)  # fmt: skip
    return Refuse(replace(verdict, outcome="deny", decision=deny, decided_by=said), verdict.payload)


def let_through_undecided(recorder: Recorder, call: ToolCall, why: str) -> Flow[None]:
    """Record a call that runs although nobody could decide about it. Raises what keeps it from being recorded."""
    found = Finding(
        interceptor="interpose", said="error", reason=f"let through undecided: {why}", rule=FAIL_OPEN,
        severity="critical",
    )  # fmt: skip
    verdict: Verdict[ToolCall] = Verdict(outcome="allow", decision=Allow(), payload=call, findings=(found,))
    record = recorder.decided(verdict)
    answer = None if record is None else (yield Keep(record))
    if type(answer) is Failure:
        raise answer.error


def undecidable(error: BaseException, payload: Any = None) -> Verdict[Any]:
    """INVARIANT: what could not be decided is refused, in an answer like any other."""
    nothing: Verdict[Any] = Verdict(outcome="deny", decision=Allow(), payload=payload)
    return refusal(nothing, Deny(f"The decision failed: {text_of(error)}", "decision-failed"))


def _other_arguments(call: ToolCall) -> Finding:
    """Law 9: the recorded call is the executed call. Where the host ran another, the record says which."""
    ran = command_of(call) or text_of(call.arguments)
    reason = f"The host says that it ran something else than was decided: {ran[:_SHOWN]}"
    return Finding(interceptor="interpose", said="error", rule=OTHER_ARGUMENTS, severity="critical", reason=reason)


def _json(arguments: dict[str, Any]) -> str:
    return encode(arguments).decode()
