"""How long statements wait for another process's lock: long at first, hardly at all while it is known to be kept.

A call makes several statements. If each of them waited as long as the first, the call would take most of a minute
before it is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HASTY_SECONDS = 0.1
_PRIMARY = 0xFF
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class LockPatience:
    """Shared by the connections of a store. Threads may race for it: the worst is that one waits longer."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._locked = seconds, False

    @property
    def seconds(self) -> float:
        """How long to wait now."""
        return min(self._seconds, HASTY_SECONDS) if self._locked else self._seconds

    def notice(self, error: BaseException) -> None:
        """Another process keeps the lock, if this error says so."""
        if getattr(error, "sqlite_errorcode", 0) & _PRIMARY in _LOCKED:
            self._locked = True

    @contextmanager
    def statement(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Wait as long as now makes sense for what is executed in here. If it succeeds, the lock is free again."""
        hasty = self._locked
        if hasty:
            connection.execute(f"PRAGMA busy_timeout = {round(self.seconds * 1000)}")
        try:
            yield
            self._locked = False
        except sqlite3.Error as error:
            self.notice(error)
            raise
        finally:
            if hasty:
                with suppress(sqlite3.Error):  # one that is closed waits for nothing any more
                    connection.execute(f"PRAGMA busy_timeout = {round(self._seconds * 1000)}")
