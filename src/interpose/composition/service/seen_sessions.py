"""Sessions as people see them: what was decided about them, and how governance says that they stand."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from interpose.people.approvals.questions import moment
from interpose.record.store.protocols import Sessions, SessionTally
from interpose.rules.governance.sessions.session_views import GovernedSummary, summary_of

if TYPE_CHECKING:
    from interpose.composition.service.session_desk import SessionDesk
    from interpose.rules.governance.sessions.sessions import GovernedSession

_MOST = 1000


class SeenSession(Struct, frozen=True, kw_only=True):
    """One session: its calls, and how many of them were decided how. A call that was asked about twice counts twice.

    `governed` is how it stands by governance.yaml, where one holds for it.
    """

    id: str
    agent: str
    first: datetime
    last: datetime
    calls: int
    allow: int
    rewrite: int
    ask: int
    deny: int
    governed: GovernedSummary | None = None


class SessionsAnswer(Struct, frozen=True):
    """Sessions, the last active first."""

    sessions: list[SeenSession]


def seen_sessions(
    store: Sessions, desk: SessionDesk, *, since_ns: int = 0, limit: int = 100, state: str = ""
) -> list[SeenSession]:
    """Sessions that were active since then, the last active first; only those of a state if one is named.

    Raises StoreError.
    """
    rows = limit if not state else _MOST
    tallies = store.session_tallies(since_ns=since_ns, limit=rows)
    found = _joined(tallies, desk.recent(since_ns=since_ns, limit=_MOST))
    if state:
        found = [one for one in found if one.governed is not None and one.governed.state == state]
    return sorted(found, key=lambda one: one.last, reverse=True)[:limit]


def seen_session(store: Sessions, desk: SessionDesk, name: str) -> list[SeenSession]:
    """The sessions of an id; more than one if several principals have one of this id."""
    governed = [one for one in desk.recent(limit=_MOST) if name in (one.id, one.key)]
    return _joined(store.session_tallies(session=name, limit=1), governed)


def _joined(tallies: list[SessionTally], governed: list[GovernedSession]) -> list[SeenSession]:
    by_id: dict[str, list[GovernedSession]] = {}
    for one in governed:
        by_id.setdefault(one.id, []).append(one)
    rows: list[SeenSession] = []
    for tally in tallies:
        same = by_id.pop(tally.session, [])
        shown = _of_tally(tally)
        rows += [replace(shown, governed=summary_of(one)) for one in same] or [shown]
    return [*rows, *(_alone(one) for same in by_id.values() for one in same)]


def _of_tally(tally: SessionTally) -> SeenSession:
    return SeenSession(
        id=tally.session, agent=tally.agent, first=moment(tally.first_ns), last=moment(tally.last_ns),
        calls=tally.count, allow=tally.allow, rewrite=tally.rewrite, ask=tally.ask, deny=tally.deny,
    )  # fmt: skip


def _alone(session: GovernedSession) -> SeenSession:
    """A session of which the ledger has nothing in this time."""
    counts = session.counts
    return SeenSession(
        id=session.id, agent="", first=moment(session.created_ns), last=moment(session.active_ns or session.created_ns),
        calls=counts.calls, allow=max(0, counts.calls - counts.denials - counts.questions), rewrite=0,
        ask=counts.questions, deny=counts.denials, governed=summary_of(session),
    )  # fmt: skip
