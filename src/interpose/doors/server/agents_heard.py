"""Which agents have hooks on this machine, when they were heard of, and which of them work without asking."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from interpose.composition.service.overview import HeardAgent
from interpose.core.config.load import load
from interpose.core.errors import ConfigError, text_of
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.doctor import installed_targets, since_when
from interpose.doors.hooks.install.last_heard import LastHeard, seen_hosts
from interpose.doors.hooks.install.running_agents import running_agents
from interpose.doors.hooks.install.unguarded import switched_off, unasked_work
from interpose.doors.hooks.install.unheard_sessions import unheard_sessions
from interpose.people.approvals.questions import moment

if TYPE_CHECKING:
    from interpose.record.store.protocols import Store

FRESH_SECONDS = 5.0
"""How long a look is good: it opens the files of all agents, and many may want to see it."""


class AgentsHeard:
    """Looks for agents, and remembers for a moment what it saw. Safe for threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = Lock()
        self._seen: tuple[float, tuple[HeardAgent, ...]] | None = None

    def __call__(self) -> tuple[HeardAgent, ...]:
        """The agents by name. Raises StoreError."""
        with self._lock:
            if self._seen is None or monotonic() - self._seen[0] > FRESH_SECONDS:
                self._seen = (monotonic(), agents_heard(self._store))
            return self._seen[1]


def agents_heard(store: Store) -> tuple[HeardAgent, ...]:
    """Every agent that has hooks of ours for this user. Raises StoreError."""
    home = Path.home()
    try:
        targets = installed_targets(load(), home)
    except ConfigError as error:  # the server runs by what it read before: it is said, and nothing is known
        return (HeardAgent(name="", title="The configuration", heard=None, warnings=(text_of(error),)),)
    since = since_when(targets)
    managed = {target.facts.name for target, _ in targets if target.scope == "managed"}
    seen, unheard, running = seen_hosts(store), unheard_sessions(since, store), running_agents()
    return tuple(
        HeardAgent(
            name=name,
            title=HOSTS[name].facts.title,
            heard=moment(last.heard_ns) if (last := seen.get(name, LastHeard())).heard_ns else None,
            warnings=tuple(
                each.text
                for each in (
                    *switched_off(name, home, managed=name in managed),
                    *unasked_work(name, at_ns, seen.get(name), unheard, running),
                )
            ),
        )
        for name, at_ns in sorted(since.items())
    )
