"""The directory that globs are relative to: the nearest at or above where an agent works with .git or .interpose."""

from __future__ import annotations

import os
from collections.abc import Iterator

from interpose.effects.paths import project_of

MARKERS = (".git", ".interpose")

_DEEPEST = 64
_LONGEST = 4096


if os.access in os.supports_follow_symlinks:  # it makes no exception of what is not there: most markers are not

    def _is_there(path: str) -> bool:
        return os.access(path, os.F_OK, follow_symlinks=False)

else:
    _is_there = os.path.lexists


def project_root(cwd: str, home: str) -> str:
    """The project's directory, or `cwd` itself where nothing marks one. A home or /tmp is nobody's project."""
    return next(marked_above(cwd, home), cwd)


def marked_above(cwd: str, home: str) -> Iterator[str]:
    """Every directory at or above `cwd` that is marked as a project, the nearest first."""
    if not cwd.startswith("/") or "\0" in cwd or len(cwd) > _LONGEST:
        return
    at = os.path.normpath(cwd)
    for _ in range(_DEEPEST):
        if project_of(at, home) and (_is_there(f"{at}/{MARKERS[0]}") or _is_there(f"{at}/{MARKERS[1]}")):
            yield at
        if at in ("/", "//"):
            return
        at = at.rpartition("/")[0] or "/"
