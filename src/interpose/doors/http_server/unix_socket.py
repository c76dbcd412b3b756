"""A Unix socket that only its owner can reach, and that two servers never share.

A lock beside the socket says who listens; the kernel gives it back when its holder dies. So a socket that is found
under the lock is left over, but it is removed only if it is ours and nobody answers on it.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from pathlib import Path

from interpose.core.errors import ServerError
from interpose.effects.systems import this_system

_SHORTER = "set server.socket and hooks.socket, or XDG_RUNTIME_DIR, where they lie if nothing else is said"
_OTHER_SERVER = (
    "another server listens on this socket; stop it, or give this one its own server.socket and hooks.socket"
)


class UnixSocket:
    """A bound socket with its lock."""

    def __init__(self, path: Path, *, for_group: bool = False) -> None:
        """Bind it, or ServerError says what is in the way.

        `for_group` lets the group of its directory reach it: a directory that root made for just that.
        """
        self.path = path
        if len(os.fsencode(path)) > (longest := this_system().longest_socket):
            raise ServerError(f"{path}: the path of a Unix socket has at most {longest} bytes; {_SHORTER}")
        try:
            _private_directory(path.parent, 0o027 if for_group else 0o077)
            self._lock = _locked(path)
        except OSError as error:
            raise ServerError(f"{path}: can't listen here: {error.strerror}") from None
        try:
            _remove_leftover(path)
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.bind(os.fspath(path))
            path.chmod(0o660 if for_group else 0o600)  # until now the directory kept others out
            self._identity = _identity(path)
        except OSError as error:
            os.close(self._lock)
            raise ServerError(f"{path}: can't listen here: {error.strerror or error}") from None
        except ServerError:
            os.close(self._lock)
            raise

    def close(self) -> None:
        """Remove the socket, if the path still leads to it, and let others listen."""
        self.socket.close()
        try:
            if _identity(self.path) == self._identity:
                self.path.unlink()
        except OSError:
            pass  # somebody removed it before
        os.close(self._lock)


def _private_directory(directory: Path, forbidden: int) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.stat()
    if found.st_uid != os.geteuid():
        raise ServerError(
            f"{directory}: a Unix socket needs a directory of its own user, this is of uid {found.st_uid}"
        )
    if found.st_mode & forbidden:
        mode = stat.S_IMODE(found.st_mode)
        raise ServerError(
            f"{directory}: others can reach this directory (mode {mode:04o}); a Unix socket needs one that is its "
            "user's alone (mode 0700)"
        )


def _locked(path: Path) -> int:
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise ServerError(f"{path}: {_OTHER_SERVER}") from None
    return lock


def _remove_leftover(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ServerError(f"{path}: there is something that is no socket; remove it, or set another path")
    if found.st_uid != os.geteuid():
        raise ServerError(f"{path}: the socket that is there belongs to another user (uid {found.st_uid})")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError:
            pass  # whoever is too busy to answer is there
    raise ServerError(f"{path}: {_OTHER_SERVER}")


def _identity(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino
