"""Starting a server for the hooks to come, once an event was answered without one."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path
from time import time

PAUSE = 30.0
"""Seconds until another one is started. A server that can't start must not be tried again at every event."""

_COMMAND = ("-I", "-m", "interpose", "serve", "--on-demand")


def start_server(socket: str) -> None:
    """Start a server that outlives us. Comes back at once; raises OSError if that can't be done.

    It gets nothing of ours but the lock, which it keeps as long as it lives: a second one is never started.
    """
    if os.fork() == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                _become_server(Path(socket))
        finally:
            os._exit(0)


def start_lock(socket: str) -> Path:
    """The file that the one server of a socket keeps locked."""
    return Path(socket).with_name("start.lock")


def started_server(socket: str) -> int:
    """The process that was started for this socket, be it that it does not listen yet. 0 if there is none."""
    try:
        lock = os.open(start_lock(socket), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return 0  # nobody has it, so whoever had it has ended
    except OSError:
        told = os.read(lock, 20).strip()
        return int(told) if told.isdigit() else 0
    finally:
        os.close(lock)


def _become_server(socket: Path) -> None:
    os.chdir("/")
    os.umask(0o077)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.closerange(3, 1 << 20)
    socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = _claimed(start_lock(str(socket)))
    if lock is None:
        return
    os.dup2(os.open(socket.with_name("server.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), 2)
    os.set_inheritable(lock, True)
    os.execv(sys.executable, [sys.executable, *_COMMAND])  # noqa: S606 - our own program


def _claimed(file: Path) -> int | None:
    """The lock, or None if a server runs, is being started, or was just tried."""
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return None
    tried = os.fstat(lock)
    if tried.st_size and time() - tried.st_mtime < PAUSE:
        return None
    os.ftruncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    return lock
