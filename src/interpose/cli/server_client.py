"""Reaching a server from the command line, and who sits at it."""

from __future__ import annotations

import os
import pwd
import socket
import struct
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import urlsplit


def connection_to(at: str, timeout: float) -> HTTPConnection:
    """A connection to a server: `at` is the path of a Unix socket, or an address with http:// or https://."""
    if at.startswith("/"):
        connection = HTTPConnection("localhost")
        connection.sock = _own_socket(at, timeout)
        return connection
    address = urlsplit(at)
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    return kind(address.hostname or "", address.port, timeout=timeout)


def _own_socket(path: str, timeout: float) -> socket.socket:
    """A connection to a server of ours: another user's process in its place is not believed."""
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.settimeout(timeout)
        connected.connect(path)
        _pid, owner, _group = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if owner not in (os.geteuid(), 0):
            raise PermissionError(f"the server belongs to user {owner}")
    except BaseException:
        connected.close()
        raise
    return connected


def user_name() -> str:
    """The user of this process, as the system knows them: the environment can't say otherwise."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
