"""For how much a yes counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct

from interpose.core.errors import ScopeError

MAX_USES = 1_000_000
UNLIMITED = 1 << 62
"""Uses of a grant that ends by time alone."""

UNUSED_LASTS = timedelta(hours=1)
SESSION_LASTS = timedelta(hours=24)
LONGEST = timedelta(days=31)

KIND_USES, MOST_KIND_USES = 20, 1000
KIND_LASTS, LONGEST_KIND = timedelta(minutes=10), timedelta(hours=24)
"""A grant for a kind of call: how often and how long it counts if nobody says otherwise, and at most."""
LONGEST_PAUSE = timedelta(hours=8)

ScopeKind = Literal["once", "uses", "session", "until", "kind"]
Sessions = Literal["this", "all"]


class Scope(Struct, frozen=True, omit_defaults=True):
    """`once` and `uses` count the calls, `session` and `until` end by time. `until` holds in other sessions too.

    `kind` is for calls that are alike: it counts them, and ends by time. A `pause` is no answer to a question.
    """

    kind: ScopeKind | Literal["pause"]
    uses: Annotated[int, Meta(ge=1, le=MAX_USES)] = 1
    until: Annotated[datetime, Meta(tz=True)] | None = None
    sessions: Sessions = "this"
    """For which sessions a `kind` counts."""

    def text(self) -> str:
        """In words."""
        match self.kind:
            case "once":
                return "once"
            case "uses":
                return f"{self.uses} times"
            case "session":
                return "for this session"
            case "until":
                return f"until {self.until:%Y-%m-%d %H:%M} UTC"
            case "kind":
                where = "" if self.sessions == "this" else ", in any session"
                return f"for this kind of call, {self.uses} times, until {self.until:%Y-%m-%d %H:%M} UTC{where}"
            case "pause":
                return f"a pause until {self.until:%Y-%m-%d %H:%M} UTC"


ONCE = Scope("once")
SESSION = Scope("session")


def scope(
    kind: ScopeKind, *, uses: int | None = None, until: datetime | None = None, sessions: Sessions = "this"
) -> Scope:
    """A scope whose parts fit together. ScopeError if they don't."""
    if sessions != "this" and kind != "kind":
        raise ScopeError(f"scope {kind!r} says by itself for which sessions it counts")
    if kind == "kind":
        return _of_kind(uses, until, sessions)
    if (kind == "uses") != (uses is not None):
        raise ScopeError("scope 'uses' needs a number of uses" if uses is None else f"scope {kind!r} takes no uses")
    if (kind == "until") != (until is not None):
        raise ScopeError("scope 'until' needs a time" if until is None else f"scope {kind!r} takes no time")
    if uses is not None and not 1 <= uses <= MAX_USES:
        raise ScopeError(f"uses must be between 1 and {MAX_USES}, not {uses}")
    return Scope(kind, uses or 1, in_utc(until))


def _of_kind(uses: int | None, until: datetime | None, sessions: Sessions) -> Scope:
    if uses is not None and not 1 <= uses <= MOST_KIND_USES:
        raise ScopeError(f"a kind of call is granted {MOST_KIND_USES} times at most, not {uses}")
    return Scope("kind", uses or KIND_USES, in_utc(until), sessions)


def in_utc(moment: datetime | None) -> datetime | None:
    """A moment that says in which zone it is meant. ScopeError if it doesn't, or lies beyond the calendar."""
    if moment is not None and moment.tzinfo is None:
        raise ScopeError("the time needs a time zone, such as 2026-01-31T18:00:00Z")
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError:
        raise ScopeError("the time lies beyond the calendar") from None


def end_of(chosen: Scope, session: str, now: datetime) -> datetime:
    """When a grant of this scope ends. ScopeError if it would hold for nothing, or for too long."""
    match chosen.kind:
        case "once":
            return now + UNUSED_LASTS
        case "uses":
            return now + SESSION_LASTS
        case "session":
            if not session:
                raise ScopeError("the call names no session: approve it once, N times, or until a time")
            return now + SESSION_LASTS
        case "until":
            return _within(chosen.until, now, LONGEST, f"a grant holds for {LONGEST.days} days at most")
        case "kind":
            return _within(chosen.until or now + KIND_LASTS, now, LONGEST_KIND, "a kind of call is granted for a day")
        case "pause":
            return _within(chosen.until, now, LONGEST_PAUSE, "a pause lasts 8 hours at most")


def _within(until: datetime | None, now: datetime, longest: timedelta, too_long: str) -> datetime:
    if until is None or until <= now:
        raise ScopeError("the time is over already")
    if until > now + longest:
        raise ScopeError(too_long)
    return until
