"""Threads that read the ledger for people: never those that decisions and approvals need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from interpose.core.errors import StoreError, text_of
from interpose.doors.http_server.messages import Refusal

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

T = TypeVar("T")

READERS = 2
CATCHING_UP = 1.0
"""Seconds that a reader waits for the store to have what was recorded before it asked."""
STORE_UNAVAILABLE = (503, "store_unavailable")


class LedgerReaders:
    """Reads in a thread of its own. The threads are started when somebody asks."""

    def __init__(self, service: Service, name: str) -> None:
        self._service = service
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix=f"interpose:{name}")

    async def read(self, read: Callable[[], T]) -> T:
        """What is read. A store that can't be read is a refusal."""

        def caught_up() -> T:
            self._service.ledger.flush(CATCHING_UP)
            return read()

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, caught_up)
        except StoreError as error:
            raise Refusal(*STORE_UNAVAILABLE, f"the ledger can't be read now: {text_of(error)}") from None
