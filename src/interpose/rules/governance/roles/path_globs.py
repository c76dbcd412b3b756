"""Globs of paths: `**` is any number of directories, `*` and `?` stand for letters of one name, all else for itself.

A path that is compared may be a set of files, too: a shell's `src/*.py`, or a directory with all that is in it
(`src/**`). So there are two questions: whether a glob has all of them, and whether it could have one.
INVARIANT: the time is bounded by the product of the lengths, whatever either holds.
"""

from __future__ import annotations

from functools import lru_cache

from interpose.rules.governance.roles.name_patterns import fits

Parts = tuple[str, ...]

DEEP = "**"
MOST_PARTS = 256
"""No honest path is deeper. A deeper one is in no glob, and could be in each."""

_LONGEST_PART = 512
_WILD = frozenset("*?[({")


def parts_of(path: str) -> Parts:
    """The names of a path or a glob. A `/` at the end of a glob means all that is in the directory."""
    names = tuple(name for name in path.split("/") if name and name != ".")
    return (*names, DEEP) if path.endswith("/") and names and names[-1] != DEEP else names


def covers(glob: Parts, path: Parts, *, is_wild: bool = False) -> bool:
    """Whether each file that the path stands for fits the glob. `is_wild`: names of the path may be patterns."""
    if len(path) > MOST_PARTS:
        return False
    reached = [True] + [False] * len(path)
    for part in glob:
        if part == DEEP:
            for at in range(len(path)):
                reached[at + 1] = reached[at + 1] or reached[at]
        else:
            after = [False] * (len(path) + 1)
            for at, name in enumerate(path):
                after[at + 1] = reached[at] and name != DEEP and _has_all(part, name, is_wild)
            reached = after
        if True not in reached:
            return False
    return reached[-1]


def meets(glob: Parts, path: Parts, *, is_wild: bool = False) -> bool:
    """Whether a file that the path stands for could fit the glob."""
    if len(path) > MOST_PARTS:
        return True
    if not is_wild and DEEP not in path:
        return covers(glob, path)  # it stands for itself alone
    reached = _over_deep([True] + [False] * len(path), path)
    for part in glob:
        after = [False] * (len(path) + 1)
        for at, there in enumerate(reached):
            if not there:
                continue
            if part == DEEP or (at < len(path) and path[at] == DEEP):
                after[at] = True  # one of them takes in what the other has here, or nothing
            if at < len(path) and (DEEP in (part, path[at]) or _has_one(part, path[at], is_wild)):
                after[at + 1] = True
        if part == DEEP:
            for at in range(len(path)):
                after[at + 1] = after[at + 1] or after[at]
        reached = _over_deep(after, path)
        if True not in reached:
            return False
    return reached[-1]


def _over_deep(reached: list[bool], path: Parts) -> list[bool]:
    """A `**` of the path may stand for nothing."""
    for at, name in enumerate(path):
        if name == DEEP and reached[at]:
            reached[at + 1] = True
    return reached


def is_wild_name(name: str) -> bool:
    """Whether a name of a shell's path stands for several."""
    return not _WILD.isdisjoint(name)


def _has_all(part: str, name: str, is_wild: bool) -> bool:
    """Whether a name of a glob has each name that the other stands for."""
    if part == "*" or part == name:
        return True
    if not is_wild or not is_wild_name(name):
        return fits(part, name)
    if "?" in part or any(sign in name for sign in "[({"):
        return False
    # What is wild in the name can only be taken in by a star: no other letter of a glob is one.
    return fits(part, name)


def _has_one(part: str, name: str, is_wild: bool) -> bool:
    """Whether some name fits both."""
    if not is_wild or not is_wild_name(name):
        return fits(part, name)
    if any(sign in name for sign in "[({") or len(name) > _LONGEST_PART:
        return True
    return _cross(part, name)


@lru_cache(maxsize=4096)
def _cross(one: str, other: str) -> bool:
    reached = [True] + [False] * len(other)
    for index, letter in enumerate(other):
        reached[index + 1] = reached[index] and letter == "*"
    for letter in one:
        after = [reached[0] and letter == "*"] + [False] * len(other)
        for index, against in enumerate(other):
            if letter == "*" or against == "*":
                met = after[index] or reached[index + 1]
            else:
                met = reached[index] and (letter == against or letter == "?" or against == "?")
            after[index + 1] = met
        reached = after
    return reached[-1]
