"""What a role says about a tool: its lists, the ceilings above it, and what holds for whoever has no role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.core.formats.plain_text import one_line
from interpose.reading.calls import home_directory, reading_of
from interpose.rules.governance.roles.agent_words import subject_of, tools_told
from interpose.rules.governance.roles.identity import host_of
from interpose.rules.governance.roles.role_tools import own_names, tool_list
from interpose.rules.governance.rulings import RULE_PREFIX, Ruling, RulingWord

if TYPE_CHECKING:
    from interpose.core.types import ToolCall
    from interpose.rules.governance.files.rulebook import Role, Rulebook, Seat

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
    lists = role_lists(seat.book, seat.role)
    words = reading_of(call, home).remember(lists, lambda: tuple(lists.words(call, home)))
    return tuple(_ruling(seat, seat.role, call, word) for word in words)


class RoleWord(Struct, frozen=True):
    """What a role says to a tool, whoever has it."""

    said: RulingWord
    evidence: str
    name: str = ""
    rule: str = ROLE_RULE


class RoleLists:
    """A role's lists of tools and those of its ceilings, compiled. What they say depends on the call alone."""

    def __init__(self, book: Rulebook, role: Role) -> None:
        tools = role.tools
        self.role = role
        self._deny, self._ask, self._note = (
            tool_list(book, patterns) for patterns in (tools.deny, tools.ask, tools.note)
        )
        self._allow = None if tools.allow is None else tool_list(book, tools.allow)
        self._ceilings = tuple(
            (tool_list(book, ceiling.deny), place)
            for ceiling, place in zip(role.ceilings, role.ceiling_places, strict=True)
        )

    def words(self, call: ToolCall, home: str) -> Iterator[RoleWord]:
        """What they say to a call."""
        for listed, place in self._ceilings:
            if name := listed.keeps_out(call, home):
                yield RoleWord("deny", f"{place}.deny has {name}", name, CEILING_RULE)
        if (word := self._of_lists(call, home)) is not None:
            yield word

    def _of_lists(self, call: ToolCall, home: str) -> RoleWord | None:
        """INVARIANT: what keeps out goes by all that a call would do, what lets in by what it is called
        (role_tools.py)."""
        role = self.role
        if name := self._deny.keeps_out(call, home):
            return RoleWord("deny", f"{role.place('tools.deny')} has {name}", name)
        if self._allow is not None:
            is_asked = any(map(self._ask.has, own_names(call)))
            if not is_asked and not self._note.lets_in(call, home) and not self._allow.lets_in(call, home):
                return RoleWord("deny", f"{role.place('tools.allow')} has no {_shown(call.name)}")
        if name := self._ask.keeps_out(call, home):
            return RoleWord("ask", f"{role.place('tools.ask')} has {name}", name)
        if name := self._note.keeps_out(call, home):
            return RoleWord("note", f"{role.place('tools.note')} has {name}", name)
        return None


def role_lists(book: Rulebook, role: Role) -> RoleLists:
    """The lists of a role of a rulebook, compiled."""
    found = book.compiled(("role", role.name), lambda: RoleLists(book, role))
    return found if found.role is role else RoleLists(book, role)


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


def _ruling(seat: Seat, role: Role, call: ToolCall, word: RoleWord) -> Ruling:
    return Ruling(
        said=word.said, rule=word.rule, reason=_reason(seat, call, word.said, word.name), evidence=word.evidence,
        instead="" if word.said == "note" else instead_of(seat, role, host_of(call.context.source)),
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
