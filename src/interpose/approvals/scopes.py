"""For how much a yes counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct

from interpose.errors import ScopeError

MAX_USES = 1_000_000
UNLIMITED = 1 << 62
"""Uses of a grant that ends by time alone."""

UNUSED_LASTS = timedelta(hours=1)
SESSION_LASTS = timedelta(hours=24)
LONGEST = timedelta(days=31)

ScopeKind = Literal["once", "uses", "session", "until"]


class Scope(Struct, frozen=True, omit_defaults=True):
    """`once` and `uses` count the calls, `session` and `until` end by time. `until` holds in other sessions too."""

    kind: ScopeKind
    uses: Annotated[int, Meta(ge=1, le=MAX_USES)] = 1
    until: Annotated[datetime, Meta(tz=True)] | None = None

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


ONCE = Scope("once")
SESSION = Scope("session")


def scope(kind: ScopeKind, *, uses: int | None = None, until: datetime | None = None) -> Scope:
    """A scope whose parts fit together. ScopeError if they don't."""
    if (kind == "uses") != (uses is not None):
        raise ScopeError("scope 'uses' needs a number of uses" if uses is None else f"scope {kind!r} takes no uses")
    if (kind == "until") != (until is not None):
        raise ScopeError("scope 'until' needs a time" if until is None else f"scope {kind!r} takes no time")
    if uses is not None and not 1 <= uses <= MAX_USES:
        raise ScopeError(f"uses must be between 1 and {MAX_USES}, not {uses}")
    if until is not None and until.tzinfo is None:
        raise ScopeError("the time needs a time zone, such as 2026-01-31T18:00:00Z")
    try:
        return Scope(kind, uses or 1, until.astimezone(UTC) if until else None)
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
            if chosen.until is None or chosen.until <= now:
                raise ScopeError("the time is over already")
            if chosen.until > now + LONGEST:
                raise ScopeError(f"a grant holds for {LONGEST.days} days at most")
            return chosen.until
