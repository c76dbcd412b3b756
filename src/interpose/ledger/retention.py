"""Retention: old entries go, the chain still verifies.

First the removal is noted and signed in the remover's own chain, then the entries go. What is left of a chain starts
behind an entry whose hash that note knows.
"""

from __future__ import annotations

from time import time_ns

from interpose.ledger.chain import entries_of
from interpose.ledger.checkpoints import Head, retained
from interpose.ledger.ledger import CLOSING, Ledger
from interpose.store.protocols import EntryStore, StoredEntry

_DAY_NS = 86_400_000_000_000
_PASSES = 8


def retain(ledger: Ledger, *, now_ns: int | None = None) -> int:
    """Remove what the settings say is too old or too much. Says how many entries went."""
    settings = ledger.settings
    removed = 0
    if settings.max_age_days is not None:
        before = (time_ns() if now_ns is None else now_ns) - int(settings.max_age_days * _DAY_NS)
        removed += _remove(ledger, before)
    if settings.max_bytes is not None:
        for _ in range(_PASSES):
            size = ledger.store.size()
            if size <= settings.max_bytes:
                break
            oldest, newest = _span(ledger.store)
            gone = _remove(ledger, oldest + int((newest - oldest) * (1 - settings.max_bytes / size)) + 1)
            if not gone:
                break
            removed += gone
    return removed


def _remove(ledger: Ledger, before_ns: int) -> int:
    removed = 0
    for writer in ledger.store.writers():
        last = _last_before(ledger.store, writer, before_ns)
        if last is None:
            continue
        note = retained(Head(writer, last.seq, last.hash.hex()), ledger.keys.checkpoints)
        ledger.writer.submit((note,), keep=False).wait()
        # INVARIANT: the note is in the store before what it explains is gone.
        if not ledger.flush(CLOSING):
            break
        removed += ledger.store.drop(writer, last.seq)
    return removed


def _last_before(store: EntryStore, writer: str, before_ns: int) -> StoredEntry | None:
    """The last of the entries at the start of a chain that are older. The chain's own last entry always stays."""
    last: StoredEntry | None = None
    head = store.head(writer)
    for entry in entries_of(store, writer):
        if entry.time_ns >= before_ns or head is None or entry.seq >= head.seq:
            break
        last = entry
    return last


def _span(store: EntryStore) -> tuple[int, int]:
    first = [page[0].time_ns for writer in store.writers() if (page := store.scan(writer, 0, 1))]
    last = [head.time_ns for writer in store.writers() if (head := store.head(writer)) is not None]
    return min(first, default=0), max(last, default=0)
