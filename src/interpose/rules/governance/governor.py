"""The governor: reads a session before its call is judged, charges it afterwards, and counts what came of it.

One for each set of rulebooks. What is made of a session is a pure function elsewhere (outcomes.py); here is only the
order, and what happens when something can't be read or written.

INVARIANT: in `watch` nothing is refused here. In `enforce` what can't be read or charged raises, and the flow refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from interpose.core.command_text import COMMAND_TOOL
from interpose.core.driving import Block, Failure, Flow
from interpose.core.errors import DelegationError, StoreError, text_of
from interpose.core.governing import Governing, SessionWords
from interpose.core.types import Command, Context, Deny, PermissionRequest, ToolCall, ToolOutcome, Verdict, refused
from interpose.reading.calls import home_directory
from interpose.rules.governance.budgets.budget_limits import Charge, charges_of
from interpose.rules.governance.budgets.budgets import (
    BudgetCounters,
    ChargeKind,
    Left,
    Overdrawn,
    budget_ruling,
    charge,
    left_of,
)
from interpose.rules.governance.budgets.usage import usage_of
from interpose.rules.governance.files.rulebook import Rulebook, Seat
from interpose.rules.governance.files.rulebooks import Rulebooks
from interpose.rules.governance.governance_interceptors import note_of
from interpose.rules.governance.governed_context import GovernedView, governed, view_of
from interpose.rules.governance.roles.delegation import DELEGATION_RULE
from interpose.rules.governance.roles.identity import seat_of
from interpose.rules.governance.rulings import Ruling
from interpose.rules.governance.sessions.halts import halt_ruling
from interpose.rules.governance.sessions.memory_sessions import MemoryCounters, MemorySessions
from interpose.rules.governance.sessions.outcomes import (
    SessionNews,
    arrived,
    asked_in_vain,
    ended,
    handed_back,
    handed_on,
    heard_of,
    is_delegation,
    is_waited_for,
    let_through,
    news_of,
    violations_in,
)
from interpose.rules.governance.sessions.save_work import saves_work
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.rules.governance.sessions.session_keys import session_key
from interpose.rules.governance.sessions.session_states import strictest
from interpose.rules.governance.sessions.sessions import GovernedSession
from interpose.rules.governance.stalls.stalls import asks_about_stall

T = TypeVar("T")


class Notices(Protocol):
    """Who hears of what happened. Raises nothing."""

    def __call__(self, told: SessionNews, /) -> str:
        """Tell of it. Of a halt comes back where its context was written."""

    def close(self) -> None:
        """Write what waits."""


class Governor:
    """Governs under some rulebooks. `tell` hears of what happened, for the log, the ledger and checkpoints."""

    def __init__(
        self,
        books: Rulebooks,
        keeper: SessionKeeper,
        counters: BudgetCounters,
        tell: Notices | None = None,
        clock: Callable[[], int] = time_ns,
    ) -> None:
        self.books, self.keeper, self.counters = books, keeper, counters
        self._tell, self._clock = tell, clock

    def rulebooks(self) -> tuple[Rulebook, ...]:
        """The rulebooks that hold now."""
        return self.books.current()

    def close(self) -> None:
        """Write what waits to be told."""
        if self._tell is not None:
            self._tell.close()

    def for_stranger(self) -> Governing:
        """The same rules for somebody who did not say who they are, over a session that is forgotten at once."""
        return Governor(self.books, SessionKeeper(MemorySessions()), MemoryCounters(), None, self._clock)

    def enter(self, call: ToolCall, *, only_look: bool) -> Flow[ToolCall]:
        """The call with its role and session in its context."""
        view = yield from self._view(call.context, only_look=only_look)
        return replace(call, context=governed(call.context, view))

    def enter_command(self, command: Command) -> Flow[Command]:
        """A command with its role and session in its context. It counts as no call."""
        view = yield from self._view(command.context, only_look=True)
        return replace(command, context=governed(command.context, view))

    def commanded(self, verdict: Verdict[Command]) -> Flow[None]:
        """Note a command that was let through, if a chain waits for it: nobody says what becomes of it. What was said
        about it is told."""
        view = view_of(verdict.payload.context)
        if view is None:
            return
        now = self._clock()

        def change(last: GovernedSession | None) -> GovernedSession:
            return handed_on(last, view, verdict.payload, now)

        session = view.session
        if verdict.allowed and is_waited_for(view, verdict.payload):
            session = yield from _blocking(self.keeper.change, view.key, change)
        for one in news_of(verdict, COMMAND_TOOL, session, now):
            yield from self._told(one, view.key)

    def question(self, request: PermissionRequest) -> Flow[Deny | None]:
        """Charge a question. A refusal if there is none left."""
        view = _view_of(request.subject)
        if view is None:
            return None
        # Only the questions: the call itself is charged when it is let through.
        charges = [one for one in self._charges(view, request.subject.context) if one.kind == "questions"]
        over = yield from self._charged(charges, "questions")
        if over is None or over.watch:
            return None
        return _deny(budget_ruling(over))

    def admit(self, verdict: Verdict[ToolCall]) -> Flow[Verdict[ToolCall]]:
        """Charge a call that was decided, and keep what it begins: a delegation, a first tool."""
        call, view = verdict.payload, view_of(verdict.payload.context)
        if view is None:  # it was refused for that
            return verdict
        if asks_about_stall(verdict) and view.enforced:
            verdict = yield from self._asked_in_vain(view, verdict)
        if verdict.outcome == "deny":
            yield from self._counted_only(view, call.context, "denials")
            return verdict
        if not verdict.may_run_unseen:  # it waits for an answer: it is charged when it comes again
            return verdict
        # INVARIANT: what one rulebook lets pass says nothing about the budgets of another.
        budgeted = [seat.book for seat in view.seats if seat.book.budgets]
        saves = all(saves_work(book, call, view.home) for book in budgeted)
        over = yield from self._charged(self._charges(view, call.context), "calls", saves=saves)
        if over is not None:
            ruling = budget_ruling(over)
            if not ruling.watch:
                return refused(verdict, _deny(ruling), by="governance:budgets")
            verdict = _noted(verdict, ruling)
        violations = violations_in(verdict)
        first = any(seat.role is not None and seat.role.first_tools for seat in view.seats)
        if first or violations or is_delegation(call):
            try:
                session = yield from _blocking(
                    self.keeper.change, view.key, lambda last: let_through(last, view, call, violations)
                )
                for one in news_of(verdict, call.name, session, self._clock()):
                    if one.word in ("note", "watch"):
                        yield from self._told(one, view.key)
            except DelegationError as error:  # others have taken the room that there was when it was judged
                deny = Deny(text_of(error), DELEGATION_RULE)
                return refused(verdict, deny, by="governance:delegation")
            except StoreError:
                if view.enforced:
                    raise
        return verdict

    def _asked_in_vain(self, view: GovernedView, verdict: Verdict[ToolCall]) -> Flow[Verdict[ToolCall]]:
        """Count a question about a stall that nobody answered. In the end the session is halted, and that is said."""
        told: list[SessionNews | None] = []

        def change(last: GovernedSession | None) -> GovernedSession:
            session, news = asked_in_vain(last, view, verdict.payload, self._clock())
            told[:] = [news]
            return session

        session = yield from _blocking(self.keeper.change, view.key, change)
        if told[0] is None or session.halt is None:
            return verdict
        yield from self._told(replace(told[0], session=session), view.key)
        return refused(verdict, _deny(halt_ruling(session, session.halt)), by="governance:stalls")

    def finished(self, verdict: Verdict[ToolCall], outcome: ToolOutcome) -> Flow[None]:
        """Count what came of a call. What it found is told: to the log, the ledger, and the agent."""
        view = view_of(outcome.call.context) or view_of(verdict.payload.context)
        if view is None:
            return
        told: list[SessionNews] = []

        def change(last: GovernedSession | None) -> GovernedSession:
            session, found = ended(last, view, verdict, outcome, self._clock())
            told[:] = found
            return session

        session = yield from _blocking(self.keeper.change, view.key, change)
        tokens, cost_micros = usage_of(outcome)
        for kind, amount in (("tokens", tokens), ("cost", cost_micros)):
            if amount:
                yield from self._counted_only(view, outcome.call.context, kind, amount)  # type: ignore[arg-type]  # literals
        for one in told:
            yield from self._told(replace(one, session=session), view.key)

    def heard(self, context: Context, event: SessionWords, said: str = "") -> Flow[str]:
        """An event of a session, and the text that its agent should read. `said` is what an agent answered that
        stopped."""
        seats, key = self._seats(context), session_key(context)
        left = yield from self._left(seats, context, key)
        texts: list[str] = []
        told: list[SessionNews] = []

        def change(last: GovernedSession | None) -> GovernedSession:
            now, found = self._clock(), list[SessionNews]()
            if event == "agent-stop" and last is not None:
                last, found = handed_back(last, context, self._seats, said, now)
            session, text = heard_of(last, context, seats, event, now, left)
            texts[:], told[:] = [text], found
            return session

        session = yield from _blocking(self.keeper.change, key, change)
        for one in told:
            yield from self._told(replace(one, session=session), key)
        return texts[-1] if texts else ""

    def due(self, context: Context) -> Flow[str]:
        """What the agent is still to be told, once."""
        return (yield from self.heard(context, "due"))

    def _seats(self, context: Context) -> tuple[Seat, ...]:
        return tuple([seat_of(book, context) for book in self.books.current()])

    def _left(self, seats: tuple[Seat, ...], context: Context, key: str) -> Flow[tuple[Left, ...]]:
        """What is left of the budgets of a session, for texts."""
        now = self._clock()
        session = yield from _blocking(self.keeper.read, key)
        if session is None or not any(seat.book.budgets for seat in seats):
            return ()
        charges = self._charges(GovernedView(seats, session, key, now, home_directory()), context)
        return (yield from _blocking(left_of, self.counters, charges))

    def _view(self, context: Context, *, only_look: bool) -> Flow[GovernedView]:
        seats, now, key = self._seats(context), self._clock(), session_key(context)
        form = strictest([seat.book.sessions for seat in seats])

        def arrive(last: GovernedSession | None) -> GovernedSession:
            return arrived(last, context, seats, form, now)

        try:
            if only_look:
                session = arrive((yield from _blocking(self.keeper.read, key)))
            else:
                session = yield from _blocking(self.keeper.change, key, arrive)
        except StoreError:
            if any(seat.mode == "enforce" for seat in seats):
                raise
            session = arrive(None)
        return GovernedView(seats, session, key, now, home_directory())

    def _charges(self, view: GovernedView, context: Context) -> list[Charge]:
        return [one for seat in view.seats for one in charges_of(seat.book, view.session, context, view.now_ns)]

    def _charged(self, charges: list[Charge], kind: ChargeKind, *, saves: bool = False) -> Flow[Overdrawn | None]:
        if not charges:
            return None

        def work() -> Overdrawn | None:
            return charge(self.counters, charges, kind, saves_work=saves)

        try:
            return (yield from _blocking(work))
        except StoreError:
            if any(not one.watch for one in charges):
                raise
            return None

    def _counted_only(self, view: GovernedView, context: Context, kind: ChargeKind, amount: int = 1) -> Flow[None]:
        """Count what happened already. A store that can't is met again by the next call."""
        charges = self._charges(view, context)
        if not charges:
            return

        def work() -> None:
            charge(self.counters, charges, kind, amount)

        try:
            yield from _blocking(work)
        except StoreError:
            return

    def _told(self, one: SessionNews, key: str) -> Flow[None]:
        """Tell of it. Of a halt comes back where its context was written."""
        if self._tell is None:
            return
        place = yield from _blocking(self._tell, one)
        if place and one.word == "halt":
            yield from _blocking(self.keeper.change, key, lambda last: _with_checkpoint(last, place))


def _blocking(function: Callable[..., T], *args: Any) -> Flow[T]:
    answer = yield Block(function, *args)
    if type(answer) is Failure:
        raise answer.error
    return answer  # type: ignore[no-any-return]  # a step answers what its function returned


def _with_checkpoint(last: GovernedSession | None, place: str) -> GovernedSession:
    if last is None:
        raise StoreError("the halted session is gone")
    return last if last.halt is None else replace(last, halt=replace(last.halt, checkpoint=place))


def _view_of(subject: object) -> GovernedView | None:
    return view_of(subject.context) if isinstance(subject, ToolCall) else None


def _deny(ruling: Ruling) -> Deny:
    return Deny(ruling.reason, ruling.rule, instead=ruling.instead, detail=ruling.evidence)


def _noted(verdict: Verdict[ToolCall], ruling: Ruling) -> Verdict[ToolCall]:
    return replace(verdict, findings=(*verdict.findings, note_of("budgets", ruling)))
