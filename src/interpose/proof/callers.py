"""Which process asks at one of our TCP ports, as the kernel knows it.

The kernel finds a connection by both of its ends and says whose socket is at the other one. Which process holds that
socket is seen in the list of its open files.

INVARIANT: a caller of our own user that can't be placed counts as an agent which could be any process of this user.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import Literal

from interpose.proof.agents import SeenAgents
from interpose.proof.browsers import Connected, Ends, connected, holder_of, holds
from interpose.proof.processes import PROC
from interpose.proof.terminal import is_own_address

__all__ = ["Callers", "Ends", "Placed", "socket_at"]

_MOST_REMEMBERED = 64
_DIAGNOSIS = 4
_BY_FAMILY = 20
_REQUEST = 1
_NO_COOKIE = 0xFFFFFFFF
_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBBI")
_AT_USER = _HEADER.size + 4 + 48 + 12
"""Where the user and the number of the socket are in an answer."""

Placed = Literal["known", "gone", "elsewhere"]


class Callers:
    """Registers those who ask as agents. Safe to share by threads."""

    def __init__(self, agents: SeenAgents) -> None:
        self._agents = agents
        self._lock = threading.Lock()
        self._recent: OrderedDict[int, None] = OrderedDict()

    def register(self, ends: Ends) -> Placed:
        """Register the process at their end. `gone` means that no process waits for the answer any more."""
        if not is_own_address(ends.address) or not (PROC / "net").exists():
            return "elsewhere"
        found = socket_at(ends)
        if found is None:
            return "gone"
        if found.uid != os.geteuid():
            return "elsewhere"  # what another user starts is not ours, and does not answer as us
        if pid := self._holder(found.inode):
            self._agents.heard(pid, itself=True)
            return "known"
        if socket_at(ends) is None:
            return "gone"
        self._agents.miss()
        return "known"

    def _holder(self, inode: int) -> int:
        with self._lock:
            recent = list(reversed(self._recent))
        pid = next((one for one in recent if holds(one, inode)), 0) or holder_of(inode)
        if pid:
            with self._lock:
                self._recent[pid] = None
                self._recent.move_to_end(pid)
                if len(self._recent) > _MOST_REMEMBERED:
                    self._recent.popitem(last=False)
        return pid


def socket_at(ends: Ends) -> Connected | None:
    """The socket at their end of a connection, while a process holds it; None if there is none."""
    with suppress(OSError, struct.error):
        return _diagnosed(ends)
    return connected(ends)  # a kernel that does not answer such questions has the table


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
