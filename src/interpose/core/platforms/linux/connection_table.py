"""Connections of Linux: asked of the kernel by both of their ends, or looked up in its tables.

The kernel says whose socket is at the other end. Which process holds that socket is seen in the list of its open files.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from ipaddress import ip_address

from interpose.core.platforms.linux import process_table
from interpose.core.platforms.process_values import Connected, Ends

_CONNECTED = "01"
_LARGEST_TABLE = 16 << 20
_DIAGNOSIS = 4
_BY_FAMILY = 20
_REQUEST = 1
_NO_COOKIE = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBBI")
_AT_USER = _HEADER.size + 4 + 48 + 12
"""Where the user and the number of the socket are in an answer."""


def sees_connections() -> bool:
    """Whether the kernel tells of connections at all."""
    return (process_table.PROC / "net").exists()


def sees_every_user() -> bool:
    """Whether it tells of those of other users, too: a connection that is not found is none."""
    return True


def has_tables() -> bool:
    """Whether it has written them down."""
    return bool(_tables())


def socket_at(ends: Ends) -> Connected | None:
    """The socket at their end of a connection, while a process holds it; None if there is none."""
    with suppress(OSError, struct.error):
        return _diagnosed(ends)
    return connected(ends)  # a kernel that does not answer such questions has the table


def connected(ends: Ends) -> Connected | None:
    """The socket at their end, while somebody holds it and can still send; None if there is none in the tables."""
    # A program may speak to an IPv4 address by a socket for IPv6.
    wanted = {
        "tcp": (_name(ends.address, ends.port), _name(ends.our_address, ends.our_port)),
        "tcp6": (_name(_wide(ends.address), ends.port), _name(_wide(ends.our_address), ends.our_port)),
    }
    for table, text in _tables().items():
        for line in text.splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9 and (fields[1], fields[2]) == wanted[table] and fields[3] == _CONNECTED:
                found = Connected(int(fields[7]), int(fields[9]))
                return found if found.inode else None
    return None


def holder_of(inode: int) -> int:
    """The process that has a socket open, the youngest first; 0 if it can't be seen."""
    everyone = sorted(process_table.all_pids(), reverse=True)
    return next((pid for pid in everyone if holds(pid, inode)), 0)


def holds(pid: int, inode: int) -> bool:
    """Whether a process has a socket open; False if it has ended, or if we may not know."""
    wanted = f"socket:[{inode}]"
    place = f"{process_table.PROC}/{pid}/fd"
    try:
        handles = os.listdir(place)  # noqa: PTH208 - thousands of them, and each path costs
    except OSError:
        return False
    for handle in handles:
        with suppress(OSError):  # it was closed meanwhile
            if os.readlink(f"{place}/{handle}") == wanted:  # noqa: PTH115 - as above
                return True
    return False


def _diagnosed(ends: Ends) -> Connected | None:
    """One connection from the kernel. The tables of all would take long, and may miss one while they change."""
    family = socket.AF_INET6 if ":" in ends.address else socket.AF_INET
    theirs, ours = (socket.inet_pton(family, each).ljust(16, b"\0") for each in (ends.address, ends.our_address))
    ports = struct.pack(">HH", ends.port, ends.our_port)
    body = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 0, _NO_COOKIE)
    body += ports + theirs + ours + struct.pack("=III", 0, _NO_COOKIE, _NO_COOKIE)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _DIAGNOSIS) as kernel:
        kernel.settimeout(1.0)
        kernel.send(_HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _REQUEST, 1, 0) + body)
        answer = kernel.recv(8192)
    if _HEADER.unpack_from(answer)[1] != _BY_FAMILY:
        (error,) = struct.unpack_from("=i", answer, _HEADER.size)
        if -error == 2:  # there is no such connection
            return None
        raise OSError(-error, "the kernel does not answer")
    uid, inode = struct.unpack_from("=II", answer, _AT_USER)
    return Connected(uid, inode) if inode else None


def _tables() -> dict[str, str]:
    """What the kernel has written on all connections; empty on a system whose kernel does not."""
    found: dict[str, str] = {}
    for table in ("tcp", "tcp6"):
        with suppress(OSError), (process_table.PROC / "net" / table).open("rb") as file:
            found[table] = file.read(_LARGEST_TABLE).decode("ascii", "replace")
    return found


def _wide(address: str) -> str:
    return address if ":" in address else f"::ffff:{address}"


def _name(address: str, port: int) -> str:
    """An address as the kernel's tables write it: words of four bytes, each in the machine's own order."""
    try:
        packed = ip_address(address).packed
    except ValueError:
        return ""
    words = struct.unpack(f"!{len(packed) // 4}I", packed)
    return f"{''.join(f'{socket.htonl(word):08X}' for word in words)}:{port:04X}"
