"""Who is at the other end of a transport."""

from __future__ import annotations

import os
import socket
import struct
from asyncio import BaseTransport

from interpose.surfaces.http_server.messages import Peer
from interpose.surfaces.http_server.tls import subject_of
from interpose.surfaces.http_server.trust import is_loopback


def peer_of(transport: BaseTransport) -> Peer:
    """The other end of a connection."""
    name: object = transport.get_extra_info("peername")
    if not isinstance(name, tuple):
        pid, uid = _credentials(transport)
        return Peer(kind="unix", loopback=True, pid=pid, uid=uid, start=_start_of(pid))
    address = address_of(name)
    subject = subject_of(transport.get_extra_info("peercert"))
    return Peer(kind="tcp", loopback=is_loopback(address), address=address, port=name[1], subject=subject)


def _credentials(transport: BaseTransport) -> tuple[int, int]:
    """The process and the user at the other end of a Unix socket. (0, -1) where the kernel does not say."""
    connected = transport.get_extra_info("socket")
    option = getattr(socket, "SO_PEERCRED", None)
    if connected is None or option is None:
        return 0, -1
    try:
        with socket.socket(fileno=os.dup(connected.fileno())) as copy:
            pid, uid, _group = struct.unpack("3i", copy.getsockopt(socket.SOL_SOCKET, option, 12))
    except OSError:
        return 0, -1
    return pid, uid


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
