"""Sessions and counters of an engine that has no store: they end with the process, and are bounded.

The session that was changed longest ago is forgotten first, but none that is halted: who could flood the memory with
sessions could lift a halt. Counters are never forgotten before their time: without room, nothing more is spent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from interpose.core.errors import StoreError
from interpose.record.store.protocols import SessionState, Spending
from interpose.rules.governance.budgets.counter_names import has_ended

MOST_SESSIONS = 2_000
MOST_COUNTERS = 100_000
_NOT_HALTED = b'"halt":null'
_LOOKED_AT = 100
"""Sessions that are looked at to find one that may be forgotten."""


class MemorySessions:
    """Rows of sessions in memory, with what a store promises of them."""

    def __init__(self, most: int = MOST_SESSIONS) -> None:
        self._most = most
        self._rows: dict[str, SessionState] = {}
        """The one that was changed longest ago is the first."""
        self._lock = threading.Lock()

    def load_session(self, session: str) -> SessionState | None:
        """A row as it is now."""
        return self._rows.get(session)

    def save_session(self, session: str, body: bytes, *, version: int, now_ns: int) -> bool:
        """Replace the row that had this version; 0 makes a new one. False: somebody else was faster."""
        with self._lock:
            known = self._rows.get(session)
            if version != (known.version if known else 0):
                return False
            if known is None and len(self._rows) >= self._most:
                self._forget_one()
            self._rows.pop(session, None)
            self._rows[session] = SessionState(session=session, version=version + 1, updated_ns=now_ns, body=body)
            return True

    def sessions(self, *, since_ns: int = 0, limit: int = 1000, prefix: str = "") -> list[SessionState]:
        """Rows that changed since then, the last changed first; those whose names begin so."""
        with self._lock:
            rows = [row for row in self._rows.values() if row.updated_ns >= since_ns and row.session.startswith(prefix)]
        return sorted(rows, key=lambda row: (-row.updated_ns, row.session))[:limit]

    def _forget_one(self) -> None:
        oldest = [name for name, _ in zip(self._rows, range(_LOOKED_AT), strict=False)]
        name = next((name for name in oldest if _NOT_HALTED in self._rows[name].body), "")
        if not name:
            raise StoreError(f"there is no room for another session beside {len(self._rows)}, most of them halted")
        del self._rows[name]


class MemoryCounters:
    """Counters in memory, with what a store promises of them."""

    def __init__(self, most: int = MOST_COUNTERS, *, clock: Callable[[], int] = time.time_ns) -> None:
        self._most, self._clock = most, clock
        self._spent: dict[str, int] = {}
        self._lock = threading.Lock()

    def spend(self, counter: str, amount: int, *, budget: int) -> int | None:
        """Add to a counter and say what it is now; None, and nothing is added, if that would exceed the budget."""
        return None if self.spend_all([Spending(counter, amount, budget)]) else self.spent(counter)

    def spend_all(self, spendings: Sequence[Spending]) -> tuple[str, ...]:
        """Add to several counters: to all, or to none if one would exceed its budget. Says which would; none is yes."""
        with self._lock:
            self._make_room(sum(one.counter not in self._spent for one in spendings))
            over = [one for one in spendings if self._spent.get(one.counter, 0) + one.amount > one.budget]
            if not over:
                self._spent |= {one.counter: self._spent.get(one.counter, 0) + one.amount for one in spendings}
            return tuple(one.counter for one in over)

    def spent(self, counter: str) -> int:
        """What a counter is now; 0 if nobody spent anything."""
        return self._spent.get(counter, 0)

    def spent_of(self, counters: Sequence[str]) -> dict[str, int]:
        """What these counters are now, all at one moment."""
        with self._lock:
            return {counter: self._spent.get(counter, 0) for counter in counters}

    def _make_room(self, more: int) -> None:
        if not more or len(self._spent) + more <= self._most:
            return
        now_ns = self._clock()
        self._spent = {name: spent for name, spent in self._spent.items() if not has_ended(name, now_ns)}
        if len(self._spent) + more > self._most:
            raise StoreError(f"there is no room for another counter beside {len(self._spent)}")
