"""Whether a process is our own program, by what the kernel says of it: what it runs, and its command line.

Nothing that is sent to us counts, no session and no command. A process can still overwrite its own command line. So
being ours excuses only a process that a person started, and never lets it answer.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from interpose.core.platforms.processes import program_of
from interpose.people.presence.processes import command_words


def is_ours(pid: int, verb: str = "") -> bool:
    """Whether a process is a command of ours, or the one with this verb."""
    if program_of(pid) != os.path.realpath(sys.executable):
        return False
    words = command_words(pid)[1:]
    if words[:2] == ["-m", "interpose"]:
        said = words[2:]
    elif words and _is_our_script(words[0]):
        said = words[1:]
    else:
        return False
    return not verb or next((word for word in said if not word.startswith("-")), "") == verb


def _is_our_script(path: str) -> bool:
    # An environment's own directory: `sys.executable` is a link to the system's program there.
    return os.path.realpath(path) == str(Path(os.path.realpath(Path(sys.executable).parent)) / "interpose")
