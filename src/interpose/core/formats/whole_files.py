"""Files that are there whole or not at all, and that only their owner reads."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Put a file in the place of what is there. A reader sees the old one or the new one. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def read_bounded(path: Path | str, most: int) -> bytes | None:
    """The beginning of a regular file; None if there is none, or if it is something else. Waits for nothing."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        return os.read(handle, most) if stat.S_ISREG(os.fstat(handle).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(handle)
