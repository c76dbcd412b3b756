"""Processes as the kernel knows them: nothing here can be said otherwise by the process itself, but its environment."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Container
from pathlib import Path

from msgspec import Struct

PROC = Path("/proc")
NEVER = 1 << 62
"""Later than every start of a process."""
_DEEPEST = 256
_MOST_ENVIRONMENT = 256 << 10
_MOST_STATUS = 4096
"""Some fifty numbers and a short name."""


class Process(Struct, frozen=True, kw_only=True):
    """One process. With its start it is one for ever: numbers are used again.

    `terminal` is the number of its controlling terminal, 0 without one; `foreground` the process group that reads it.
    """

    pid: int
    start: int
    parent: int
    group: int
    session: int
    terminal: int
    foreground: int
    name: str

    @property
    def identity(self) -> tuple[int, int]:
        """What tells it from all others since the machine was started."""
        return self.pid, self.start


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


def real_user(pid: int) -> int:
    """Whose process it is: the user who started it, whatever rights its program has. -1 if we may not know."""
    try:
        lines = (PROC / str(pid) / "status").read_bytes().splitlines()
    except OSError:
        return -1
    return next((int(line.split()[1]) for line in lines if line.startswith(b"Uid:")), -1)


def ticks_now() -> int:
    """The time in the units of `Process.start`."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK") // 10**9


def this_boot() -> str:
    """A name of the time since the machine was started."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def ancestry(pid: int) -> list[Process]:
    """A process and its ancestors, itself first, up to the first process of the machine or of its container."""
    found: list[Process] = []
    while len(found) < _DEEPEST and (one := process(pid)) is not None:
        found.append(one)
        pid = one.parent
    return found


def program_of(pid: int) -> str:
    """The path of the program that a process runs; empty if we may not know."""
    try:
        return str((PROC / str(pid) / "exe").readlink()).removesuffix(" (deleted)")
    except OSError:
        return ""


def runs_program(pid: int, names: Container[str]) -> bool:
    """Whether a process runs a program with one of these names. No more than that: every user can write such a one."""
    return program_of(pid).rpartition("/")[2] in names


def is_system_program(pid: int, names: Container[str]) -> bool:
    """Whether a process runs a program with one of these names that only root can write."""
    program = program_of(pid)
    if program.rpartition("/")[2] not in names:
        return False
    return is_of_root(program)


def is_of_root(path: str) -> bool:
    """Whether root alone can write a file that the kernel named."""
    try:
        found = os.stat(path)  # noqa: PTH116 - on the way of every hook
    except (OSError, ValueError):
        return False
    return found.st_uid == 0 and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def environment_of(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty if we may not know."""
    try:
        with (PROC / str(pid) / "environ").open("rb") as file:
            text = file.read(_MOST_ENVIRONMENT)
    except OSError:
        return {}
    pairs = (part.partition(b"=") for part in text.split(b"\0"))
    return {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, _, value in pairs if name}
