"""Who is at the other end of a transport."""

from __future__ import annotations

from asyncio import BaseTransport

from interpose.surfaces.http_server.messages import Peer
from interpose.surfaces.http_server.tls import subject_of
from interpose.surfaces.http_server.trust import is_loopback


def peer_of(transport: BaseTransport) -> Peer:
    """The other end of a connection."""
    name: object = transport.get_extra_info("peername")
    if not isinstance(name, tuple):
        return Peer(kind="unix", loopback=True)
    address = address_of(name)
    subject = subject_of(transport.get_extra_info("peercert"))
    return Peer(kind="tcp", loopback=is_loopback(address), address=address, port=name[1], subject=subject)


def address_of(name: object) -> str:
    """The address of a socket's name; an IPv4 address in IPv6 clothes is the IPv4 address."""
    return str(name[0]).removeprefix("::ffff:") if isinstance(name, tuple) else ""
