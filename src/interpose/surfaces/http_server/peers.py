"""Who is at the other end of a transport."""

from __future__ import annotations

import socket
import struct
import sys
from asyncio import BaseTransport
from typing import Any

from interpose.surfaces.http_server.messages import UNKNOWN_USER, Peer
from interpose.surfaces.http_server.tls import subject_of
from interpose.surfaces.http_server.trust import is_loopback


def peer_of(transport: BaseTransport) -> Peer:
    """The other end of a connection."""
    name: object = transport.get_extra_info("peername")
    if not isinstance(name, tuple):
        pid, uid, gid = _credentials(transport.get_extra_info("socket"))
        return Peer(kind="unix", loopback=True, pid=pid, uid=uid, gid=gid, start=_start_of(pid))
    address = address_of(name)
    subject = subject_of(transport.get_extra_info("peercert"))
    ours: object = transport.get_extra_info("sockname")
    return Peer(
        kind="tcp", loopback=is_loopback(address), address=address, port=name[1], our_address=address_of(ours),
        our_port=ours[1] if isinstance(ours, tuple) else 0, subject=subject,
    )  # fmt: skip


def _credentials(connected: Any) -> tuple[int, int, int]:
    """Process, user and group at the other end of a Unix socket, as they were when it connected.

    INVARIANT: a peer that the system does not name is nobody's: its uid is one that no user has.
    """
    asked = getattr(socket, "SO_PEERCRED", None)
    try:
        if asked is not None:
            pid, uid, gid = _LINUX.unpack(connected.getsockopt(socket.SOL_SOCKET, asked, _LINUX.size))
            return pid, uid, gid
        if sys.platform == "darwin":
            _version, uid, _groups, gid = _BSD.unpack(connected.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _BSD.size))
            return 0, uid, gid
    except (OSError, struct.error):
        return 0, _NOBODYS, _NOBODYS
    return 0, UNKNOWN_USER, UNKNOWN_USER  # the system doesn't tell; only its owner can open the socket


_LINUX = struct.Struct("3i")
_BSD = struct.Struct("=IIhxxI60x")
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1
_NOBODYS = -2


def _start_of(pid: int) -> int:
    """When a process was started, in the kernel's own units; 0 if it can't be seen."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - on the way of every hook
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def address_of(name: object) -> str:
    """The address of a socket's name; an IPv4 address in IPv6 clothes is the IPv4 address."""
    return str(name[0]).removeprefix("::ffff:") if isinstance(name, tuple) else ""
