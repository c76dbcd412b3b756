"""Calls that ran although a person had to be asked, and of which no record says that one agreed; and refused ones.

Honest use leaves none: who answers in our queue is recorded, and so is that a host asked at its own prompt. Whatever is
found here ran past its question or its refusal.
"""

from __future__ import annotations

from interpose.record.ledger.record import Record, search
from interpose.record.store.protocols import EntryStore, Query

MOST = 1000
"""The newest questions and refusals that are looked at, of each so many."""


def ran_unapproved(store: EntryStore, since_ns: int) -> list[Record]:
    """The newest first."""
    asked = search(store, Query(decision="ask", since_ns=since_ns), MOST)
    refused = search(store, Query(decision="deny", since_ns=since_ns), MOST)
    ran = [one for one in (*asked, *refused) if one.outcome in ("success", "error") and not one.approver]
    return sorted(ran, key=lambda one: one.time_ns, reverse=True)
