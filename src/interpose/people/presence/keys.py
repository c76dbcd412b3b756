"""Whether keys started a process: a shell that waits for keys, at a terminal whose opener holds its other end.

Many older programs start what others name: a service manager, cron, a desktop that takes commands, a terminal program
that is told to run one, a watcher of files in a person's own terminal. None of them says that a person is there.
"""

from __future__ import annotations

import os
import pwd
from itertools import pairwise

from interpose.core.platforms.process_values import Process
from interpose.core.platforms.processes import holds_terminal, input_of, program_of, real_user, terminal_number
from interpose.people.presence.processes import (
    command_words,
    environment_of,
    is_of_root,
    is_system_program,
    runs_program,
)
from interpose.people.presence.programs import (
    DESKTOPS,
    EDITORS,
    LAUNCHERS,
    LOGINS,
    ROOT_LAUNCHERS,
    SHELLS,
    TERMINAL_OPENERS,
)

_BARE = frozenset({"-l", "-i", "-il", "-li", "--login", "--norc", "--noprofile", "--posix"})
_WITH_START_FILE = frozenset({"--init-file", "--rcfile", "--init-command"})
_START_FILES = ("ENV", "ZDOTDIR")
"""Variables that name a start file of a shell: terminal programs set them to a file of their own."""
_STEERING = (
    "LD_", "DYLD_", "BASH_ENV", "BASH_FUNC_", "PROMPT_COMMAND", "PS0", "PS1", "PYTHON", "GCONV_PATH",
    "XENVIRONMENT", "XAPPLRESDIR", "XUSERFILESEARCHPATH", "KITTY_CONFIG_DIRECTORY", "INPUTRC",
)  # fmt: skip
"""Variables that make a program or a shell run something else, by how they begin."""


def started_by_keys(one: Process, parent: Process, above: Process | None) -> bool:
    """Whether a person's keys started `one`, below a parent that is a person's. `above` is the parent's own parent."""
    if is_login(parent):
        return True
    if one.session == parent.session:
        return _takes_keys(parent) or _is_launcher(parent) or _came_in(parent, above)
    if runs_program(parent.pid, DESKTOPS):
        return False
    if runs_program(parent.pid, TERMINAL_OPENERS - EDITORS):
        return is_plain_shell(one, parent.pid)
    if not holds_terminal(parent.pid, one.terminal):
        return _is_launcher(parent) and real_user(parent.pid) == 0  # which nothing of ours can look into
    # A program at a terminal (`script`) opened another for what it runs. One without is an editor's or a server's.
    return parent.terminal != 0 or (runs_program(one.pid, SHELLS) and _runs_no_command(one.pid))


def is_login(one: Process) -> bool:
    """Whether it is a login of the system: only root can be one, and nothing of ours can look into it."""
    if os.geteuid() == 0:
        return is_system_program(one.pid, LOGINS)
    return one.name in LOGINS and (real_user(one.pid) == 0 or not program_of(one.pid))


def is_plain_shell(shell: Process, opener: int = 0) -> bool:
    """Whether this is a bare shell that leads its terminal, as a person's is started: in no foreign environment.

    `opener` is the program that opened it, where that is a person's.
    """
    return (
        shell.session == shell.pid
        and (is_system_program(shell.pid, SHELLS) or _is_login_shell(shell.pid))
        and _is_bare(shell.pid)
        and not is_steered(shell.pid, opener)
    )


def is_steered(pid: int, opener: int = 0) -> bool:
    """Whether the environment of a program makes it run something of another's."""
    environment, given = environment_of(pid), environment_of(opener) if opener else {}
    if environment.get("HOME") not in (pwd.getpwuid(os.geteuid()).pw_dir, given.get("HOME")):
        return True
    if opener and not _same_paths(environment.get("PATH", ""), given.get("PATH", "")):
        return True
    return any(
        (name.startswith(_STEERING) or name in _START_FILES)
        and given.get(name) != value
        and not (name in _START_FILES and _belongs_to(value, opener))
        for name, value in environment.items()
    )


def _takes_keys(shell: Process) -> bool:
    """Whether this is a shell that reads its terminal."""
    if not runs_program(shell.pid, SHELLS) or not _runs_no_command(shell.pid):
        return False
    reads, number = input_of(shell.pid), terminal_number(shell.terminal)
    return reads in ("/dev/tty", "/dev/console") or (
        reads in (f"/dev/pts/{number}", f"/{number}") if number is not None else reads.startswith("/dev/tty")
    )


def _is_launcher(one: Process) -> bool:
    return runs_program(one.pid, LAUNCHERS) or (one.name in ROOT_LAUNCHERS and real_user(one.pid) == 0)


def _came_in(shell: Process, above: Process | None) -> bool:
    """Whether a shell was given its command from elsewhere: by a login, or from outside this container."""
    if not runs_program(shell.pid, SHELLS):
        return False
    return is_login(above) if above is not None else shell.pid != 1 and shell.parent == 0


def _is_bare(pid: int) -> bool:
    words = command_words(pid)
    return bool(words) and all(word in _BARE for word in words[1:])


def _runs_no_command(pid: int) -> bool:
    """Whether a shell was given no command or script, besides start files."""
    words = command_words(pid)
    return bool(words) and all(
        before in _WITH_START_FILE
        or (word.startswith("--") and not word.startswith("--c"))
        or (word.startswith("-") and "c" not in word.lower())
        for before, word in pairwise(words)
    )


def _is_login_shell(pid: int) -> bool:
    """Whether a process runs the shell that root wrote down for this user."""
    return program_of(pid) == os.path.realpath(pwd.getpwuid(os.geteuid()).pw_shell)


def _belongs_to(file: str, opener: int) -> bool:
    """Whether a start file is the system's, or came with the program that opened a terminal."""
    prefix = os.path.dirname(os.path.dirname(program_of(opener))) if opener else ""  # noqa: PTH120 - of a text
    return is_of_root(file) or (prefix not in ("", "/") and os.path.normpath(file).startswith(f"{prefix}/"))


def _same_paths(path: str, known: str) -> bool:
    return all(is_of_root(place) for place in set(path.split(":")) - set(known.split(":")))
