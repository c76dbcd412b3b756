"""Opening the file that was judged, and not one that was put in its place since."""

from __future__ import annotations

import os

_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def open_resolved(path: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
    """Open an absolute path that holds no links, and return the file descriptor.

    Each part is opened from the one before it and none may be a link, so a link that somebody put on the way after the
    path was judged makes this fail (`OSError`, ELOOP or ENOTDIR) instead of leading elsewhere. POSIX only.
    """
    parts = path.split("/")
    if path[:1] != "/" or not parts[-1] or any(part in ("", ".", "..") for part in parts[1:]):
        raise ValueError(f"{path!r} is not a resolved path: give the last spelling of a lookup")
    at = os.open("/", _DIRECTORY)
    try:
        for part in parts[1:-1]:
            below = os.open(part, _DIRECTORY, dir_fd=at)
            os.close(at)
            at = below
        return os.open(parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=at)
    finally:
        os.close(at)
