"""What keeps a file from being written, in words for people: which file, why, and what to do next."""

from __future__ import annotations

import errno
import os
from os import PathLike
from pathlib import Path

AGAIN = "Calls run again by themselves after that"

_NEXT = {
    errno.ENOSPC: ("the disk is full", "Make room on it: `df -h {place}` says how full it is"),
    errno.EDQUOT: ("the disk quota is used up", "Make room, or have the quota raised"),
    errno.EROFS: (
        "the file system is read-only",
        "Mount it writable, or name another place as `ledger.directory` in interpose.yaml",
    ),
    errno.EIO: ("the disk fails", "Look at `dmesg`, or name another place as `ledger.directory` in interpose.yaml"),
    errno.EMFILE: ("this process has too many files open", "Raise its limit: `ulimit -n`"),
    errno.ENFILE: ("the system has too many files open", "End what holds them: `lsof` names it"),
    errno.ENOTDIR: ("a part of this path is no directory", "Move that file away"),
    errno.ENOENT: ("a directory of this path is missing", "Make it, or name another one in interpose.yaml"),
    errno.ELOOP: ("a link of this path leads back to itself", "Take that link away"),
}


def unwritable(path: str | PathLike[str], error: OSError) -> str:
    """Why a file can't be written, and what to do about it."""
    path = os.fspath(path)
    why, what = reason_and_remedy(path, error.errno or 0)
    return f"{path}: {why or error.strerror or error}. {what}"


def reason_and_remedy(path: str, number: int) -> tuple[str, str]:
    """What an error number means for a file, and what to do about it. No reason where the number says nothing to us."""
    number = _more_exact(path, number)
    if number in (errno.EACCES, errno.EPERM):
        return f"user {os.geteuid()} may not write there", _permission(path)
    why, what = _NEXT.get(number, ("", "`interpose doctor` looks at it"))
    return why, what.format(place=_existing(path))


def _more_exact(path: str, number: int) -> int:
    """SQLite says less than the system knows: that a disk fails which is full, or that we may not write to a file which
    lies on a read-only file system."""
    try:
        disk = os.statvfs(_existing(path))
    except OSError:
        return number
    if number == errno.EIO and disk.f_blocks and not disk.f_bavail:
        return errno.ENOSPC
    return errno.EROFS if number == errno.EACCES and disk.f_flag & os.ST_RDONLY else number


def _permission(path: str) -> str:
    place = _existing(path)
    try:
        owner = place.stat().st_uid
    except OSError:
        owner = os.geteuid()
    if owner == os.geteuid():
        return f"Allow it: `chmod -R u+rwX {place}`"
    return f"It belongs to user {owner}. Make it yours: `sudo chown -R {os.geteuid()} {place}`"


def _existing(path: str) -> Path:
    """The nearest directory that is there."""
    return next((place for place in Path(path).parents if place.is_dir()), Path("/"))
