"""Lists of paths that mean something, and a fast way to look a path up in them.

A list is written as short patterns:

    `.netrc`               a name, in any directory
    `.docker/config.json`  a name below a directory of that name
    `.ssh/`                a directory: itself and all that is in it
    `/etc/shadow`          an absolute path (`/etc/cron.d/`: an absolute directory)
    `*.pem`                a file extension

Patterns are separated by blanks; a blank inside one is written `%20`.

A path word can hold wildcards or unknown parts; it is found if it could name a listed path, provided that it says
enough: `id_*` could be a key, a lone `*` could be anything and says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from interpose.effects.paths.resolve import UNKNOWN

Strength = Literal["key", "soft", "faint"]
"""`key`: surely of that sort. `soft`: of that sort often enough to mention, but honest work touches it too. `faint`:
worth a note, no more."""

_LONGEST_NAME = 255


class Mark(Struct, frozen=True):
    """Why a path is special, in plain words, and how surely."""

    reason: str
    strength: Strength = "key"
    ours: bool = False
    """Whether it is this product that the path belongs to."""
    private: bool = False
    """Whether reading it gives power over the guard: tokens, keys, the ledger, sockets."""

    def __str__(self) -> str:
        return self.reason


class _Entry(Struct, frozen=True):
    parts: tuple[str, ...]
    anchored: bool
    mark: Mark


class Catalogue:
    """Patterns with their marks, indexed by last name, by directory and by extension. Built once, then only read."""

    __slots__ = ("_directories", "_extensions", "_names")

    def __init__(self, marks: Mapping[Mark, str]) -> None:
        self._names: dict[str, list[_Entry]] = {}
        self._directories: dict[str, list[_Entry]] = {}
        self._extensions: dict[str, Mark] = {}
        for mark, patterns in marks.items():
            for pattern in patterns.split():
                self._add(pattern.replace("%20", " "), mark)

    def _add(self, pattern: str, mark: Mark) -> None:
        if pattern.startswith("*."):
            self._extensions.setdefault(pattern[2:], mark)
            return
        entry = _Entry(tuple(pattern.strip("/").split("/")), pattern.startswith("/"), mark)
        index = self._directories if pattern.endswith("/") else self._names
        index.setdefault(entry.parts[-1], []).append(entry)

    def find(self, parts: list[str]) -> Mark | None:
        """The mark of the path with these lower-case parts (of an absolute path, so the first one is empty)."""
        name = parts[-1]
        found = None
        for entry in self._names.get(name, ()):
            if _ends_with(parts, len(parts), entry):
                found = entry.mark
                break
        if not self._directories.keys().isdisjoint(parts):
            for index, part in enumerate(parts):
                for entry in self._directories.get(part, ()):
                    if _ends_with(parts, index + 1, entry):
                        found = stronger(found, entry.mark)
        if found is None and "." in name[1:]:
            return self._extensions.get(name.rpartition(".")[2])
        return found

    def find_wild(self, parts: list[str]) -> Mark | None:
        """Like `find`, for a path that holds wildcards or unknown parts."""
        for alternative in parts[-1].rpartition("(")[2].rstrip(")]}").split("|"):
            found = self.find([*parts[:-1], alternative])
            if found:
                return found
        for index, part in enumerate(parts):
            if not says_enough(part):
                continue
            for entries in self._directories.values():
                for entry in entries:
                    if could_match(part, entry.parts[-1]) and _ends_with(parts, index + 1, entry):
                        return entry.mark
        name = parts[-1]
        if says_enough(name):
            for entries in self._names.values():
                for entry in entries:
                    if could_match(name, entry.parts[-1]) and _ends_with(parts, len(parts), entry):
                        return entry.mark
        return None

    def find_beside(self, parts: list[str]) -> Mark | None:
        """What a last part with wildcards could stand for in a directory that is named: `.claude/*.json`.

        A pattern of one part has no directory that says what is meant: `*.json` is no `opencode.json`.
        """
        name = parts[-1]
        if not is_wild(name) or len(parts) < 2:
            return None
        for index in (self._names, self._directories):
            for last, entries in index.items():
                for entry in entries:
                    if (
                        len(entry.parts) > 1
                        and parts[-2] == entry.parts[-2]
                        and (last[0] != "." or name[0] in (".", "[", UNKNOWN))
                        and could_match(name, last)
                        and _ends_with(parts, len(parts), entry)
                    ):
                        return entry.mark
        return None


def stronger(one: Mark | None, other: Mark | None) -> Mark | None:
    """The mark that says more; the first one when they say as much."""
    if one is None or (other is not None and one.strength != "key" and other.strength == "key"):
        return other
    return one


def _ends_with(parts: list[str], end: int, entry: _Entry) -> bool:
    """Whether `parts[:end]`, whose last part is known to fit, ends with the entry (or is it, if it is anchored)."""
    wanted = entry.parts
    start = end - len(wanted)
    if start < 0 or (entry.anchored and start != 1):
        return False
    for index in range(len(wanted) - 1):
        part, want = parts[start + index], wanted[index]
        if part != want and want != "*" and not (is_wild(part) and says_enough(part) and could_match(part, want)):
            return False
    return True


def is_wild(text: str) -> bool:
    """Whether `text` holds wildcards or unknown parts."""
    return "*" in text or "?" in text or "[" in text or UNKNOWN in text or "(" in text


def says_enough(part: str) -> bool:
    """Whether a part with wildcards still says what is meant: a leading dot, or two letters before the extension."""
    if not is_wild(part):
        return False
    if part[0] == ".":
        return True
    stem, dot, extension = part.rpartition(".")
    if not dot or is_wild(extension):
        stem = part
    return sum(1 for character in stem if character.isalnum()) >= 2


def could_match(pattern: str, name: str) -> bool:
    """Whether the shell pattern could match `name`. A bracket counts as any character; unknown parts as `*`."""
    return len(pattern) > _LONGEST_NAME or _tried(pattern, name)


@lru_cache(maxsize=8_192)
def _tried(pattern: str, name: str) -> bool:
    pattern = _simplify(pattern)
    at = mark = index = 0
    star = -1
    while index < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, mark = at, index
            at += 1
        elif at < len(pattern) and (pattern[at] == "?" or pattern[at] == name[index]):
            at += 1
            index += 1
        elif star >= 0:
            mark += 1
            at, index = star + 1, mark
        else:
            return False
    return pattern[at:].strip("*") == ""


def _simplify(pattern: str) -> str:
    pattern = pattern.replace(UNKNOWN, "*")
    if "[" not in pattern:
        return pattern
    pieces: list[str] = []
    index = 0
    while index < len(pattern):
        close = pattern.find("]", index + 2) if pattern[index] == "[" else -1
        pieces.append("?" if close > 0 else pattern[index])
        index = close + 1 if close > 0 else index + 1
    return "".join(pieces)
