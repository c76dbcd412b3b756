"""From the journal to the store, in the background and in batches. A store that is away is tried until it is back."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from interpose.core.errors import SequenceTakenError, TamperedError, text_of
from interpose.record.ledger.checkpoints import Head
from interpose.record.store.protocols import EntryStore, StoredEntry

BATCH = 1000
BACKLOG = 50_000
"""Entries that may wait for the store. Past it the journal waits too, and so do those who write."""
_PAUSE = 0.05
"""Seconds that entries gather. One commit for many costs little more than one for a single entry."""
_LONGEST_PAUSE = 1.0


class Shipping:
    """A thread that appends to the store what the journal has."""

    def __init__(self, store: EntryStore, writer: str, shipped_seq: int, on_shipped: Callable[[Head], None]) -> None:
        self._store, self._writer, self._on_shipped = store, writer, on_shipped
        self._waiting: deque[StoredEntry] = deque()
        self._changed = threading.Condition()
        self._closing = self._hurry = self._knows_others = False
        self.shipped_seq = shipped_seq
        self.others: tuple[Head, ...] = ()
        self.problem = ""
        """Why the store did not take the last batch; empty if it did."""
        self._thread = threading.Thread(target=self._run, name="interpose:ledger-shipping", daemon=True)
        self._thread.start()

    def add(self, entries: Sequence[StoredEntry]) -> None:
        """Entries that are in the journal now."""
        self._waiting.extend(entries)

    def has_room(self, timeout: float) -> bool:
        """Whether more can be taken, within this time."""
        if len(self._waiting) < BACKLOG:
            return True
        with self._changed:
            return self._changed.wait_for(lambda: len(self._waiting) < BACKLOG, timeout)

    def flush(self, timeout: float) -> bool:
        """Wait until the store has everything. False if it did not take it in time."""
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not self._waiting, timeout)

    def close(self, timeout: float) -> bool:
        """Ship what is left and stop. False if the store did not take it in time: the journal still has it."""
        done = self.flush(timeout)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)
        return done

    def _run(self) -> None:
        pause = _PAUSE
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._hurry, pause)
                if self._closing:
                    return
                self._hurry = False
            pause = _PAUSE if self._ship() else min(_LONGEST_PAUSE, pause * 2)

    def _ship(self) -> bool:
        for _ in range(0, len(self._waiting), BATCH):
            batch = [self._waiting[at] for at in range(min(BATCH, len(self._waiting)))]
            try:
                self._append(batch)
            except Exception as error:  # noqa: BLE001 - whatever a store raises, the journal keeps the entries
                self.problem = text_of(error)
                return False
            self.problem = ""
            for _ in batch:
                self._waiting.popleft()
            self.shipped_seq = batch[-1].seq
            self._on_shipped(Head(self._writer, batch[-1].seq, batch[-1].hash.hex()))
            with self._changed:
                self._changed.notify_all()
        return True

    def stop(self) -> tuple[StoredEntry, ...]:
        """Stop at once, for a store that is not what it was. What it was not given yet."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        return tuple(self._waiting)

    def _append(self, batch: list[StoredEntry]) -> None:
        # INVARIANT: nothing counts as shipped that went to a file which nobody finds again.
        if why := self._store.tampered():
            raise TamperedError(why)
        try:
            self._store.append(batch, durable=True)
        except SequenceTakenError:
            # A commit whose answer was lost: what is there already must be what we sent.
            head = self._store.head(self._writer)
            if head is None or all(entry.hash != head.hash for entry in batch):
                raise
            if rest := [entry for entry in batch if entry.seq > head.seq]:
                self._store.append(rest, durable=True)
        if not self._knows_others or any(entry.kind == "checkpoint" for entry in batch):
            self.others = heads_of_others(self._store, self._writer)
            self._knows_others = True


def heads_of_others(store: EntryStore, writer: str) -> tuple[Head, ...]:
    """Where the chains of the other writers end."""
    found = (store.head(other) for other in store.writers() if other != writer)
    return tuple(Head(head.writer, head.seq, head.hash.hex()) for head in found if head is not None)
