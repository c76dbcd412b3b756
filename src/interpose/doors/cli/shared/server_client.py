"""Reaching a server from the command line, and who sits at it."""

from __future__ import annotations

import os
import pwd
import socket
from http.client import HTTPConnection, HTTPSConnection
from urllib.parse import urlsplit

from interpose.core.platforms.peers import peer_credentials


def connection_to(at: str, timeout: float, *, of_anyone: bool = False) -> HTTPConnection:
    """A connection to a server: `at` is the path of a Unix socket, or an address with http:// or https://.

    A socket on which another user listens is believed only with `of_anyone`.
    """
    if at.startswith("/"):
        connection = HTTPConnection("localhost")
        connection.sock = _own_socket(at, timeout, of_anyone=of_anyone)
        return connection
    address = urlsplit(at)
    kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
    return kind(address.hostname or "", address.port, timeout=timeout)


def reachable(path: str) -> bool:
    """Whether somebody listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2.0)
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _own_socket(path: str, timeout: float, *, of_anyone: bool) -> socket.socket:
    """A connection to a server of ours: another user's process in its place is not believed."""
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.settimeout(timeout)
        connected.connect(path)
        found = peer_credentials(connected)
        owner = -1 if found is None else found.uid
        if not of_anyone and owner not in (os.geteuid(), 0):
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
