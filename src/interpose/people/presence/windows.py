"""A terminal window that was opened while an agent worked: a person's, if it only waits for keys.

An agent can open a window, too, and name the command that runs in it. So a new window counts only if nothing but the
system's own code runs in its program and in its shell, and if the shell was started as a person's is: bare.
"""

from __future__ import annotations

from interpose.core.platforms.process_values import Process
from interpose.core.platforms.processes import code_files
from interpose.people.presence.keys import is_plain_shell, is_steered
from interpose.people.presence.processes import is_of_root, is_system_program
from interpose.people.presence.programs import WINDOWS


def is_plain_window(window: Process, shell: Process) -> bool:
    """Whether this is a window program of the system that has opened a bare shell, and nothing of another's in it."""
    return (
        is_system_program(window.pid, WINDOWS)
        and is_plain_shell(shell)
        and not is_steered(window.pid)
        and all(_has_only_system_code(one.pid) for one in (window, shell))
    )


def _has_only_system_code(pid: int) -> bool:
    """Whether every file that it runs code from is root's alone to write, and no code is there without a file."""
    files = code_files(pid)
    return files is not None and all(map(is_of_root, files))
