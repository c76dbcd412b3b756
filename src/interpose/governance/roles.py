"""What a role says about a tool: its lists, the ceilings above it, and what holds for whoever has no role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from interpose.formats.plain_text import one_line
from interpose.governance.agent_words import subject_of, tools_told
from interpose.governance.identity import host_of
from interpose.governance.role_tools import is_let_in, kept_out, tool_fits
from interpose.governance.rulings import RULE_PREFIX, Ruling, RulingWord
from interpose.reading import home_directory

if TYPE_CHECKING:
    from interpose.governance.rulebook import Role, Seat
    from interpose.types import ToolCall

ROLE_RULE = f"{RULE_PREFIX}role"
CEILING_RULE = f"{RULE_PREFIX}ceiling"
UNKNOWN_RULE = f"{RULE_PREFIX}unknown-role"

_LONGEST_NAME = 100
_MOST_NAMED = 8


def role_rulings(seat: Seat, call: ToolCall, home: str = "") -> tuple[Ruling, ...]:
    """What the lists of tools say about a call. A file without roles says nothing."""
    if not seat.book.roles:
        return ()
    if seat.role is None:
        return tuple(_of_nobody(seat))
    home = home or home_directory()
    return tuple(
        ruling for ruling in (*_of_ceilings(seat, seat.role, call, home), _of_lists(seat, call, home)) if ruling
    )


def _of_nobody(seat: Seat) -> Iterator[Ruling]:
    said = seat.book.unknown_role
    if said == "allow":
        return
    who = f"The agent {_shown(seat.name)}" if seat.name else "This agent"
    yield Ruling(
        said=said, rule=UNKNOWN_RULE, reason=f"{who} has no role here",
        instead="An operator gives it one, under `agents` in governance.yaml" if said != "note" else "",
        evidence=f"{seat.book.place('unknown_role')} is {said}, and no entry of agents fits",
        watch=seat.mode == "watch",
    )  # fmt: skip


def _of_ceilings(seat: Seat, role: Role, call: ToolCall, home: str) -> Iterator[Ruling]:
    for ceiling, place in zip(role.ceilings, role.ceiling_places, strict=True):
        if name := kept_out(seat.book, ceiling.deny, call, home):
            yield _ruling(seat, role, call, "deny", f"{place}.deny has {name}", name, CEILING_RULE)


def _of_lists(seat: Seat, call: ToolCall, home: str) -> Ruling | None:
    """INVARIANT: what keeps out goes by all that a call would do, what lets in by what it is called (role_tools.py)."""
    role = seat.role
    assert role is not None  # noqa: S101 - for the type checker: the caller asked
    book, tools = seat.book, role.tools
    if name := kept_out(book, tools.deny, call, home):
        return _ruling(seat, role, call, "deny", f"{role.place('tools.deny')} has {name}", name)
    is_asked = tool_fits(book, tools.ask, call)
    is_noted = is_let_in(book, tools.note, call, home)
    if not is_asked and not is_noted and tools.allow is not None and not is_let_in(book, tools.allow, call, home):
        return _ruling(seat, role, call, "deny", f"{role.place('tools.allow')} has no {_shown(call.name)}")
    if name := kept_out(book, tools.ask, call, home):
        return _ruling(seat, role, call, "ask", f"{role.place('tools.ask')} has {name}", name)
    if name := kept_out(book, tools.note, call, home):
        return _ruling(seat, role, call, "note", f"{role.place('tools.note')} has {name}", name)
    return None


def _ruling(
    seat: Seat, role: Role, call: ToolCall, said: RulingWord, evidence: str, name: str = "", rule: str = ROLE_RULE
) -> Ruling:
    return Ruling(
        said=said, rule=rule, reason=_reason(seat, call, said, name), evidence=evidence,
        instead="" if said == "note" else instead_of(seat, role, host_of(call.context.source)),
        watch=seat.mode == "watch",
    )  # fmt: skip


def _reason(seat: Seat, call: ToolCall, said: RulingWord, name: str) -> str:
    tool = _shown(call.original_name or call.name)
    same = f", and {tool} does the same" if name and name not in (call.name, tool.lower()) else ""
    named = name if same else tool
    who = subject_of(seat)
    match said:
        case "deny":
            return f"{who} may not use {named}{same}"
        case "ask":
            return f"{who} asks before it uses {named}{same}"
        case "note":
            return f"{who} uses {named}{same}"


def instead_of(seat: Seat, role: Role, host: str) -> str:
    """What an agent of this role is told to do instead of what it may not."""
    if role.instead:
        return role.instead
    allowed = tools_told(seat.book, role.tools.allow or (), host)
    if not allowed:
        return ""
    more = " ..." if len(allowed) > _MOST_NAMED else ""
    return f"Use what it has: {', '.join(allowed[:_MOST_NAMED])}{more}"


def _shown(name: str) -> str:
    return one_line(name[:_LONGEST_NAME])
