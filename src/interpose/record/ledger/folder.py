"""Files as the journal needs them. Fault tests put a folder of their own in its place."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from interpose.core.platforms.system import sync_data

_RETIRED = "retired"


class AppendFile:
    """A file that grows at its end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        made = os.fstat(self._handle)
        self._identity = (made.st_ino, made.st_dev)

    def append(self, data: bytes) -> None:
        """Hand all of the data to the operating system."""
        written = os.write(self._handle, data)
        while written < len(data):
            written += os.write(self._handle, data[written:])

    def sync(self) -> None:
        """Come back when the data would survive a power loss."""
        sync_data(self._handle)

    def cut(self, size: int) -> None:
        """Take away what stands behind `size`."""
        os.ftruncate(self._handle, size)

    def tampered(self, size: int, start: bytes, *, torn: bool = False) -> str:
        """What somebody else did to the file; empty if nothing. `torn`: a write of ours may have left more.

        One look at the name, which is done before each write; and one at the beginning, if `start` is given.
        """
        try:
            found = os.stat(self._path)  # noqa: PTH116 - a Path's own costs twice as much
        except FileNotFoundError:
            return "was removed or moved away"
        if (found.st_ino, found.st_dev) != self._identity:
            return "was replaced by another file"
        if found.st_size < size or (found.st_size > size and not torn):
            return f"has {found.st_size} bytes, but {size} were written"
        if not size or not start or (found_start := os.pread(self._handle, len(start), 0)) == start:
            return ""
        if len(found_start) < len(start):  # it was cut since we looked
            return f"has {len(found_start)} bytes, but {size} were written"
        return "was overwritten"

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._handle)


class Folder:
    """A directory of journal files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def create(self, name: str) -> AppendFile:
        """A new file."""
        return AppendFile(self.path / name)

    def sync(self) -> None:
        """Come back when new files would be found again after a power loss."""
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def names(self) -> list[str]:
        """The journal files, in order."""
        return sorted(path.name for path in self.path.glob("*.journal"))

    def every_name(self) -> list[str]:
        """The journal files, and those that were set aside."""
        return sorted(path.name for path in self.path.glob("*.journal*"))

    def read(self, name: str) -> bytes:
        """All of a file."""
        return (self.path / name).read_bytes()

    def remove(self, name: str) -> None:
        """Take a file away."""
        (self.path / name).unlink(missing_ok=True)

    def set_aside(self, name: str) -> None:
        """Rename a file so that it is no journal any more, but kept for whoever looks into it."""
        (self.path / name).rename(self.path / f"{name}.broken")

    def retire(self, why: str) -> None:
        """Nobody goes on with this chain: see `is_retired`."""
        (self.path / _RETIRED).write_text(f"{why}\n", encoding="utf-8")

    @property
    def is_retired(self) -> bool:
        """Whether the chain was damaged and ended. Its entries stay; new ones go to a new chain."""
        return (self.path / _RETIRED).exists()

    def lock(self) -> int | None:
        """A handle that keeps this folder ours until it is closed or we end; None if somebody else has it."""
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle
