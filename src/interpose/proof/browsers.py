"""Which process a browser's connection belongs to, as the kernel knows it: a cookie that an agent found is worth less.

A paired browser shows a cookie, and whoever reads it from the disk or the memory of the browser has it, too. But the
kernel says which process is at the other end of a connection on this machine. One that an agent started is no person's.
Where the kernel does not tell, nothing is refused; nor is a process whose parents are gone.

INVARIANT: where the kernel has a table of connections, one that is not in it answers nothing, and of those of our own
user none that no process holds from before we look until after. Whoever sends an answer and closes their end at once,
or leaves it on its way to another process, would otherwise be nobody.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from ipaddress import ip_address

from msgspec import Struct

from interpose.agents.known_agents import MARKS, PROCESS_NAMES
from interpose.errors import NotProvenError
from interpose.proof.agents import SeenAgents
from interpose.proof.processes import PROC, ancestry, environment_of

_CONNECTED = "01"
_LARGEST_TABLE = 16 << 20
_LOOKS = 3


class Ends(Struct, frozen=True):
    """Both ends of a connection: theirs, and ours. One port of theirs may be that of several connections."""

    address: str
    port: int
    our_address: str
    our_port: int


class Connected(Struct, frozen=True):
    """The other end of a connection: whose it is, and the number of its socket."""

    uid: int
    inode: int


def prove_browser(ends: Ends, agents: SeenAgents, *, uid: int) -> None:
    """Raises NotProvenError if the process at their end of a connection is not this user's, or an agent started it."""
    if not _tables():
        return
    # A table is written while it is read, and one that comes and goes may hide its neighbour.
    found = next(filter(None, (connected(ends) for _ in range(_LOOKS))), None)
    if found is None:
        raise _of_nobody()
    if found.uid not in (uid, 0):
        raise NotProvenError(f"this answer does not count: it comes from user {found.uid}, and user {uid} was let in")
    if agents.crowded and found.uid == os.geteuid():
        # As at a terminal: an agent that starts many others would be forgotten itself.
        raise NotProvenError("this answer does not count: more agents ask here than can be watched")
    holder = holder_of(found.inode)
    chain = ancestry(holder)
    if (agent := agents.among(chain)) is not None:
        raise _of_agent(f"{agent.name} (process {agent.pid}), an agent that asks here")
    for one in chain:
        if one.name in PROCESS_NAMES:
            raise _of_agent(f"{one.name} (process {one.pid}), an agent")
        if mark := next((name for name in MARKS if name in environment_of(one.pid)), ""):
            raise _of_agent(f"an agent, which set {mark}")
    # Processes of other users can't be looked into: there it counts whose the connection is.
    if found.uid == os.geteuid() and not (chain and holder_of(found.inode) == holder):
        raise _of_nobody()


def _of_nobody() -> NotProvenError:
    return NotProvenError(
        "this answer does not count: the system does not say which process it came from, as it hides or does not wait "
        "for what we say to it; answer in a browser of your own, or in a terminal (interpose approvals approve ID)"
    )


def _of_agent(who: str) -> NotProvenError:
    return NotProvenError(
        f"this answer does not count: the browser that answers was started by {who}; answer in a browser of your own, "
        "or in a terminal (interpose approvals approve ID)"
    )


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


def _tables() -> dict[str, str]:
    """What the kernel has written on all connections; empty on a system whose kernel does not."""
    found: dict[str, str] = {}
    for table in ("tcp", "tcp6"):
        with suppress(OSError), (PROC / "net" / table).open("rb") as file:
            found[table] = file.read(_LARGEST_TABLE).decode("ascii", "replace")
    return found


def holder_of(inode: int) -> int:
    """The process that has a socket open, the youngest first; 0 if it can't be seen."""
    everyone = sorted(map(int, filter(str.isdecimal, os.listdir(PROC))), reverse=True)  # noqa: PTH208 - thousands
    return next((pid for pid in everyone if holds(pid, inode)), 0)


def holds(pid: int, inode: int) -> bool:
    """Whether a process has a socket open; False if it has ended, or if we may not know."""
    wanted = f"socket:[{inode}]"
    try:
        handles = os.listdir(f"{PROC}/{pid}/fd")  # noqa: PTH208 - thousands of them, and each path costs
    except OSError:
        return False
    for handle in handles:
        with suppress(OSError):  # it was closed meanwhile
            if os.readlink(f"{PROC}/{pid}/fd/{handle}") == wanted:  # noqa: PTH115 - as above
                return True
    return False


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
