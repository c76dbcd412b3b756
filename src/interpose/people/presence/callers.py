"""Which process asks at one of our TCP ports, as the kernel knows it.

INVARIANT: a caller of our own user that can't be placed counts as an agent which could be any process of this user.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Literal

from interpose.core.platforms.connections import holder_of, holds, sees_connections, sees_every_user, socket_at
from interpose.core.platforms.process_values import Ends
from interpose.people.presence.agents import SeenAgents
from interpose.people.presence.terminal import is_own_address

_MOST_REMEMBERED = 64

Placed = Literal["known", "gone", "elsewhere"]


class Callers:
    """Registers those who ask as agents. Safe to share by threads."""

    def __init__(self, agents: SeenAgents) -> None:
        self._agents = agents
        self._lock = threading.Lock()
        self._recent: OrderedDict[int, None] = OrderedDict()

    def register(self, ends: Ends) -> Placed:
        """Register the process at their end. `gone` means that no process waits for the answer any more."""
        if not is_own_address(ends.address) or not sees_connections():
            return "elsewhere"
        found = socket_at(ends)
        if found is None:
            return self._unseen()
        if found.uid != os.geteuid():
            return "elsewhere"  # what another user starts is not ours, and does not answer as us
        if pid := self._holder(found.inode):
            self._agents.heard(pid, itself=True)
            return "known"
        if socket_at(ends) is None:
            return self._unseen()
        self._agents.miss()
        return "known"

    def _unseen(self) -> Placed:
        """No process is at their end. Where the kernel hides those of other users, it may be one all the same."""
        if sees_every_user():
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
