"""What agents are told in words of their own host: its names of tools and agents, and files by their globs.

INVARIANT: names of groups, roles and scopes are those of the operator's file. An agent can do nothing with them: they
stand in the evidence alone, beside the line of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from interpose.core.formats.plain_text import one_line
from interpose.core.tools import KNOWN_TOOL_NAMES
from interpose.rules.governance.files.file_model import Patterns
from interpose.rules.governance.files.rulebook import Rulebook, Seat
from interpose.rules.governance.roles.host_tools import HOST_TOOLS, host_names, host_spelling
from interpose.rules.governance.roles.name_patterns import fits, fits_any
from interpose.rules.governance.roles.role_tools import canonical_pattern, members

_KNOWN = frozenset(KNOWN_TOOL_NAMES)
_MOST_NAMED = 24
_LONGEST = 100
_CATEGORIES = {
    "inspection": "commands that only look", "validation": "tests and linters", "build": "builds", "git": "git",
    "runtime": "programs", "filesystem": "commands that change files", "network": "commands that use the network",
    "general": "any other program",
}  # fmt: skip


def subject_of(seat: Seat) -> str:
    """Who acts, at the beginning of a sentence."""
    if seat.called:
        return seat.called
    return f"The agent {one_line(seat.name)[:_LONGEST]}" if seat.name else "This agent"


def tools_told(book: Rulebook, patterns: Patterns, host: str) -> tuple[str, ...]:
    """The tools of a list as a host calls them. Where it has none of them, they are called as the list does."""
    known = host if host in HOST_TOOLS else ""  # hosts that are not listed are all told the same
    return book.compiled(("told", patterns, known), lambda: _tools_told(book, patterns, known))


def _tools_told(book: Rulebook, patterns: Patterns, host: str) -> tuple[str, ...]:
    own: dict[str, None] = {}
    others: dict[str, None] = {}
    for pattern in patterns:
        for name in members(book.tools, (pattern,)):
            spelled = pattern.strip() if canonical_pattern(pattern) == name else book.spelled.get(name, name)
            if name not in _KNOWN:
                own[host_spelling(spelled, host)] = None
            elif names := host_names(name, host):
                own |= dict.fromkeys(names)
            else:
                others[name] = None
    return tuple(own or others)


def agents_told(book: Rulebook, roles: Iterable[str], host: str) -> tuple[str, ...]:
    """The agents of a host that have one of these roles, as the host calls them."""
    wanted = tuple(roles)
    return tuple(
        dict.fromkeys(
            form.agent
            for form in book.agents
            if form.agent is not None
            and form.sub_agent is not False
            and (form.host is None or fits(form.host, host))
            and fits_any(wanted, form.role)
        )
    )


def files_told(book: Rulebook, scopes: Iterable[str]) -> tuple[str, ...]:
    """The files of scopes, by their globs."""
    return tuple(dict.fromkeys(text for name in scopes for text in _globs(book, name)))


def _globs(book: Rulebook, name: str) -> Iterator[str]:
    scope = book.scopes.get(name)
    if scope is None:
        return
    outside = [*scope.outside, *(path for other in scope.others if other in book.scopes
                                 for path in book.scopes[other].paths)]  # fmt: skip
    inside = ", ".join(scope.paths)
    yield f"{inside} (but not {', '.join(outside)})" if outside else inside


def commands_told(patterns: Iterable[str]) -> tuple[str, ...]:
    """Commands by their words, and categories in ours."""
    return tuple(dict.fromkeys(_CATEGORIES.get(one, f"`{one}`") for one in patterns))


def listed(names: Iterable[str]) -> str:
    """Names in a line, the first ones."""
    names = tuple(names)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(one_line(name) for name in names[:_MOST_NAMED]) + more
