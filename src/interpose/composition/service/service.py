"""Everything behind a surface: one engine for each place, one ledger, one queue of questions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self

from msgspec import Struct

from interpose.core.answers import Approved, Edited, Pending
from interpose.core.driving import Flow
from interpose.core.errors import StoreError
from interpose.core.types import Context, Deny, PermissionRequest
from interpose.engine.engine import Run
from interpose.engine.flow.hosted import Abilities, Hosted, TheyAsk
from interpose.engine.flow.pending_calls import HOOK, PendingCalls
from interpose.people.approvals import PAUSE, needs_people

if TYPE_CHECKING:
    from interpose.composition.service.activity import Activity
    from interpose.composition.service.answering import Answering
    from interpose.composition.service.bypass_desk import BypassDesk
    from interpose.composition.service.hand_overs import HandingOver, HandOvers
    from interpose.composition.service.kept_refusals import KeptRefusals
    from interpose.composition.service.project_engines import ProjectEngines
    from interpose.composition.service.question_events import QuestionEvents
    from interpose.composition.service.session_desk import SessionDesk
    from interpose.core.config.settings import Config
    from interpose.core.governing import SessionWords
    from interpose.engine.engine import Engine
    from interpose.people.approvals import ConfirmationHandler
    from interpose.people.approvals.desk import Desk
    from interpose.people.approvals.questions import Question
    from interpose.people.notifications.notifier import Notifier
    from interpose.people.presence.agents import SeenAgents
    from interpose.record.ledger import Ledger
    from interpose.record.pins.pin_desk import PinDesk
    from interpose.record.store.protocols import Store
    from interpose.rules.governance.files.rulebook import Rulebook
    from interpose.rules.policy.reload import PolicyReload, PolicyStatus


class AwaitsPerson(Protocol):
    """Whoever waits for a person."""

    def patience(self) -> tuple[float, float]:
        """Seconds that the answer to a question is waited for: here, and by the caller itself after that. Blocks."""

    def begin(self, question: Question, seconds: float) -> None:
        """The answer to this question is waited for now."""

    def said_yes(self) -> None:
        """A person agreed, now or before, and no pause did."""


class RuledEngine(Struct, frozen=True):
    """An engine, and the policy that it follows."""

    engine: Engine
    policy: PolicyReload

    def stop(self) -> None:
        """Stop following the rule files, and let governance write what waits."""
        self.policy.stop()
        if self.engine.governor is not None:
            self.engine.governor.close()


class Service:
    """What a process needs to decide for others. Made by `build.open_service`."""

    def __init__(
        self,
        config: Config,
        *,
        store: Store,
        ledger: Ledger,
        desk: Callable[[], Desk],
        policies: ProjectEngines[RuledEngine],
        activity: Activity,
        answering: Answering | None = None,
    ) -> None:
        """`answering` is what only a server has: without it nobody is asked, and no grant counts.

        `desk` is opened when somebody needs it: most processes that decide once ask nobody.
        """
        self.config, self.store, self.ledger, self.policies = config, store, ledger, policies
        self.activity, self.answering = activity, answering
        self._desk: Desk | None = None
        self._open_desk = desk
        self._pending = PendingCalls()

    @property
    def desk(self) -> Desk:
        """Where questions are put and answered."""
        if self._desk is None:
            self.desk = self._open_desk()
            assert self._desk is not None  # noqa: S101 - just set
        return self._desk

    @desk.setter
    def desk(self, desk: Desk) -> None:
        if self._desk is not None:
            desk.news, desk.onlookers = self._desk.news, self._desk.onlookers
        desk.happened = self.events.heard
        self._desk = desk

    @cached_property
    def agents(self) -> SeenAgents:
        """The agents that ask here. One who is no server tells the server of them with its questions."""
        if self.answering is not None:
            return self.answering.agents
        from interpose.people.presence.agents import SeenAgents

        return SeenAgents()

    @cached_property
    def events(self) -> QuestionEvents:
        """What happens to questions, for those who watch."""
        from interpose.composition.service.question_events import QuestionEvents

        return QuestionEvents(lambda: self.desk)

    @cached_property
    def notifier(self) -> Notifier:
        """Who tells people of questions, where they are. It is started by the server."""
        from time import time_ns

        from interpose.people.notifications.notifier import Notifier

        return Notifier(
            self.store,
            lambda: self.desk,
            lambda: self.config.notifications,
            public_url=lambda: self.config.server.public_url,
            clock_ns=time_ns if self.answering is None else self.answering.clock,
        )

    @cached_property
    def pins(self) -> PinDesk:
        """What MCP servers showed when they were trusted."""
        from interpose.composition.service.pin_records import open_pins

        return open_pins(self.config, self.store, self.ledger)

    @cached_property
    def bypasses(self) -> BypassDesk:
        """Where operators let commands pass their chain rules. What a server gave counts here only if this is one."""
        from pathlib import Path

        from interpose.composition.service.bypass_desk import BypassDesk
        from interpose.people.approvals.seal import open_verifier

        verifier = None if self.answering is not None else open_verifier(Path(self.config.approvals.key))
        return BypassDesk(self.store, self.ledger.recorder, self.answering, verifier)

    @cached_property
    def refusals(self) -> KeptRefusals:
        """Calls that were refused, in case that their host runs one all the same."""
        from interpose.composition.service.kept_refusals import KeptRefusals

        return KeptRefusals(self.store)

    @cached_property
    def hand_overs(self) -> HandOvers:
        """What a person lets hosts ask at prompts that may be answered by themselves, and what they were handed."""
        from interpose.composition.service.hand_overs import HandOvers

        place = self.config.approvals.directory
        return HandOvers(self.store, self.ledger.recorder, self.answering, place)

    @cached_property
    def governed(self) -> SessionDesk:
        """Where governed sessions are looked at, halted and let go on."""
        from functools import partial

        from interpose.composition.service.session_budgets import session_budgets
        from interpose.composition.service.session_desk import open_session_desk

        budgets = partial(session_budgets, self)
        return open_session_desk(self.config, self.store, self.ledger, self.answering, budgets)

    def run(self, context: Context, *, wait: float = 0.0) -> Run:
        """A run under the rules that hold for this context. A question waits this many seconds for its answer."""
        can = Abilities(rewrite=True, hears=True)  # whoever walks a run reads its verdicts
        return self.policies.engine(context).run(context, confirm=self._answering(can, wait))

    def hosted(
        self,
        context: Context,
        can: Abilities,
        *,
        wait: float = 0.0,
        waits: AwaitsPerson | None = None,
        confirm: ConfirmationHandler | None = None,
        hands: HandingOver | None = None,
    ) -> Hosted:
        """The same run for somebody who runs the tools and can do so much with an answer. `waits` hears of the
        question whose answer is waited for. `confirm` is a person who is asked instead of the queue. `hands` decides
        which questions their prompt gets that may be answered by itself."""
        confirm = confirm or self._answering(can, wait, waits, hands)
        flow = self.policies.engine(context).flow(context, confirm=confirm)
        # A hook that found no server decided by itself: the result of its call comes to us, who never saw it.
        from_hook = context.source.startswith(HOOK)
        recall = self.ledger.open_call if from_hook else None
        handed_over = self.hand_overs if from_hook and self.answering is not None else None
        kept = lambda: self.refusals  # noqa: E731 - few calls are refused: what keeps them is loaded when one is
        return Hosted(flow, self._pending, context, can, self.activity.count, recall, kept, handed_over)

    def for_anonymous(self, context: Context, can: Abilities) -> Hosted:
        """A verdict for somebody who did not say who they are, and nothing else.

        INVARIANT: it neither reads nor leaves anything that another caller's decision depends on: no project's file is
        opened, nobody is asked, no grant is looked for, and no outcome is joined to a call.
        """
        flow = self.policies.anywhere().for_stranger().flow(context, confirm=TheyAsk())
        return Hosted(flow, PendingCalls(), context, can, self.activity.count)

    def session_heard(self, context: Context, event: SessionWords, said: str = "") -> Flow[str]:
        """A host tells of a session. What its agent should be told; empty if nothing, or if nobody governs it. `said`
        is what an agent answered that stopped."""
        governor = self.policies.engine(context).governor
        return "" if governor is None else (yield from governor.heard(context, event, said))

    def rulebooks(self, context: Context) -> tuple[Rulebook, ...]:
        """The governance files that hold for a context; none where nothing is governed."""
        governor = self.policies.engine(context).governor
        return () if governor is None else governor.rulebooks()

    def session_due(self, context: Context) -> Flow[str]:
        """What the agent of a session is still to be told, once."""
        governor = self.policies.engine(context).governor
        return "" if governor is None else (yield from governor.due(context))

    @property
    def awaited(self) -> bool:
        """Whether anybody waits for a person here."""
        return self._desk is not None and self._desk.awaited

    def let_go(self) -> None:
        """Whoever waits for a person waits no longer: this process ends."""
        if self._desk is not None:
            self._desk.let_go()

    def _answering(
        self, can: Abilities, wait: float, waits: AwaitsPerson | None = None, hands: HandingOver | None = None
    ) -> ConfirmationHandler:
        desk = _AtTheDesk(self, wait, can, waits)
        return _TheyAskFirst(self, desk, hands) if self.config.approvals.ask == "host" and can.ask else desk

    def paused(self) -> str:
        """That questions are answered with yes now, in words; empty if they are asked. Blocks."""
        if self.answering is None:
            return ""
        return "\n".join(
            f"Interpose is paused until {given.ends:%H:%M} UTC by {given.by}: questions"
            f"{f' of {given.agent}' if given.agent else ''} are answered with yes. To end that: "
            f"interpose approvals pause end {given.id}"
            for given in self.desk.pauses.standing()
        )

    def news(self, context: Context) -> str:
        """Answers that the agent of a session has not heard yet, once; empty if there are none."""
        return "" if self._desk is None else self._desk.news.take(context.source, context.session_id)

    def policy_status(self) -> tuple[PolicyStatus, ...]:
        """How the rules stand: those that hold everywhere first, then those of each project that was seen."""
        return tuple(ruled.policy.status for ruled in self.policies.all())

    def reload(self) -> tuple[PolicyStatus, ...]:
        """Take over changed rule files. What is broken is not taken, and said in its status."""
        return tuple(ruled.policy.check() for ruled in self.policies.all())

    def close(self) -> None:
        """Stop following files, write what is queued, and let go of the store."""
        self.policies.stop()
        if "governed" in self.__dict__:
            self.governed.close()
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class _AtTheDesk:
    """A confirmation handler that opens the desk when there is a question."""

    counts_votes = True

    def __init__(self, service: Service, seconds: float, can: Abilities, waits: AwaitsPerson | None) -> None:
        self._service, self._seconds, self._can, self._waits = service, seconds, can, waits

    async def confirm(self, request: PermissionRequest, /) -> Approved | Deny | Pending | Edited:
        """What the desk says. A desk that can't be opened is a handler that failed: the call is refused."""
        desk, can, waits = self._service.desk, self._can, self._waits
        seconds, then, on_wait = self._seconds, 0.0, None
        if waits is not None:
            import asyncio

            seconds, then = await asyncio.to_thread(waits.patience)
            on_wait = waits.begin
        waiting = desk.waiting(seconds, hears=can.hears, rewrites=can.rewrite, on_wait=on_wait, then=then)
        answer = await waiting.confirm(request)
        if waits is not None and isinstance(answer, Approved) and not answer.by.startswith(PAUSE):
            waits.said_yes()
        return answer


class _TheyAskFirst:
    """A confirmation handler that leaves the question to the other side, unless a pause answers it, or certain people
    must: at the other side sits one person, who may be the one that asked."""

    counts_votes = True

    def __init__(self, service: Service, desk: _AtTheDesk, hands: HandingOver | None) -> None:
        self._service, self._desk, self._hands = service, desk, hands

    async def confirm(self, request: PermissionRequest, /) -> Approved | Deny | Pending | Edited:
        """A pause that can't be looked for is none."""
        if needs_people(request):
            return await self._desk.confirm(request)
        if self._service.answering is None:
            return Pending()
        import asyncio

        try:
            paused = await asyncio.to_thread(self._service.desk.paused, request)
        except StoreError:
            paused = None
        if paused is None and self._hands is not None and not await asyncio.to_thread(self._hands.keep, request):
            return await self._desk.confirm(request)
        return paused or Pending()
