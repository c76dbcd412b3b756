"""What is wrong with the ledger, in the log: a line when it begins, and a line when it is over.

Calls are refused while nothing can be recorded. Whoever reads the log must see why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from interpose.record.ledger import LedgerStatus

log = logging.getLogger("interpose.ledger")

EVERY = 1.0


class LedgerAlarm:
    """Looks at a ledger from time to time."""

    def __init__(self, status: Callable[[], LedgerStatus]) -> None:
        self._status = status
        self._said: set[str] = set()

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(EVERY)

    def look(self) -> None:
        """Say what has changed. A problem whose words change is still the same problem."""
        found = self._status()
        for what, problem in (
            ("the ledger", found.problem),
            ("the log of decisions", found.log_problem),
            ("retention", found.retention_problem),
            ("anchoring", found.anchor_problem),
            ("room for the ledger", found.space_problem),
        ):
            if problem and what not in self._said:
                log.error("%s fails: %s", what, problem)
                self._said.add(what)
            elif not problem and what in self._said:
                log.warning("%s works again", what)
                self._said.remove(what)
