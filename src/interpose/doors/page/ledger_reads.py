"""Reading the ledger for a screen, in threads of its own: looking never takes those away that decisions need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from interpose.core.errors import StoreError, text_of
from interpose.doors.http_server.messages import Refusal
from interpose.record.store.protocols import EntryStore, Query

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

T = TypeVar("T")

READERS = 2
CATCHING_UP = 1.0
"""Seconds that a reader waits for the store to have what was recorded before it asked."""
_readers = ThreadPoolExecutor(READERS, thread_name_prefix="interpose:page")


def has_decisions(store: EntryStore) -> bool:
    """Whether anything was decided yet. Blocks."""
    return bool(store.query(Query(kinds=("decided",)), 1))


async def read_ledger(service: Service, read: Callable[[], T]) -> T:
    """What `read` finds, with all that was recorded until now. Refusal if the store can't be reached."""

    def caught_up() -> T:
        service.ledger.flush(CATCHING_UP)
        return read()

    try:
        return await asyncio.get_running_loop().run_in_executor(_readers, caught_up)
    except StoreError as error:
        raise Refusal(503, "store_unavailable", f"the ledger can't be read now: {text_of(error)}") from None
