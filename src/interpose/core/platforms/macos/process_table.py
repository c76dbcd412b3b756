"""Processes of macOS, from libproc and sysctl.

`proc_pidinfo` tells everything about processes of one's own user. Of others, such as the `login` of root between a
terminal program and its shell, the kernel's older table tells the same: `KERN_PROC_PID`.
"""

from __future__ import annotations

import os
import time

from msgspec import Struct

from interpose.core.platforms.macos.layouts import (
    BOOT_SESSION,
    BSD_INFO,
    CTL_KERN,
    KERN_PROC,
    KERN_PROC_PID,
    KERN_PROCARGS2,
    KINFO_PROC,
    MACHINE,
    NODEV,
    PROC_PIDTBSDINFO,
    SZOMB,
)
from interpose.core.platforms.macos.libproc import kernel
from interpose.core.platforms.process_values import Process

_SECOND = 1_000_000
_MOST_ARGUMENTS = 1 << 20
"""What the kernel takes for the words and variables of one program (`ARG_MAX`)."""


class _TableEntry(Struct, frozen=True):
    """What both tables tell."""

    process: Process
    uid: int
    real_uid: int


def process(pid: int) -> Process | None:
    """A process that lives; None if there is none, or nothing can be known of it."""
    try:
        return _entry(pid).process
    except OSError:
        return None


def start_of(pid: int) -> int:
    """When a process was started, in the kernel's own units; 0 if it can't be seen."""
    found = process(pid)
    return 0 if found is None else found.start


def real_user(pid: int) -> int:
    """Whose process it is: the user who started it, whatever rights its program has. -1 if we may not know."""
    try:
        return _entry(pid).real_uid
    except OSError:
        return -1


def owner_of(pid: int) -> int:
    """The user with whose rights a process runs. Raises OSError if there is none."""
    return _entry(pid).uid


def started_ns(pid: int) -> int:
    """When a process was started, in nanoseconds since 1970. Raises OSError if there is none."""
    return _entry(pid).process.start * 1000


def ticks_now() -> int:
    """The time in the units of `Process.start`: microseconds since 1970, as the kernel notes them."""
    return time.time_ns() // 1000


def this_boot() -> str:
    """A name of the time since the machine was started."""
    try:
        return kernel().sysctl_named(BOOT_SESSION, 64).rstrip(b"\0").decode("ascii", "replace")
    except OSError:
        return ""


def this_machine() -> bytes:
    """What is always the same on this machine, and other on others; empty where the system keeps no such thing."""
    try:
        return kernel().sysctl_named(MACHINE, 64).rstrip(b"\0")
    except OSError:
        return b""


def all_pids() -> list[int]:
    """The number of every process that can be seen. Raises OSError where none can."""
    return kernel().all_pids()


def program_of(pid: int) -> str:
    """The path of the program that a process runs; empty if we may not know."""
    try:
        return os.fsdecode(kernel().path(pid))
    except OSError:
        return ""


def command_line(pid: int, most: int) -> bytes:
    """The words that a process was started with, each ended by NUL. Raises OSError if we may not know."""
    return _arguments(pid)[0][:most]


def environment(pid: int, most: int) -> bytes:
    """The variables that a process was started with, each ended by NUL. Raises OSError if we may not know."""
    return _arguments(pid)[1][:most]


def code_files(pid: int) -> list[str] | None:  # noqa: ARG001 - the same question on every system
    """Every file that a process runs code from. None: here nothing tells which of them are whole."""
    return None


def input_of(pid: int) -> str:  # noqa: ARG001 - the same question on every system
    """What a process reads: macOS does not tell here."""
    return ""


def terminal_number(terminal: int) -> int | None:  # noqa: ARG001 - as above
    """The number of a terminal that a program opened: macOS does not tell."""
    return None


def holds_terminal(pid: int, terminal: int) -> bool:  # noqa: ARG001 - as above
    """Whether a process holds the other end of a terminal: macOS does not tell."""
    return False


def where_shown(pid: int) -> str:
    """Where a person reads the command line of a process."""
    return f"ps -ww -o command= -p {pid}"


def _entry(pid: int) -> _TableEntry:
    """One process that lives. Raises OSError."""
    if pid <= 0:
        raise ProcessLookupError(pid)
    try:
        data = kernel().pid_info(pid, PROC_PIDTBSDINFO, BSD_INFO.size)
        status, found, parent, uid, real_uid, name, group, device, foreground, *start = BSD_INFO.unpack(data)
    except PermissionError:
        data = kernel().sysctl((CTL_KERN, KERN_PROC, KERN_PROC_PID, pid), KINFO_PROC.size)
        if len(data) != KINFO_PROC.size:  # there is none
            raise ProcessLookupError(pid) from None
        *start, status, found, name, real_uid, uid, parent, group, device, foreground = KINFO_PROC.unpack(data)
    if found != pid or status == SZOMB:
        raise ProcessLookupError(pid)
    terminal = 0 if device == NODEV else device
    known = Process(
        pid=pid, start=start[0] * _SECOND + start[1], parent=parent, group=group, session=os.getsid(pid),
        terminal=terminal, foreground=foreground, name=name.partition(b"\0")[0].decode("utf-8", "replace"),
    )  # fmt: skip
    return _TableEntry(known, uid, real_uid)


def _arguments(pid: int) -> tuple[bytes, bytes]:
    """Words and variables: behind the number of words, the path of the program and the NULs that fill it up."""
    data = kernel().sysctl((CTL_KERN, KERN_PROCARGS2, pid), _MOST_ARGUMENTS)
    if len(data) < 4:
        raise OSError(0, "the system tells no words")
    count = int.from_bytes(data[:4], "little")
    rest = data[data.index(b"\0", 4) :] if b"\0" in data[4:] else b""
    rest = rest.lstrip(b"\0")
    at = 0
    for _ in range(count):
        end = rest.find(b"\0", at)
        if end < 0:
            return rest, b""
        at = end + 1
    # What is behind an empty variable is the kernel's own.
    return rest[:at], rest[at:].partition(b"\0\0")[0] + b"\0" if rest[at:].strip(b"\0") else b""
