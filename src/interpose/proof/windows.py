"""A terminal window that was opened while an agent worked: a person's, if it only waits for keys.

An agent can open a window, too, and name the command that runs in it. So a new window counts only if nothing but the
system's own code runs in its program and in its shell, and if the shell was started as a person's is: bare.
"""

from __future__ import annotations

import os
import pwd
from contextlib import suppress

from interpose.proof.processes import PROC, Process, environment_of, is_of_root, is_system_program
from interpose.proof.programs import SHELLS, WINDOWS

_BARE = frozenset({"-l", "-i", "-il", "-li", "--login"})
_STEERING = (
    "LD_", "DYLD_", "BASH_ENV", "ENV", "ZDOTDIR", "BASH_FUNC_", "PROMPT_COMMAND", "PS0", "PS1", "PYTHON", "GCONV_PATH",
    "XENVIRONMENT", "XAPPLRESDIR", "XUSERFILESEARCHPATH", "KITTY_CONFIG_DIRECTORY", "INPUTRC",
)  # fmt: skip
"""Variables that make a program or a shell run something else, by how they begin."""
_LARGEST_MAPS = 4 << 20


def is_plain_window(window: Process, shell: Process) -> bool:
    """Whether this is a window program of the system that has opened a bare shell, and nothing of another's in it."""
    return (
        is_system_program(window.pid, WINDOWS)
        and is_system_program(shell.pid, SHELLS)
        and shell.session == shell.pid
        and _is_bare(shell.pid)
        and all(_has_only_system_code(one.pid) and not _is_steered(one.pid) for one in (window, shell))
    )


def _is_bare(pid: int) -> bool:
    with suppress(OSError):
        words = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")[1:-1]
        return all(word.decode("utf-8", "replace") in _BARE for word in words)
    return False


def _is_steered(pid: int) -> bool:
    environment = environment_of(pid)
    home = pwd.getpwuid(os.geteuid()).pw_dir
    return environment.get("HOME") != home or any(name.startswith(_STEERING) for name in environment)


def _has_only_system_code(pid: int) -> bool:
    """Whether every file that it runs code from is root's alone to write, and no code is there without a file."""
    try:
        with (PROC / str(pid) / "maps").open("rb") as file:
            lines = file.read(_LARGEST_MAPS).decode("utf-8", "replace").splitlines()
    except OSError:
        return False
    for line in lines:
        fields = line.split(maxsplit=5)
        if "x" not in fields[1]:
            continue
        name = fields[5] if len(fields) > 5 else ""
        if name in ("[vdso]", "[vsyscall]"):
            continue
        if not is_of_root(name):
            return False
    return True
