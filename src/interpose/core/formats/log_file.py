"""Files of lines that are rotated by size. Lines are appended; nothing is ever read again.

Of several processes that write to one log, each line stays whole, and one of them rotates. Nobody waits for another: a
process that was stopped while it rotates holds up no line.
"""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

from interpose.core.formats.plain_text import one_line


class LogFile:
    """A log of at most `archives` + 1 files: `name`, `name.1` (the newest archive), `name.2`, ..."""

    def __init__(self, path: Path, *, max_bytes: int, archives: int) -> None:
        self._path, self._max_bytes, self._archives = path, max_bytes, archives
        self._lock = threading.Lock()
        self._handle = -1
        self._size = 0

    def write(self, line: str) -> None:
        """Append a line. Raises OSError if that is not possible now."""
        data = one_line(line).encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            self._open_current()
            if self._size and self._size + len(data) > self._max_bytes and self._may_rotate():
                self._rotate()
                self._open_current()
            os.write(self._handle, data)
            self._size += len(data)

    def close(self) -> None:
        """Let go of the file. The next line opens it again."""
        with self._lock:
            self._leave()

    def _open_current(self) -> None:
        """Follow the name: another process may have rotated the file away."""
        if self._handle >= 0:
            ours = os.fstat(self._handle)
            if ours.st_nlink and self._same_file(ours):
                self._size = ours.st_size
                return
            self._leave()
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._handle).st_size

    def _same_file(self, ours: os.stat_result) -> bool:
        try:
            return os.path.samestat(ours, self._path.stat())
        except FileNotFoundError:
            return False

    def _may_rotate(self) -> bool:
        """INVARIANT: whoever moves the file has its lock, and has looked since whether it still has this name. Or two
        processes would rotate at once, and the second would push the last archive out for nothing."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False  # another one rotates just now: our line goes where it still can
        if self._same_file(os.fstat(self._handle)):
            return True
        self._leave()
        self._open_current()
        return False

    def _rotate(self) -> None:
        """Move the files. The handle, and with it the lock, is let go of when the last one has moved."""
        try:
            self._move()
        finally:
            self._leave()

    def _move(self) -> None:
        if not self._archives:
            self._path.unlink(missing_ok=True)
            return
        for number in range(self._archives - 1, 0, -1):
            if (older := self._archive(number)).exists():
                older.replace(self._archive(number + 1))
        if self._path.exists():
            self._path.replace(self._archive(1))

    def _archive(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _leave(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1
