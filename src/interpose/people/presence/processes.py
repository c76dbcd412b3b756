"""Questions about processes that are answered alike on every system: ancestors, programs, environments."""

from __future__ import annotations

import os
import stat
from collections.abc import Container

from interpose.core.platforms.process_values import Process
from interpose.core.platforms.processes import command_line, environment, process, program_of

NEVER = 1 << 62
"""Later than every start of a process."""
_DEEPEST = 256
_MOST_ENVIRONMENT = 256 << 10
_MOST_WORDS = 64 << 10


def ancestry(pid: int) -> list[Process]:
    """A process and its ancestors, itself first, up to the first process of the machine or of its container."""
    found: list[Process] = []
    while len(found) < _DEEPEST and (one := process(pid)) is not None:
        found.append(one)
        pid = one.parent
    return found


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


def command_words(pid: int) -> list[str]:
    """The command line of a process, which it can overwrite; empty if we may not know."""
    try:
        text = command_line(pid, _MOST_WORDS)
    except OSError:
        return []
    return [word.decode("utf-8", "replace") for word in text.split(b"\0")[:-1]]


def environment_of(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty if we may not know."""
    try:
        text = environment(pid, _MOST_ENVIRONMENT)
    except OSError:
        return {}
    pairs = (part.partition(b"=") for part in text.split(b"\0"))
    return {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, _, value in pairs if name}
