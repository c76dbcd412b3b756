"""What the rules of governance see of a call: who acts under which rulebook, and the session as it stands."""

from __future__ import annotations

from msgspec import Struct

from interpose.core.types import Context
from interpose.rules.governance.files.rulebook import Seat
from interpose.rules.governance.sessions.sessions import GovernedSession


class GovernedView(Struct, frozen=True):
    """A seat in each rulebook that holds, and the session when the call came."""

    seats: tuple[Seat, ...]
    session: GovernedSession
    key: str
    """Under what the session is kept."""
    now_ns: int
    home: str
    """The home of the user that we run as."""

    @property
    def enforced(self) -> bool:
        """Whether any of the rulebooks blocks."""
        return any(seat.mode == "enforce" for seat in self.seats)


class GovernedContext(Context, frozen=True, kw_only=True):
    """A context that the governor has looked into. It is made by us alone: no surface and no caller can give one."""

    view: GovernedView


def governed(context: Context, view: GovernedView) -> GovernedContext:
    """The context with the role that was found. The first rulebook that knows one names it."""
    fields = {name: getattr(context, name) for name in _FIELDS}
    fields["role"] = ""
    for seat in view.seats:
        if seat.role is not None:
            fields["role"] = seat.role.name
            break
    return GovernedContext(**fields, view=view)


_FIELDS = Context.__struct_fields__


def view_of(context: Context) -> GovernedView | None:
    """What the governor left in it; None if it never saw the call."""
    return context.view if type(context) is GovernedContext else None
