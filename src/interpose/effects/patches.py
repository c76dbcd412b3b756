"""Patch texts: which files they touch, and what text goes in and out of each.

Two families are understood: the envelope that starts with `*** Begin Patch`, and unified diffs, git's included. Reading
is generous: a line that only might name a file does, because a path that nobody judged is worse than one judged twice.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from interpose.effects.late_patterns import late

PatchKind = Literal["write", "edit", "delete"]


class Patched(Struct, frozen=True):
    """One file of a patch: what happens to it, and the text that is added and removed."""

    path: str
    kind: PatchKind
    added: str = ""
    removed: str = ""


_HEADS: tuple[tuple[str, PatchKind], ...] = (
    ("*** Add File:", "write"),
    ("*** Update File:", "edit"),
    ("*** Delete File:", "delete"),
    ("*** Move to:", "write"),
    ("+++ ", "edit"),
    ("--- ", "edit"),
    ("rename from ", "edit"),
    ("rename to ", "write"),
    ("copy from ", "edit"),
    ("copy to ", "write"),
)
_ESCAPE = late(r"\\([0-7]{1,3}|.)")
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def patched(patch: str) -> tuple[Patched, ...]:
    """The files of a patch, in order."""
    found: list[Patched] = []
    named: list[tuple[str, PatchKind]] = []
    added: list[str] = []
    removed: list[str] = []

    def finish() -> None:
        texts = "\n".join(added), "\n".join(removed)
        found.extend(Patched(path, kind, *texts) for path, kind in named)
        named.clear()
        added.clear()
        removed.clear()

    for line in patch.split("\n"):
        head = _head(line)
        if head is not None:
            if added or removed:
                finish()
            named.extend(head)
            if line.startswith("+++ /dev/null"):
                named[:] = [(path, "delete") for path, _ in named]
        elif line[:1] == "+":
            added.append(line[1:])
        elif line[:1] == "-":
            removed.append(line[1:])
    finish()
    return tuple(found)


def _head(line: str) -> list[tuple[str, PatchKind]] | None:
    """The files that a line names, or None. Tools trim such lines, so blanks before them hide nothing."""
    bare = line.strip()
    for head, kind in _HEADS:
        if not bare.startswith(head):
            continue
        path = bare[len(head) :].strip()
        if head[0] == "*":
            return [(path, kind)] if path else None
        path = _unquoted(path.partition("\t")[0].strip())
        if not path or path == "/dev/null":
            return []
        return [(path[2:] if path.startswith(("a/", "b/")) else path, kind)]
    return None


def _unquoted(path: str) -> str:
    """Undo git's quoting of names with unusual characters: `"b/\\303\\251"`."""
    if len(path) < 2 or path[0] != '"' or path[-1] != '"':
        return path

    def plain(match: re.Match[str]) -> str:
        escaped = match.group(1)
        return chr(int(escaped, 8) & 0xFF) if escaped[0] in "01234567" else _LETTERS.get(escaped, escaped)

    return _ESCAPE.sub(plain, path[1:-1]).encode("latin-1", "replace").decode("utf-8", "replace")
