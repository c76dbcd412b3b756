"""What is read where nothing was kept yet."""

from __future__ import annotations

import sqlite3

from interpose.record.store.sqlite import SqliteStore


class EmptyStore(SqliteStore):
    """A store to read, with all of its tables and nothing in them. It is in memory: looking makes no file."""

    def __init__(self, path: str) -> None:
        super().__init__(path, read_only=True)

    def revoke(self, id: str) -> bool:  # noqa: ARG002 - there is no grant of any id
        """No grant is here to take back."""
        return False

    def _check_readable(self) -> None:
        """There is nothing to check."""

    def _reader(self) -> sqlite3.Connection:
        with self._pool:
            if self._idle:
                return self._idle.pop()
        connection = self._connect("file::memory:")
        self._migrate(connection)
        return connection
