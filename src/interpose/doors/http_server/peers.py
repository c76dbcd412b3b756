"""Who is at the other end of a transport."""

from __future__ import annotations

import struct
from asyncio import BaseTransport
from typing import Any

from interpose.core.platforms.peers import peer_credentials
from interpose.core.platforms.processes import start_of
from interpose.doors.http_server.messages import UNKNOWN_USER, Peer
from interpose.doors.http_server.tls import subject_of
from interpose.doors.http_server.trust import is_loopback


def peer_of(transport: BaseTransport) -> Peer:
    """The other end of a connection."""
    name: object = transport.get_extra_info("peername")
    if not isinstance(name, tuple):
        pid, uid, gid = _credentials(transport.get_extra_info("socket"))
        return Peer(kind="unix", loopback=True, pid=pid, uid=uid, gid=gid, start=start_of(pid))
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
    try:
        found = peer_credentials(connected)
    except (OSError, struct.error):
        return 0, _NOBODYS, _NOBODYS
    if found is None:  # the system doesn't tell; only its owner can open the socket
        return 0, UNKNOWN_USER, UNKNOWN_USER
    return found.pid, found.uid, found.gid


_NOBODYS = -2


def address_of(name: object) -> str:
    """The address of a socket's name; an IPv4 address in IPv6 clothes is the IPv4 address."""
    return str(name[0]).removeprefix("::ffff:") if isinstance(name, tuple) else ""
