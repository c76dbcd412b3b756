"""Processes of Linux, from `/proc`."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from interpose.core.platforms.process_values import Process

PROC = Path("/proc")
MACHINE = Path("/etc/machine-id")
_MOST_STATUS = 4096
"""Some fifty numbers and a short name."""
_LARGEST_MAPS = 4 << 20
_PTS = range(136, 144)
"""The numbers of the kernel's driver for terminals that programs open."""


def process(pid: int) -> Process | None:
    """A process that lives; None if there is none, or nothing can be known of it."""
    if pid <= 0:
        return None
    try:
        handle = os.open(f"{PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.read(handle, _MOST_STATUS)
        finally:
            os.close(handle)
        # The name stands in parentheses and may hold some: the last one ends it.
        name = text[text.index(b"(") + 1 : text.rindex(b")")]
        fields = text[text.rindex(b")") + 2 :].split()
        if fields[0] in (b"Z", b"X"):
            return None
        return Process(
            pid=pid, start=int(fields[19]), parent=int(fields[1]), group=int(fields[2]), session=int(fields[3]),
            terminal=int(fields[4]), foreground=int(fields[5]), name=name.decode("utf-8", "replace"),
        )  # fmt: skip
    except (OSError, ValueError, IndexError):
        return None


def start_of(pid: int) -> int:
    """When a process was started, in the kernel's own units; 0 if it can't be seen."""
    try:
        with open(f"{PROC}/{pid}/stat", "rb") as file:  # noqa: PTH123 - on the way of every hook
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def real_user(pid: int) -> int:
    """Whose process it is: the user who started it, whatever rights its program has. -1 if we may not know."""
    try:
        lines = (PROC / str(pid) / "status").read_bytes().splitlines()
    except OSError:
        return -1
    return next((int(line.split()[1]) for line in lines if line.startswith(b"Uid:")), -1)


def owner_of(pid: int) -> int:
    """The user with whose rights a process runs. Raises OSError if there is none."""
    return (PROC / str(pid)).stat().st_uid


def started_ns(pid: int) -> int:
    """When a process was started, in nanoseconds since 1970. Raises OSError if there is none."""
    return (PROC / str(pid)).stat().st_ctime_ns


def ticks_now() -> int:
    """The time in the units of `Process.start`."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK") // 10**9


def this_boot() -> str:
    """A name of the time since the machine was started."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def this_machine() -> bytes:
    """What is always the same on this machine, and other on others; empty where the system keeps no such thing."""
    try:
        return MACHINE.read_bytes()
    except OSError:
        return b""


def all_pids() -> list[int]:
    """The number of every process that can be seen. Raises OSError where none can."""
    return [int(name) for name in os.listdir(PROC) if name.isdecimal()]  # noqa: PTH208 - thousands


def program_of(pid: int) -> str:
    """The path of the program that a process runs; empty if we may not know."""
    try:
        return str((PROC / str(pid) / "exe").readlink()).removesuffix(" (deleted)")
    except OSError:
        return ""


def command_line(pid: int, most: int) -> bytes:
    """The words that a process was started with, each ended by NUL. Raises OSError if we may not know."""
    with (PROC / str(pid) / "cmdline").open("rb") as file:
        return file.read(most)


def environment(pid: int, most: int) -> bytes:
    """The variables that a process was started with, each ended by NUL. Raises OSError if we may not know."""
    with (PROC / str(pid) / "environ").open("rb") as file:
        return file.read(most)


def code_files(pid: int) -> list[str] | None:
    """Every file that a process runs code from, an empty name for code without one. None if we may not know."""
    try:
        with (PROC / str(pid) / "maps").open("rb") as file:
            lines = file.read(_LARGEST_MAPS).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    found: list[str] = []
    for line in lines:
        fields = line.split(maxsplit=5)
        name = fields[5] if len(fields) > 5 else ""
        if "x" in fields[1] and name not in ("[vdso]", "[vsyscall]"):
            found.append(name)
    return found


def input_of(pid: int) -> str:
    """What a process reads as its standard input, as a path; empty if we may not know."""
    try:
        return str((PROC / str(pid) / "fd" / "0").readlink())
    except OSError:
        return ""


def terminal_number(terminal: int) -> int | None:
    """The number of a terminal that a program opened; None for others, as a console."""
    major, minor = terminal >> 8 & 0xFFF, terminal & 0xFF | terminal >> 12 & 0xFFF00
    return (major - _PTS.start) * 256 + minor if major in _PTS else None


def holds_terminal(pid: int, terminal: int) -> bool:
    """Whether a process holds the other end of a terminal: it opened it, or was handed it."""
    if (number := terminal_number(terminal)) is None:
        return False
    own = PROC / str(pid)
    with suppress(OSError):
        for handle in os.listdir(own / "fd"):  # noqa: PTH208 - many, and each path costs
            with suppress(OSError):  # it was closed meanwhile
                if os.readlink(own / "fd" / handle).endswith("/ptmx"):  # noqa: PTH115 - as above
                    shown = (own / "fdinfo" / handle).read_bytes().split()
                    if b"tty-index:" in shown and shown[shown.index(b"tty-index:") + 1] == b"%d" % number:
                        return True
    return False


def where_shown(pid: int) -> str:
    """Where a person reads the command line of a process."""
    return f"{PROC}/{pid}/cmdline"
