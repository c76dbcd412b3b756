"""What rulebooks say to a role that would make a call, for those who only ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from interpose.core.types import Outcome, ToolCall
from interpose.reading.calls import home_directory
from interpose.rules.governance.commands.command_categories import command_rulings
from interpose.rules.governance.files.rulebook import Rulebook, Seat
from interpose.rules.governance.roles.roles import role_rulings
from interpose.rules.governance.roles.scopes import scope_rulings
from interpose.rules.governance.rulings import Ruling


def rulings_for_role(books: Iterable[Rulebook], role: str, call: ToolCall) -> tuple[Ruling, ...]:
    """What all rulebooks that have the role say. A tool alone is asked about by its name: which file it would write is
    not known."""
    return tuple(ruling for book in books if role in book.roles for ruling in _rulings(book, role, call))


def _rulings(book: Rulebook, role: str, call: ToolCall) -> Iterator[Ruling]:
    seat, home = Seat(book=book, role=book.roles[role], called=f"The role {role}"), home_directory()
    yield from role_rulings(seat, call, home)
    if call.arguments:
        yield from scope_rulings(seat, call, home)
        yield from command_rulings(seat, call, home)


def decision_of(rulings: Iterable[Ruling]) -> Outcome:
    """The strictest word. What is only watched blocks nothing."""
    said = {ruling.said for ruling in rulings if not ruling.watch}
    return "deny" if "deny" in said else "ask" if "ask" in said else "allow"
