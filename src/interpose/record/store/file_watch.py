"""Notices that a SQLite file was replaced, removed, cut or overwritten while it is open.

SQLite itself goes on writing to a file that nobody can find any more. A look costs two `stat`; what changed since the
last look is looked at more closely, because checkpoints and vacuums change files, too.

INVARIANT: the database file is never opened and closed here. Closing it would take away SQLite's locks on it, which
belong to the process. Its beginning is read through the handle that SQLite has.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

_MAGIC = b"SQLite format 3\0"
_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")

Seen = tuple[int, int]


class DatabaseWatch:
    """One database that is open for writing."""

    def __init__(self, path: Path, is_readable: Callable[[], str]) -> None:
        """Made when a connection has the file open. `is_readable` reads it anew, and says what is wrong."""
        self._path, self._wal, self._is_readable = str(path), f"{path}-wal", is_readable
        made = path.stat()
        self._identity, self._changed = (made.st_ino, made.st_dev), (made.st_size, made.st_mtime_ns)
        self._handle = _handle_of(self._identity)
        # What was overwritten before may have its first page in the log alone, until a checkpoint puts it back.
        self._begins_well = self._begins_with_magic() is True
        self._wal_identity: Seen | None = None
        self._wal_size = 0

    def is_away(self) -> bool:
        """Whether another file, or none, has the name of the one that is open."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - as below
        except FileNotFoundError:
            return True
        return (found.st_ino, found.st_dev) != self._identity

    def look(self) -> str:
        """What somebody else did; empty if nothing."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - a Path's own costs twice as much
        except FileNotFoundError:
            return f"{self._path} was removed or moved away"
        if (found.st_ino, found.st_dev) != self._identity:
            return f"{self._path} was replaced by another file"
        return self._look_at_wal() or self._look_closer((found.st_size, found.st_mtime_ns))

    def _look_at_wal(self) -> str:
        try:
            found = os.stat(self._wal)  # noqa: PTH116 - as above
        except FileNotFoundError:
            return "" if self._wal_identity is None else f"{self._wal} was removed or moved away"
        identity = (found.st_ino, found.st_dev)
        if self._wal_identity is None:
            self._wal_identity = identity
        elif identity != self._wal_identity:
            return f"{self._wal} was replaced by another file"
        if found.st_size < self._wal_size and (why := self._is_readable()):
            return f"{self._wal} has {found.st_size} bytes, but {self._wal_size} were written: {why}"
        self._wal_size = found.st_size
        if not self._wal_size or (start := _first(self._wal, 4)) in _WAL_MAGIC:
            return ""
        return f"{self._wal} was {'removed or moved away' if start is None else 'overwritten'}"

    def _look_closer(self, changed: Seen) -> str:
        if changed == self._changed:
            return ""
        match self._begins_with_magic():
            case True:
                self._begins_well = True
            case False if self._begins_well:
                return f"{self._path} was overwritten"
            case _:
                pass
        if why := self._is_readable():
            return f"{self._path} was changed by somebody else: {why}"
        self._changed = changed
        return ""

    def _begins_with_magic(self) -> bool | None:
        """None if it can't be told: the handle may be another connection's, and gone by now."""
        if self._handle < 0 or not self._is_ours():
            return None
        try:
            beginning = os.pread(self._handle, len(_MAGIC), 0)
        except OSError:
            return None
        return beginning == _MAGIC if self._is_ours() else None

    def _is_ours(self) -> bool:
        """SQLite may have given its handle back, and another file may have got its number."""
        try:
            found = os.fstat(self._handle)
        except OSError:
            return False
        return (found.st_ino, found.st_dev) == self._identity


def _first(path: str, count: int) -> bytes | None:
    """The beginning of a write-ahead log, on which SQLite has no locks; None if it is gone."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return os.pread(handle, count, 0)
    finally:
        os.close(handle)


def _handle_of(identity: Seen) -> int:
    """A handle of this process on a file; -1 if that can't be found out."""
    try:
        numbers = [int(name) for name in os.listdir("/dev/fd")]  # noqa: PTH208 - names, not paths
    except OSError:
        return -1
    for number in numbers:
        try:
            found = os.fstat(number)
        except OSError:
            continue
        if (found.st_ino, found.st_dev) == identity:
            return number
    return -1
