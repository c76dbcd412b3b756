"""A governed session as people see it: times as times, no digests, and what to do about a halt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from time import time_ns
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct

from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.sessions.halts import how_to_lift
from interpose.rules.governance.sessions.session_states import state_at
from interpose.rules.governance.sessions.sessions import (
    DelegationWord,
    GovernedSession,
    Halt,
    SessionCounts,
    SessionWord,
)

if TYPE_CHECKING:
    from pathlib import Path

    from interpose.rules.governance.sessions.checkpoints import HaltCheckpoint

ShownState = SessionWord | Literal["halted"]
"""`halted` goes before whatever else a session is."""
SHOWN_STATES: tuple[str, ...] = (*get_args(SessionWord), "halted")


class ShownHalt(Struct, frozen=True, kw_only=True):
    """Why a session is halted, and how it goes on."""

    reason: str
    by: str
    at: datetime
    checkpoint: str
    how_to_lift: str


class ShownAgent(Struct, frozen=True, kw_only=True):
    """An agent of a session. The main agent has an empty id."""

    id: str
    name: str
    role: str
    parent: str
    depth: int
    seen: datetime | None


class ShownDelegation(Struct, frozen=True, kw_only=True):
    """Work that one agent gave to another."""

    by: str
    from_role: str
    target: str
    to_role: str
    state: DelegationWord
    agent: str
    created: datetime | None


class ShownViolation(Struct, frozen=True, kw_only=True):
    """Something that was not allowed. `call_id` finds its record."""

    at: datetime | None
    agent: str
    role: str
    tool: str
    rule: str
    said: str
    call_id: str


class ShownCheckpoint(Struct, frozen=True, kw_only=True):
    """What a session was at when it was halted: the file that has it."""

    path: str
    at: datetime | None
    reason: str
    by: str


class ShownBudget(Struct, frozen=True, kw_only=True):
    """What there is of something, and what is used of it. Cost in millionths, time in nanoseconds; `text` is for
    people."""

    per: str
    what: str
    limit: int
    spent: int
    text: str = ""


class GovernedSummary(Struct, frozen=True, kw_only=True):
    """How a governed session stands, in a line."""

    key: str
    state: ShownState
    host: str
    project: str
    principal: str
    role: str
    agents: int
    counts: SessionCounts
    halt: ShownHalt | None


class GovernedDetail(Struct, frozen=True, kw_only=True):
    """Everything that is known of a governed session. The newest violations only: all of them are in the ledger."""

    id: str
    key: str
    state: ShownState
    was: SessionWord
    """What it is besides being halted."""
    generation: int
    host: str
    project: str
    principal: str
    created: datetime | None
    began: datetime | None
    active: datetime | None
    ended: datetime | None
    counts: SessionCounts
    stall: str
    """What it gets nowhere with, and how far the escalation has come; empty if with nothing."""
    halt: ShownHalt | None
    agents: list[ShownAgent]
    delegations: list[ShownDelegation]
    violations: list[ShownViolation]
    budgets: list[ShownBudget]
    checkpoints: list[ShownCheckpoint] = []
    """Of each halt that it had, the newest first."""


BudgetsOf = Callable[[GovernedSession], Sequence[ShownBudget]]


def summary_of(session: GovernedSession, clock: Callable[[], int] = time_ns) -> GovernedSummary:
    """A session in a line."""
    main = session.agent("") or (session.agents[0] if session.agents else None)
    return GovernedSummary(
        key=session.key or session.id, state=_state(session, clock()), host=session.host, project=session.project,
        principal=session.principal, role=main.role if main is not None else "", agents=len(session.agents),
        counts=session.counts, halt=_halt(session, session.halt),
    )  # fmt: skip


def detail_of(
    session: GovernedSession,
    budgets_of: BudgetsOf | None = None,
    checkpoints: Sequence[tuple[Path, HaltCheckpoint]] = (),
    clock: Callable[[], int] = time_ns,
) -> GovernedDetail:
    """All of a session."""
    stall, now = session.stall, clock()
    return GovernedDetail(
        id=session.id, key=session.key or session.id, state=_state(session, now), was=state_at(session, now),
        generation=session.generation, host=session.host, project=session.project, principal=session.principal,
        created=when(session.created_ns), began=when(session.began_ns), active=when(session.active_ns),
        ended=when(session.ended_ns), counts=session.counts,
        stall=f"{stall.kind}, step {stall.times} of the escalation" if stall.kind else "",
        halt=_halt(session, session.halt),
        agents=[
            ShownAgent(
                id=one.id, name=one.name, role=one.role, parent=one.parent, depth=one.depth, seen=when(one.seen_ns)
            )
            for one in session.agents
        ],
        delegations=[
            ShownDelegation(
                by=one.by, from_role=one.from_role, target=one.target, to_role=one.to_role, state=one.state,
                agent=one.agent, created=when(one.created_ns),
            )
            for one in session.delegations
        ],
        violations=[
            ShownViolation(
                at=when(one.at_ns), agent=one.agent, role=one.role, tool=one.tool, rule=one.rule, said=one.said,
                call_id=one.call_id,
            )
            for one in session.violations
        ],
        budgets=list(budgets_of(session)) if budgets_of is not None else [],
        checkpoints=[
            ShownCheckpoint(path=str(path), at=when(made.at_ns), reason=made.reason, by=made.by)
            for path, made in checkpoints
        ],
    )  # fmt: skip


def _state(session: GovernedSession, now_ns: int) -> ShownState:
    return state_at(session, now_ns) if session.halt is None else "halted"


def _halt(session: GovernedSession, halt: Halt | None) -> ShownHalt | None:
    if halt is None:
        return None
    at = when(halt.at_ns) or datetime.fromtimestamp(0, UTC)
    return ShownHalt(
        reason=halt.reason, by=halt.by, at=at, checkpoint=halt.checkpoint, how_to_lift=how_to_lift(session.id)
    )


def when(time_ns: int) -> datetime | None:
    """The time; None if there is none, or none that a calendar has."""
    try:
        return datetime.fromtimestamp(time_ns / NANOSECONDS, UTC) if time_ns else None
    except (OverflowError, OSError, ValueError):
        return None
