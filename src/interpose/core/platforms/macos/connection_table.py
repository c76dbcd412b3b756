"""Connections of macOS: looked up among the open sockets of every process that this user may look into.

The kernel tells a user nothing of the sockets of other users. So a connection that is not found here may be another
user's, and is nobody's that we know.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_address

from interpose.core.platforms.macos import process_table
from interpose.core.platforms.macos.layouts import (
    IN_SOCKINFO,
    INI_IPV4,
    PROX_FDTYPE_SOCKET,
    SOCKINFO_TCP,
    SOI_KIND_AT,
    SOI_SO_AT,
    TCP_AT,
    TCP_STATE_AT,
    TSI_S_ESTABLISHED,
)
from interpose.core.platforms.macos.libproc import kernel
from interpose.core.platforms.process_values import Connected, Ends


def sees_connections() -> bool:
    """Whether the kernel tells of connections at all."""
    return True


def sees_every_user() -> bool:
    """Whether it tells of those of other users, too: a connection that is not found is none."""
    return os.geteuid() == 0


def has_tables() -> bool:
    """Whether a connection that is not found answers nothing."""
    return True


def socket_at(ends: Ends) -> Connected | None:
    """The socket at their end of a connection, while a process holds it; None if there is none."""
    return connected(ends)


def connected(ends: Ends) -> Connected | None:
    """The socket at their end, while somebody holds it and can still send; None if there is none that we see."""
    wanted = (_packed(ends.address), ends.port, _packed(ends.our_address), ends.our_port)
    for pid in _youngest_first():
        for data in _sockets(pid):
            if _ends_of(data) == wanted:
                with suppress(OSError):  # it has ended meanwhile
                    return Connected(process_table.owner_of(pid), _number_of(data))
    return None


def holder_of(inode: int) -> int:
    """The process that has a socket open, the youngest first; 0 if it can't be seen."""
    return next((pid for pid in _youngest_first() if holds(pid, inode)), 0)


def holds(pid: int, inode: int) -> bool:
    """Whether a process has a socket open; False if it has ended, or if we may not know."""
    return any(_number_of(data) == inode for data in _sockets(pid))


def _youngest_first() -> list[int]:
    return sorted(process_table.all_pids(), reverse=True)


def _sockets(pid: int) -> Iterator[bytes]:
    """Every socket that a process has open; none if it has ended, or if we may not know."""
    try:
        files = kernel().open_files(pid)
    except OSError:
        return
    for number, kind in files:
        if kind == PROX_FDTYPE_SOCKET:
            with suppress(OSError):  # it was closed meanwhile
                yield kernel().socket(pid, number)


def _number_of(data: bytes) -> int:
    return int.from_bytes(data[SOI_SO_AT : SOI_SO_AT + 8], "little")


def _ends_of(data: bytes) -> tuple[bytes, int, bytes, int] | None:
    """Both ends of a TCP connection that is open, its own first; None of any other socket."""
    kind, state = (int.from_bytes(data[at : at + 4], "little") for at in (SOI_KIND_AT, TCP_STATE_AT))
    if kind != SOCKINFO_TCP or state != TSI_S_ESTABLISHED:
        return None
    far_port, port, version, _lifetime, far, near = IN_SOCKINFO.unpack_from(data, TCP_AT)
    if version & INI_IPV4:
        near, far = near[12:], far[12:]
    return _short(near), socket.ntohs(port & 0xFFFF), _short(far), socket.ntohs(far_port & 0xFFFF)


def _packed(address: str) -> bytes:
    try:
        return _short(ip_address(address).packed)
    except ValueError:
        return b""


def _short(packed: bytes) -> bytes:
    """A program may speak to an IPv4 address by a socket for IPv6."""
    return packed.removeprefix(b"\0" * 10 + b"\xff\xff") if len(packed) == 16 else packed
