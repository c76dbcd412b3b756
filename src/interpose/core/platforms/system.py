"""What is known of this operating system: what its kernel tells, where it keeps a user's files, when data is safe.

On any other system the calls of Linux are tried. What is missing is then not known, and is denied.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time
from pathlib import Path

from interpose.effects.systems import this_system

_NO_SUCH = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOTTY})
"""What a file system says that can't do it, such as that of another machine."""


def config_directory(home: Path) -> Path:
    """Where a user's configuration is, if no variable says it."""
    return home / this_system().config


def state_directory(home: Path) -> Path:
    """Where a user's data is, if no variable says it."""
    return home / this_system().state


def user_runtime_directory(user: int) -> str:
    """Where the system itself keeps the sockets of a user; empty if it has no such place."""
    form = this_system().runtime
    return form.format(user=user) if form else ""


def steady_ns() -> int:
    """A clock that nobody can set, and that goes on while the machine sleeps where there is such a one."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def sync_data(handle: int) -> None:
    """Come back when the data of an open file would survive a power loss. Raises OSError."""
    if sys.platform == "darwin":
        _sync_fully(handle)
    else:
        os.fdatasync(handle)


def durable_statements() -> tuple[str, ...]:
    """What SQLite is told so that its own commits survive a power loss, besides `synchronous`."""
    return ("PRAGMA fullfsync = ON", "PRAGMA checkpoint_fullfsync = ON") if sys.platform == "darwin" else ()


def _sync_fully(handle: int) -> None:
    """macOS: `fsync` leaves the data in the memory of the disk."""
    try:
        fcntl.fcntl(handle, getattr(fcntl, "F_FULLFSYNC", 51))
    except OSError as error:
        if error.errno not in _NO_SUCH:
            raise
        os.fsync(handle)
