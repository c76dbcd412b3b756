"""Groups of tools that a file names itself, each opened to its last member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from interpose.core.tools import KNOWN_TOOL_NAMES, TOOL_ALIASES, TOOL_GROUPS
from interpose.rules.governance.files.file_model import Patterns
from interpose.rules.governance.files.form_reading import FormProblem, unknown
from interpose.rules.governance.roles.role_tools import GROUP, canonical_pattern

_KNOWN = frozenset((*KNOWN_TOOL_NAMES, *TOOL_ALIASES))
_MOST_MEMBERS = 5_000


def opened_groups(groups: Mapping[str, Patterns]) -> dict[str, Patterns]:
    """Each group with its members, those of groups in it included."""
    return {name: tuple(dict.fromkeys(_opened(name, groups))) for name in groups}


def _opened(name: str, groups: Mapping[str, Patterns]) -> Iterator[str]:
    for member in _members(name, groups):
        if not own_group(member, groups):
            known = member.strip().lower()
            yield from TOOL_GROUPS.get(known) or (canonical_pattern(member),)


def own_group(pattern: str, groups: Mapping[str, Patterns]) -> str:
    """The group of the file that a pattern names; empty if it names none."""
    name = pattern.strip().removeprefix(GROUP)
    return name if name in groups else ""


def group_problems(groups: Mapping[str, Patterns]) -> Iterator[FormProblem]:
    """What is wrong with the groups of a file."""
    for name, listed in groups.items():
        at = ("tools", name)
        if name.lower() in _KNOWN or name.startswith(GROUP):
            yield at, f"{name!r} is the name of a tool, a group needs another"
        for index, member in enumerate(listed):
            yield from (((*at, index), why) for why in wrong_group(member, groups))
    for name in groups:
        if name in _members(name, groups):
            yield ("tools", name), f"the group {name!r} is in itself"
            return
    if sum(len(_members(name, groups)) for name in groups) > _MOST_MEMBERS:
        yield ("tools",), f"all groups together have more than {_MOST_MEMBERS} members"


def wrong_group(pattern: str, groups: Mapping[str, Patterns]) -> Iterator[str]:
    """Why a pattern of a list can't be meant: it names a group that nobody knows."""
    plain = pattern.strip()
    if plain.lower().startswith(GROUP) and plain.lower() not in TOOL_GROUPS and not own_group(plain, groups):
        known = (*TOOL_GROUPS, *(f"{GROUP}{name}" for name in groups))
        yield unknown("group", plain, known)


def _members(name: str, groups: Mapping[str, Patterns]) -> dict[str, None]:
    """All names in a group and in the groups in it, each once: circles end, and nothing is opened twice."""
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        for member in groups[waiting.pop()]:
            inner = own_group(member, groups)
            if (inner or member) not in found:
                found[inner or member] = None
                if inner:
                    waiting.append(inner)
    return found
