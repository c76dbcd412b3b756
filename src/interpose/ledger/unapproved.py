"""Calls that ran although a person had to be asked, and of which no record says that one agreed.

Honest use leaves none: who answers in our queue is recorded, and so is that a host asked at its own prompt. Whatever is
found here ran past its question.
"""

from __future__ import annotations

from interpose.ledger.record import Record, search
from interpose.store.protocols import EntryStore, Query

MOST = 1000
"""The newest questions that are looked at."""


def ran_unapproved(store: EntryStore, since_ns: int) -> list[Record]:
    """The newest first."""
    asked = search(store, Query(decision="ask", since_ns=since_ns), MOST)
    return [one for one in asked if one.outcome in ("success", "error") and not one.approver]
