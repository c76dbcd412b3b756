"""What a kernel says of processes and connections, in the same words on every system."""

from __future__ import annotations

from msgspec import Struct


class Process(Struct, frozen=True, kw_only=True):
    """One process. With its start it is one for ever: numbers are used again.

    `terminal` is the number of its controlling terminal, 0 without one; `foreground` the process group that reads it.
    `start` is in the kernel's own units, as `processes.ticks_now` is.
    """

    pid: int
    start: int
    parent: int
    group: int
    session: int
    terminal: int
    foreground: int
    name: str

    @property
    def identity(self) -> tuple[int, int]:
        """What tells it from all others since the machine was started."""
        return self.pid, self.start


class Credentials(Struct, frozen=True):
    """The process, user and group at the other end of a Unix socket. `pid` is 0 where only the user is known."""

    pid: int
    uid: int
    gid: int


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
