"""One agent run as a line of time: what was decided, refused and asked, how long it took, and what it has left."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec import json as fast

from interpose.composition.service.seen_sessions import SeenSession, seen_session
from interpose.composition.service.session_budgets import session_budgets
from interpose.core.errors import NoQuestionError, NoSessionError
from interpose.core.formats.plain_text import one_line
from interpose.people.approvals.questions import moment
from interpose.record.ledger import Record, search
from interpose.record.store.protocols import Query
from interpose.rules.governance.sessions.session_views import ShownBudget

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

LONGEST = 300
"""Letters of a call, and of a reason, that a line shows. The record has all of it."""
MOST_EFFECTS = 8
_MICROSECOND = 1_000


class AskedInSession(Struct, frozen=True, kw_only=True):
    """The question of a call. `waited_ms` is how long its answer took; null while there is none."""

    id: str
    state: str
    by: str = ""
    waited_ms: int | None = None


class TimelineEvent(Struct, frozen=True, kw_only=True):
    """One call of a session, in a line. What operators and governance did is there under the tool `governance`."""

    at: datetime
    call_id: str
    agent: str
    role: str
    tool: str
    what: str
    effects: tuple[str, ...]
    decision: str
    rule: str
    reason: str
    outcome: str
    approver: str
    decided_us: int
    """What the interceptors took, without the time of a person, in millionths of a second."""
    ran_ms: int
    question: AskedInSession | None = None


class SessionTimeline(Struct, frozen=True, kw_only=True):
    """A session, how it stands, and its newest calls, the newest first. With `next` as `cursor` come those before."""

    session: SeenSession
    budgets: tuple[ShownBudget, ...]
    """What a governed session has used of what it has."""
    seconds: float
    """From its first call to its last."""
    events: tuple[TimelineEvent, ...]
    next: str | None


def session_timeline(service: Service, id: str, *, limit: int, after: int | None = None) -> SessionTimeline:
    """The session of this id. Raises NoSessionError or StoreError."""
    found = seen_session(service.store, service.governed, id)
    if not found:
        raise NoSessionError(f"there is no session {id!r}")
    session = found[0]
    page = search(service.store, Query(session=session.id), limit + 1, after)
    shown = page[:limit]
    return SessionTimeline(
        session=session,
        budgets=_budgets(service, session),
        seconds=max(0.0, (session.last - session.first).total_seconds()),
        events=tuple(_event(service, record) for record in shown),
        next=f"p{shown[-1].position:x}" if len(page) > len(shown) else None,
    )


def _budgets(service: Service, session: SeenSession) -> tuple[ShownBudget, ...]:
    if session.governed is None:
        return ()
    try:
        return tuple(session_budgets(service, service.governed.session(session.governed.key)))
    except NoSessionError:
        return ()


def _event(service: Service, record: Record) -> TimelineEvent:
    return TimelineEvent(
        at=moment(record.time_ns),
        call_id=record.call_id,
        agent=record.agent,
        role=record.role,
        tool=record.tool,
        what=what_of(record),
        effects=tuple(dict.fromkeys(effect.kind for effect in record.effects))[:MOST_EFFECTS],
        decision=record.decision,
        rule=record.rule,
        reason=_short(record.reason),
        outcome=record.outcome,
        approver=record.approver,
        decided_us=sum(spent for _, spent in record.timings) // _MICROSECOND,
        ran_ms=record.duration_ns // 1_000_000,
        question=_asked(service, record.approval) if record.approval else None,
    )


def what_of(record: Record) -> str:
    """A call in a line: its command, its file, its address, or else its arguments."""
    arguments = record.arguments
    if not isinstance(arguments, dict):
        return ""
    for name in ("command", "file_path", "path", "url", "query", "pattern"):
        if isinstance(text := arguments.get(name), str) and text:
            return _short(text)
    return _short(fast.encode(arguments).decode()) if arguments else ""


def _short(text: str) -> str:
    line = one_line(text[: LONGEST + 1])
    return line if len(text) <= LONGEST else f"{line[:LONGEST]}…"


def _asked(service: Service, id: str) -> AskedInSession | None:
    """None where the question is forgotten meanwhile."""
    try:
        question = service.desk.question(id)
    except NoQuestionError:
        return None
    answer = question.answer
    return AskedInSession(
        id=question.id,
        state=question.state,
        by="" if answer is None else answer.by,
        waited_ms=None if answer is None else max(0, round((answer.at - question.asked).total_seconds() * 1000)),
    )
