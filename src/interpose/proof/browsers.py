"""Which process a browser's connection belongs to, as the kernel knows it: a cookie that an agent found is worth less.

A paired browser shows a cookie, and whoever reads it from the disk or the memory of the browser has it, too. But the
kernel says which process is at the other end of a connection on this machine. One that an agent started is no person's.
What can't be seen proves nothing and refuses nothing: a process that hides, or whose parents are gone.
"""

from __future__ import annotations

import os
import socket
import struct
from ipaddress import ip_address

from msgspec import Struct

from interpose.errors import NotProvenError
from interpose.proof.agents import SeenAgents
from interpose.proof.processes import PROC, ancestry, environment_of
from interpose.proof.terminal import AGENT_MARKS, AGENT_NAMES

_CONNECTED = "01"
_LARGEST_TABLE = 16 << 20


class Connected(Struct, frozen=True):
    """The other end of a connection: whose it is, and the number of its socket."""

    uid: int
    inode: int


def prove_browser(address: str, port: int, agents: SeenAgents, *, uid: int) -> None:
    """Raises NotProvenError if the process at this end of a connection is not this user's, or an agent started it."""
    found = connected(address, port)
    if found is None:
        return
    if found.uid not in (uid, 0):
        raise NotProvenError(f"this answer does not count: it comes from user {found.uid}, and user {uid} was let in")
    chain = ancestry(holder_of(found.inode))
    if (agent := agents.among(chain)) is not None:
        raise _of_agent(f"{agent.name} (process {agent.pid}), an agent that asks here")
    for one in chain:
        if one.name in AGENT_NAMES:
            raise _of_agent(f"{one.name} (process {one.pid}), an agent")
        if mark := next((name for name in AGENT_MARKS if name in environment_of(one.pid)), ""):
            raise _of_agent(f"an agent, which set {mark}")


def _of_agent(who: str) -> NotProvenError:
    return NotProvenError(
        f"this answer does not count: the browser that answers was started by {who}; answer in a browser of your own, "
        "or in a terminal (interpose approvals approve ID)"
    )


def connected(address: str, port: int) -> Connected | None:
    """The socket at this address of this machine; None if there is none that can be seen."""
    # A program may speak to an IPv4 address by a socket for IPv6.
    wide = address if ":" in address else f"::ffff:{address}"
    for table, name in (("tcp", _name(address, port)), ("tcp6", _name(wide, port))):
        try:
            with (PROC / "net" / table).open("rb") as file:
                lines = file.read(_LARGEST_TABLE).decode("ascii", "replace").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[1] == name and fields[3] == _CONNECTED:
                return Connected(int(fields[7]), int(fields[9]))
    return None


def holder_of(inode: int) -> int:
    """The process that has a socket open; 0 if it can't be seen."""
    wanted = f"socket:[{inode}]"
    for pid in filter(str.isdecimal, os.listdir(PROC)):  # noqa: PTH208 - thousands of them, and each path costs
        try:
            for handle in os.listdir(f"{PROC}/{pid}/fd"):  # noqa: PTH208 - as above
                if os.readlink(f"{PROC}/{pid}/fd/{handle}") == wanted:  # noqa: PTH115 - as above
                    return int(pid)
        except OSError:
            continue  # it ended meanwhile, or is none of our business
    return 0


def _name(address: str, port: int) -> str:
    """An address as the kernel's tables write it: words of four bytes, each in the machine's own order."""
    try:
        packed = ip_address(address).packed
    except ValueError:
        return ""
    words = struct.unpack(f"!{len(packed) // 4}I", packed)
    return f"{''.join(f'{socket.htonl(word):08X}' for word in words)}:{port:04X}"
