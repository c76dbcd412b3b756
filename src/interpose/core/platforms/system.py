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

from msgspec import Struct

_NO_SUCH = frozenset({errno.EINVAL, errno.ENOTSUP, errno.ENOTTY})
"""What a file system says that can't do it, such as that of another machine."""


class System(Struct, frozen=True, kw_only=True):
    """One operating system. `config` and `state` are below a home."""

    title: str
    config: str
    state: str
    runtime: str
    home_of_root: str
    terminals_prove: bool
    """Whether a terminal of one's own proves a person: no other program of the same user can type into it, and the
    kernel tells what opened it."""
    longest_socket: int
    """How many bytes the path of a Unix socket may have."""
    ignores_case: bool
    has_screen: bool
    """Whether a person's desktop is there without a variable that says so."""
    managed_settings: bool
    """Whether it is known where agents read an administrator's settings."""


LINUX = System(
    title="Linux", config=".config", state=".local/state", runtime="/run/user/{user}", home_of_root="/root",
    terminals_prove=True, longest_socket=107, ignores_case=False, has_screen=False,
    managed_settings=True,
)  # fmt: skip
MACOS = System(
    title="macOS", config="Library/Preferences", state="Library/Application Support", runtime="",
    home_of_root="/var/root",
    # Every program can type into Terminal by an Apple event, and start others through launchd, which tells nothing.
    terminals_prove=False, longest_socket=103, ignores_case=True, has_screen=True, managed_settings=False,
)  # fmt: skip
OTHER = System(
    title="this system", config=".config", state=".local/state", runtime="", home_of_root="/root",
    terminals_prove=False, longest_socket=103, ignores_case=False, has_screen=False,
    managed_settings=False,
)  # fmt: skip


def system_named(platform: str) -> System:
    """The system with Python's name for it."""
    match platform:
        case "linux":
            return LINUX
        case "darwin":
            return MACOS
        case _:
            return OTHER


def this_system() -> System:
    """The one that this process runs on."""
    return system_named(sys.platform)


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
