"""Whether nobody but us and root could have written, or read, what we are about to believe. As ssh does it."""

from __future__ import annotations

import os
import stat
from os import PathLike


def why_not_ours(path: str | PathLike[str], found: os.stat_result, *, private: bool = False) -> str:
    """What is wrong with the owner or the mode of a file or directory, and what to do; empty if nothing is.

    With `private`, others must not read it either.
    """
    if found.st_uid not in (os.geteuid(), 0):
        return f"it belongs to another user (uid {found.st_uid}); run: chown {os.geteuid()} {os.fspath(path)}"
    wrong = found.st_mode & (0o077 if private else 0o022)
    if not wrong or (stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX and not private):
        return ""
    mode, others = stat.S_IMODE(found.st_mode), "can reach" if private else "can write"
    return f"others {others} it (mode {mode:04o}); run: chmod {'go-rwx' if private else 'go-w'} {os.fspath(path)}"


def cannot_be_written(path: str | PathLike[str]) -> bool:
    """Whether the file system is read-only, as that of mounted configuration is: its modes say nothing."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
