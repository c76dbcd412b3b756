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

from interpose.core.errors import NotProvenError
from interpose.core.platforms.connections import connected, has_tables, holder_of
from interpose.core.platforms.process_values import Ends
from interpose.effects.agents.known_agents import MARKS, PROCESS_NAMES
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.processes import ancestry, environment_of

_LOOKS = 3


def prove_browser(ends: Ends, agents: SeenAgents, *, uid: int) -> None:
    """Raises NotProvenError if the process at their end of a connection is not this user's, or an agent started it."""
    if not has_tables():
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
