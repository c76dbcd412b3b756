"""What events make of a session: its state, its generation, and what its agent is to be told.

    created ── call ──> active <── call ── compacted, resumed, idle        less than `resume_after` after the last
    any     ── compact ──> compacted                                       a new generation, a reminder
    any     ── clear ──> created                                           a new generation, the prefix
    any     ── idle ──> idle, or interrupted if it is away for longer than a resume takes
    any     ── comes back after `resume_after` ──> resumed                 a new generation, resume context
    any     ── comes back after more than `fresh_after` ──> begins anew    a new generation, counts from 0, the prefix
    any     ── end ──> ended, which it stays until a start or a resume

First tools are due again in each new generation, and in no other case. Words that agents or people write trigger
nothing: only events of the host do.

INVARIANT: time only goes on. Whatever the clock says, it is never earlier than what the session has seen: a clock that
goes back makes nobody away for less long, and lets nothing expire later. No event lifts a halt.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.types import Context
from interpose.rules.governance.budgets.durations import duration_ns
from interpose.rules.governance.files.file_model import SessionsForm
from interpose.rules.governance.sessions.session_bounds import short
from interpose.rules.governance.sessions.session_keys import session_key
from interpose.rules.governance.sessions.sessions import (
    GovernedSession,
    SessionCounts,
    SessionText,
    SessionWord,
    StallCounts,
)

SessionEvent = Literal["start", "clear", "resume", "message", "call", "result", "compact", "compacted", "idle", "end"]
"""`compact`: the host compacts the context. `compacted`: it goes on after that; hosts may say both of one compaction.
`clear`: the host begins with an empty context. `result`: what came of a call, however long it took."""

_DEFAULTS = SessionsForm()


class SessionChange(Struct, frozen=True):
    """A session after an event, and what its agent is told with the answer to it."""

    session: GovernedSession
    tell: SessionText = ""


def new_session(context: Context, now_ns: int, form: SessionsForm = _DEFAULTS) -> GovernedSession:
    """A session that nobody has heard of, as it is before its first event."""
    return GovernedSession(
        id=short(context.session_id),
        key=session_key(context),
        host=short(context.source.partition(":")[2] or context.source),
        project=short(context.cwd),
        principal=short(context.principal),
        created_ns=now_ns,
        began_ns=now_ns,
        active_ns=now_ns,
        seen_ns=now_ns,
        owes="prefix" if form.prefix else "",
    )


def time_in(session: GovernedSession, now_ns: int) -> int:
    """What time it is for a session: never earlier than it was."""
    return max(now_ns, session.seen_ns, session.active_ns)


def after_event(
    session: GovernedSession,
    event: SessionEvent,
    now_ns: int,
    form: SessionsForm = _DEFAULTS,
    *,
    can_tell: bool = True,
) -> SessionChange:
    """The session after an event. `can_tell`: the host takes text with the answer to it; what it can't take is owed."""
    now = time_in(session, now_ns)
    session = replace(
        session, seen_ns=now, idle_after_ns=duration_ns(form.idle_after), resume_after_ns=duration_ns(form.resume_after)
    )
    match event:
        case "start" | "resume" | "message" | "call":
            session = _came(session, event, now, form)
        case "clear":
            session = _came(session, "start", now, form)
            session = replace(
                session, state="created", generation=session.generation + 1, owes="prefix" if form.prefix else ""
            )
        case "result":
            session = replace(_awake(session), active_ns=now)
        case "compact":
            session = _compacted(_came(session, "message", now, form), form)
        case "compacted":
            session = _came(session, "message", now, form)
            session = session if session.state == "compacted" else _compacted(session, form)
        case "idle":
            session = replace(session, state=_left_alone(session, now))
        case "end":
            session = _ended(session, now)
        case _:
            assert_never(event)
    return paid(session) if can_tell else SessionChange(session)


def paid(session: GovernedSession) -> SessionChange:
    """What the agent is still to be told, once."""
    return SessionChange(replace(session, owes=""), session.owes) if session.owes else SessionChange(session)


def state_at(session: GovernedSession, now_ns: int) -> SessionWord:
    """The state for those who only look: a session in which nothing was called for some time is idle without an event,
    by the times that held for it when it was last heard of."""
    now = time_in(session, now_ns)
    idle_after = session.idle_after_ns or duration_ns(_DEFAULTS.idle_after)
    if session.state == "ended" or now - session.active_ns < idle_after:
        return session.state
    return _left_alone(session, now)


def counted(
    session: GovernedSession,
    *,
    denials: int = 0,
    questions: int = 0,
    errors: int = 0,
    violations: int = 0,
    tokens: int = 0,
    cost_micros: int = 0,
) -> GovernedSession:
    """The session with something more counted. Calls and compactions are counted as events, spawns as delegations."""
    had = session.counts
    more = replace(
        had,
        denials=had.denials + denials,
        questions=had.questions + questions,
        errors=had.errors + errors,
        violations=had.violations + violations,
        tokens=min(had.tokens + tokens, _MOST),
        cost_micros=min(had.cost_micros + cost_micros, _MOST),
    )
    return replace(session, counts=more)


def strictest(forms: Sequence[SessionsForm]) -> SessionsForm:
    """What holds if several rulebooks say how long sessions live: the one under which first tools are due soonest and
    counts live longest."""
    match tuple(forms):
        case ():
            return _DEFAULTS
        case (only,):
            return only
        case several:
            return _strictest_of(several)


@lru_cache(maxsize=64)
def _strictest_of(forms: tuple[SessionsForm, ...]) -> SessionsForm:
    return SessionsForm(
        idle_after=min((form.idle_after for form in forms), key=duration_ns),
        resume_after=min((form.resume_after for form in forms), key=duration_ns),
        fresh_after=max((form.fresh_after for form in forms), key=duration_ns),
        prefix=any(form.prefix for form in forms),
        reminder=any(form.reminder for form in forms),
    )


_MOST = 1 << 60


def _came(
    session: GovernedSession, event: Literal["start", "resume", "message", "call"], now: int, form: SessionsForm
) -> GovernedSession:
    """Somebody works in it. How long nobody did says what it is now."""
    begins = event in ("start", "resume")
    if session.state == "ended" and not begins:
        return _called(replace(session, active_ns=now), event)
    away = now - session.active_ns
    session = replace(_awake(session, revived=begins), active_ns=now)
    if away > duration_ns(form.fresh_after):
        session = _anew(session, now, form)
    elif away >= duration_ns(form.resume_after):
        tells = form.prefix or form.reminder
        session = replace(
            session,
            state="resumed",
            generation=session.generation + 1,
            away_ns=away,
            owes="resume" if tells else "",
        )
        return _called(session, event)
    elif event == "start" and form.prefix:
        session = replace(session, owes="prefix")
    return _called(replace(session, state="active") if event == "call" else session, event)


def _called(session: GovernedSession, event: SessionEvent) -> GovernedSession:
    if event != "call":
        return session
    return replace(session, counts=replace(session.counts, calls=session.counts.calls + 1))


def _awake(session: GovernedSession, *, revived: bool = False) -> GovernedSession:
    if session.state in ("idle", "interrupted"):
        return replace(session, state="active")
    if session.state == "ended" and revived:
        return replace(session, state="active", ended_ns=0)
    return session


def _anew(session: GovernedSession, now: int, form: SessionsForm) -> GovernedSession:
    """It begins anew. What it was halted for, who its agents are and what they violated stays known."""
    return replace(
        _without_open_work(session, now),
        state="created",
        generation=session.generation + 1,
        began_ns=now,
        counts=SessionCounts(),
        spawned=(),
        steps=(),
        stall=StallCounts(),
        owes="prefix" if form.prefix else "",
    )


def _compacted(session: GovernedSession, form: SessionsForm) -> GovernedSession:
    counts = replace(session.counts, compactions=session.counts.compactions + 1)
    return replace(
        session,
        state=session.state if session.state == "ended" else "compacted",
        generation=session.generation + 1,
        counts=counts,
        owes="reminder" if form.reminder else session.owes,
    )


def _left_alone(session: GovernedSession, now: int) -> SessionWord:
    if session.state == "ended":
        return "ended"
    resume_after = session.resume_after_ns or duration_ns(_DEFAULTS.resume_after)
    return "interrupted" if now - session.active_ns >= resume_after else "idle"


def _ended(session: GovernedSession, now: int) -> GovernedSession:
    if session.state == "ended":
        return session
    return replace(_without_open_work(session, now), state="ended", ended_ns=now, owes="")


def _without_open_work(session: GovernedSession, now: int) -> GovernedSession:
    """Nobody works any more on what was delegated: the agents went with their session."""
    closed = tuple(
        replace(one, state="expired", ended_ns=now) if one.state in ("pending", "working") else one
        for one in session.delegations
    )
    return replace(session, delegations=closed)
