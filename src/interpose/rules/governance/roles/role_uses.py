"""Which tools a role may use, asked by name: for checking a file, and for telling people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from interpose.core.carried_calls import canonical
from interpose.core.types import ToolCall
from interpose.rules.governance.files.rulebook import Role, Rulebook, Seat
from interpose.rules.governance.roles.name_patterns import is_glob
from interpose.rules.governance.roles.role_tools import members
from interpose.rules.governance.roles.roles import role_rulings


def may_use(book: Rulebook, role: Role, tool: str) -> bool:
    """Whether a role may use a tool, by its name alone. A question counts as a yes: a person can answer it."""
    call = ToolCall(tool, original_name=tool) if is_carrier(tool) else canonical(ToolCall(tool))
    return all(ruling.said != "deny" for ruling in role_rulings(Seat(book=book, role=role), call))


def tools_of_role(books: Iterable[Rulebook], name: str) -> tuple[str, ...]:
    """The tools that a role may use under all rulebooks that have it, as names and globs; `*` is every tool."""
    known = [(book, book.roles[name]) for book in books if name in book.roles]
    listed = [_listed(book, role) for book, role in known]

    def is_usable(tool: str) -> bool:
        if is_glob(tool):
            return all(tool in names or "*" in names for names in listed)
        return all(may_use(book, role, tool) for book, role in known)

    return tuple(dict.fromkeys(tool for names in listed for tool in names if is_usable(tool)))


def _listed(book: Rulebook, role: Role) -> tuple[str, ...]:
    if role.tools.allow is None:
        return ("*",)
    return tuple(members(book.tools, (*role.tools.allow, *role.tools.ask, *role.tools.note)))


def first_tools_of_role(books: Iterable[Rulebook], name: str) -> tuple[str, ...]:
    """The tools of which a role has to use one first, those of all rulebooks that have it; empty if there are none."""
    forms = [(book, book.roles[name].first_tools) for book in books if name in book.roles]
    wanted = [
        tool for book, form in forms if form is not None and form.mode != "off"
        for tool in members(book.tools, form.any_of)
    ]  # fmt: skip
    return tuple(dict.fromkeys(wanted))


def is_carrier(tool: str) -> bool:
    """Whether a tool only carries calls of others: by its name alone nothing can be said about those."""
    from interpose.core.carried_calls import is_wrapper

    return is_wrapper(tool)


def unusable_first_tools(book: Rulebook) -> Iterator[tuple[str, str]]:
    """Roles whose first tools they may not use: such an agent could do nothing at all."""
    for role in book.roles.values():
        first = role.first_tools
        if first is None or first.mode == "off":
            continue
        named = [tool for tool in members(book.tools, first.any_of) if not is_glob(tool)]
        barred = [tool for tool in named if not may_use(book, role, tool)]
        said_here = role.place("first_tools").endswith(f"roles.{role.name}.first_tools")
        if barred and (said_here or len(barred) == len(named)):
            yield role.name, f"its first tool {barred[0]!r} is one that it may not use"
