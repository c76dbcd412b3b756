"""What is probably not meant so in a rulebook that can be loaded: notes for people, never errors."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from interpose.core.tools import KNOWN_TOOL_NAMES, TOOL_ALIASES
from interpose.rules.governance.files.rulebook import Role, Rulebook
from interpose.rules.governance.roles.name_patterns import is_glob
from interpose.rules.governance.roles.role_tools import members
from interpose.rules.governance.roles.role_uses import may_use

_KNOWN = (*KNOWN_TOOL_NAMES, *TOOL_ALIASES)
_HOSTS_OWN = frozenset({"taskcreate", "taskget", "tasklist", "taskupdate"})
"""Tools of hosts that do nothing that we name, and look like others of ours."""
_STARTS_PROGRAMS = frozenset({"validation", "build", "runtime", "general"})
_NEAR = 0.75
_SHORTEST = 4


def notes_of(book: Rulebook) -> Iterator[str]:
    """One line for each thing that somebody should look at, once: roles below another one share its lists."""
    yield from dict.fromkeys(_notes(book))


def _notes(book: Rulebook) -> Iterator[str]:
    if book.roles and not book.agents:
        yield f"{book.place('agents')}: no agent has a role, so unknown_role ({book.unknown_role}) holds for all"
    for role in book.roles.values():
        yield from _misspelled(book, role)
        yield from _beyond_ceiling(book, role)
        yield from _unseen_writes(role)


def _misspelled(book: Rulebook, role: Role) -> Iterator[str]:
    """Names that nobody knows, near one that is known: a list that has them would never fit."""
    for key in ("deny", "ask", "note", "allow"):
        for name in members(book.tools, getattr(role.tools, key) or ()):
            if is_glob(name) or name in _KNOWN or name in _HOSTS_OWN or len(name) < _SHORTEST:
                continue
            near = get_close_matches(name, _KNOWN, 1, _NEAR)
            if near and near[0] not in name:  # who wrote more than a known name meant another tool
                yield f"{role.place(f'tools.{key}')}: {name!r} is no tool that is known, did you mean {near[0]!r}?"


def _beyond_ceiling(book: Rulebook, role: Role) -> Iterator[str]:
    """Tools that a role lists by name and never gets."""
    if not any(ceiling.deny for ceiling in role.ceilings):
        return
    for name in members(book.tools, role.tools.allow or ()):
        if not is_glob(name) and not may_use(book, role, name):
            yield f"{role.place('tools.allow')}: {name!r} is denied all the same, by a ceiling or by `deny`"


def _unseen_writes(role: Role) -> Iterator[str]:
    limited = role.write is not None or any(ceiling.write is not None for ceiling in role.ceilings)
    starts = role.commands is None or not _STARTS_PROGRAMS.isdisjoint(role.commands)
    if limited and starts and _may_run(role):
        yield (
            f"{role.place('write')}: programs that {role.name} starts write by themselves, and scopes do not see that; "
            "`commands` says what it may start"
        )


def _may_run(role: Role) -> bool:
    return role.tools.allow is None or any(name.lower() in ("exec", "bash", "*") for name in role.tools.allow)
