"""Which process and user are at the other end of a Unix socket, as the kernel says it."""

from __future__ import annotations

import socket
import struct
import sys
from typing import Any

from interpose.core.platforms.macos.layouts import (
    LOCAL_PEERCRED,
    LOCAL_PEERPID,
    PEER_PID,
    SOL_LOCAL,
    XUCRED,
    XUCRED_VERSION,
)
from interpose.core.platforms.process_values import Credentials

_LINUX = struct.Struct("3i")


def peer_credentials(connected: Any) -> Credentials | None:
    """What the kernel says; None where the system tells nothing. Raises OSError."""
    return _of_macos(connected) if sys.platform == "darwin" else _of_linux(connected)


def _of_linux(connected: Any) -> Credentials | None:
    """Process, user and group as they were when it connected."""
    asked = getattr(socket, "SO_PEERCRED", None)
    if asked is None:
        return None
    return Credentials(*_LINUX.unpack(connected.getsockopt(socket.SOL_SOCKET, asked, _LINUX.size)))


def _of_macos(connected: Any) -> Credentials:
    """User and group as they were when it connected, and the process that used its end last.

    INVARIANT: a process that the kernel does not name has no number. Its user is known all the same.
    """
    data = connected.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, XUCRED.size)
    try:
        version, uid, count, gid = XUCRED.unpack(data)
    except struct.error:
        raise OSError(0, "the system answers with another structure") from None
    if version != XUCRED_VERSION or count < 1:
        raise OSError(0, "the system answers with another structure")
    try:
        (pid,) = PEER_PID.unpack(connected.getsockopt(SOL_LOCAL, LOCAL_PEERPID, PEER_PID.size))
    except (OSError, struct.error):
        pid = 0
    return Credentials(pid, uid, gid)
