"""When a host last worked, by what it leaves in its own directories."""

from __future__ import annotations

import os
from collections.abc import Mapping
from heapq import heappop, heappush
from pathlib import Path

from interpose.core.config.places import places_of
from interpose.effects.agents.agent import HostSetup

_DEPTH = 4
"""Codex has a directory for each day, below its month and its year."""
_ENTRIES = 2000
"""Files and directories that are looked at, at most."""


def last_trace(setup: HostSetup, environ: Mapping[str, str] = os.environ) -> int:
    """The newest change in the host's directories, in nanoseconds; 0 if there is none."""
    left = _ENTRIES
    newest = 0
    places = [(0, str(_placed(trace, setup, environ)), _DEPTH) for trace in setup.traces]
    while places and left > 0:
        _, place, depth = heappop(places)  # what changed last comes first, so that old work uses nothing up
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    left -= 1
                    changed = entry.stat(follow_symlinks=False).st_mtime_ns
                    newest = max(newest, changed)
                    if depth > 1 and entry.is_dir(follow_symlinks=False):
                        heappush(places, (-changed, entry.path, depth - 1))
        except OSError:
            continue
    return newest


def _placed(trace: str, setup: HostSetup, environ: Mapping[str, str]) -> Path:
    file = next(file for file in setup.files if file.scope == "user")
    moved = environ.get(file.moved_by, "") if file.moved_by else ""
    if moved.startswith("/") and trace.startswith(file.root + "/"):
        return Path(moved + trace.removeprefix(file.root))
    return places_of(environ).home / trace.removeprefix("~/")
