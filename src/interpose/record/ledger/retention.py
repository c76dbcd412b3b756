"""Retention: old entries go, the chain still verifies.

First the removal is noted and signed in the remover's own chain, then the entries go. What is left of a chain starts
behind an entry whose hash that note knows. Few go at a time: those who write wait for the store no longer than that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from itertools import islice
from time import time_ns
from typing import TYPE_CHECKING

from interpose.core.errors import text_of
from interpose.record.ledger.chain import entries_of
from interpose.record.ledger.checkpoints import Head, retained
from interpose.record.ledger.steady_clock import DAY_NS
from interpose.record.store.protocols import EntryStore, StoredEntry

if TYPE_CHECKING:
    from interpose.record.ledger.ledger import Ledger

AT_ONCE = 5000
_PASSES = 16
_ROOM = 0.9
"""How much of the size is used again: entries don't come evenly, and the next ones need room."""
_PATIENCE = 10.0


class Retention:
    """Removes by itself: at the start, and then every so often. A failure is told in `problem` and tried again."""

    def __init__(self, ledger: Ledger, pause: Callable[[float], bool] | None = None) -> None:
        """`pause` waits so many seconds, and says True when it is over for good."""
        self._ledger, self._end = ledger, threading.Event()
        self._pause = pause or self._end.wait
        self.problem = ""
        self._thread = threading.Thread(target=self._run, name="interpose:ledger-retention", daemon=True)
        self._thread.start()

    def close(self, timeout: float) -> None:
        """Stop, at the latest after the entries that go just now."""
        self._end.set()
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            try:
                retain(self._ledger, stopped=self._end.is_set)
            except Exception as error:  # noqa: BLE001 - whatever a store raises, the next time may be better
                self.problem = text_of(error)
            else:
                self.problem = self._ledger.clock.problem
            if self._pause(self._ledger.settings.retain_every):
                return


def retain(ledger: Ledger, *, now_ns: int | None = None, stopped: Callable[[], bool] = lambda: False) -> int:
    """Remove what the settings say is too old or too much. Says how many entries went.

    INVARIANT: no jump of the clock removes anything. Ages are counted by a clock that does not jump (`now_ns` is
    believed as it is), and what is too much goes in the order in which it came, whatever time it says.
    """
    settings = ledger.settings
    removed = 0
    if settings.max_age_days is not None:
        if now_ns is None:
            now_ns = ledger.clock.now(time_ns(), _newest(ledger.store))
        before = now_ns - int(settings.max_age_days * DAY_NS)
        removed += _remove(ledger, lambda entry: entry.time_ns < before, stopped)
    if settings.max_bytes is not None:
        for _ in range(_PASSES):
            size = ledger.store.size()
            if size <= settings.max_bytes or stopped():
                break
            oldest, newest = _span(ledger.store)
            before = oldest + int((newest - oldest) * (1 - _ROOM * settings.max_bytes / size)) + 1
            gone = _remove(ledger, partial(_came_before, before), stopped)
            if not gone:
                break
            removed += gone
    return removed


def _came_before(position: int, entry: StoredEntry) -> bool:
    return entry.position < position


def _remove(ledger: Ledger, goes: Callable[[StoredEntry], bool], stopped: Callable[[], bool]) -> int:
    removed = 0
    for writer in ledger.store.writers():
        # The last entry of a chain always stays. It is looked up once: notes about removals make our own chain longer.
        head = ledger.store.head(writer)
        while head is not None and not stopped():
            last = _last_going(ledger.store, writer, goes, head.seq)
            if last is None:
                break
            note = retained(Head(writer, last.seq, last.hash.hex()), ledger.keys.checkpoints)
            ledger.writer.submit((note,), keep=False).wait()
            # INVARIANT: the note is in the store before what it explains is gone.
            if not ledger.flush(_PATIENCE):
                return removed
            removed += ledger.store.drop(writer, last.seq)
    return removed


def _last_going(
    store: EntryStore, writer: str, goes: Callable[[StoredEntry], bool], end_seq: int
) -> StoredEntry | None:
    """The last of the first entries of a chain that go."""
    last: StoredEntry | None = None
    for entry in islice(entries_of(store, writer), AT_ONCE):
        if not goes(entry) or entry.seq >= end_seq:
            break
        last = entry
    return last


def _span(store: EntryStore) -> tuple[int, int]:
    """The positions of the oldest and the newest entry."""
    first = [page[0].position for writer in store.writers() if (page := store.scan(writer, 0, 1))]
    last = [head.position for writer in store.writers() if (head := store.head(writer)) is not None]
    return min(first, default=0), max(last, default=0)


def _newest(store: EntryStore) -> int:
    """The time of the newest entry, by its place; now if there is none."""
    heads = [head for writer in store.writers() if (head := store.head(writer)) is not None]
    return max(heads, key=lambda head: head.position).time_ns if heads else time_ns()
