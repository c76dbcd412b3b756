"""The rulebooks that hold somewhere: loaded at the start, and followed as their files change.

A file that can't be loaded at the start is an error. One that is broken later is not taken: the last good one holds,
and what is wrong is told.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from time import monotonic

from msgspec import Struct

from interpose.core.errors import GovernanceError, GovernanceProblem, text_of
from interpose.core.late import late_logger
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.files.rulebook import Rulebook, RulebookLevel

log = late_logger("interpose.governance")

LOOK_SECONDS = 0.5

Seen = tuple[int, int, int]


class BookPlace(Struct, frozen=True):
    """Where a rulebook stands, and whose it is."""

    path: str
    level: RulebookLevel


Read = Callable[[BookPlace], str]
"""The text of a rulebook, if it may be believed. Raises GovernanceError or OSError."""


class Rulebooks:
    """Safe for threads. A look costs a `stat` for each file, twice a second at most."""

    def __init__(self, places: tuple[BookPlace, ...], read: Read, clock: Callable[[], float] = monotonic) -> None:
        """Raises GovernanceError if one of them can't be loaded: at the start there is no last good one."""
        self._places, self._read, self._clock = places, read, clock
        self._lock = threading.Lock()
        self._seen: dict[BookPlace, Seen] = {place: _seen(place.path) for place in places}
        self._books = {place: self._load(place) for place in places}
        self._looked = clock()
        self.problem = ""
        """What is wrong with a file that was changed and not taken; empty if nothing is."""

    def current(self) -> tuple[Rulebook, ...]:
        """The rulebooks as they hold now."""
        if self._clock() - self._looked > LOOK_SECONDS:
            self._look()
        return tuple(self._books.values())

    def _look(self) -> None:
        with self._lock:
            self._looked = self._clock()
            for place in self._places:
                now = _seen(place.path)
                if now == self._seen[place] or now == _GONE:
                    # What is gone holds on for those who are under it: an agent may delete a project's file. A user's
                    # own file that is gone makes another engine be asked, which has none.
                    continue
                self._seen[place] = now
                try:
                    self._books = self._books | {place: self._load(place)}
                except GovernanceError as error:
                    self.problem = text_of(error)
                    log.error("not taken, the last good one holds: %s", self.problem)
                else:
                    self.problem = ""
                    log.info("%s loaded", place.path)

    def _load(self, place: BookPlace) -> Rulebook:
        try:
            return load_rulebook(self._read(place), place.path, place.level)
        except OSError as error:
            problem = GovernanceProblem(place.path, 1, f"it can't be read: {error.strerror or error}")
            raise GovernanceError((problem,)) from None


_GONE: Seen = (0, 0, 0)


def _seen(path: str) -> Seen:
    try:
        found = os.stat(path)  # noqa: PTH116 - on the way of calls
    except (OSError, ValueError):
        return _GONE
    return found.st_ino, found.st_size, found.st_mtime_ns
