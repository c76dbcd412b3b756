"""Those who wait for an answer: one thread asks the store for them all; what is answered here wakes them at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from interpose.core.errors import StoreError

POLL_SECONDS = 0.15
MOST_WAITERS = 500
"""Callers that wait at the same time. Each of them holds a connection that others could use."""


class Waiters:
    """Any number of coroutines, on any loops."""

    def __init__(self, settled: Callable[[Sequence[str]], Iterable[str]], most: int = MOST_WAITERS) -> None:
        """`settled` says which questions need not be waited for any more. It may block."""
        self._settled, self._most = settled, most
        self._lock = threading.Lock()
        self._waiting: dict[str, set[Future[Any]]] = {}
        self._thread: threading.Thread | None = None
        self._over = False
        self.held = 0
        """How many wait."""

    @property
    def full(self) -> bool:
        """Whether nobody else can wait now."""
        return self._over or self.held >= self._most

    def let_go(self) -> None:
        """Everybody goes, and nobody comes any more."""
        with self._lock:
            self._over = True
            ids = [*self._waiting]
        self.wake(ids)

    async def wait(self, id: str, seconds: float) -> bool:
        """Come back when a question is settled, or when the time is up. False, at once, if there is no room."""
        future: Future[Any] = Future()
        with self._lock:
            if self.full:
                return False
            self.held += 1
            self._waiting.setdefault(id, set()).add(future)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._poll, name="interpose:approvals", daemon=True)
                self._thread.start()
        try:
            import asyncio

            await asyncio.wait({asyncio.wrap_future(future)}, timeout=seconds)
        finally:
            self._leave(id, future)
        return True

    def wake(self, ids: Iterable[str]) -> None:
        """These are settled."""
        with self._lock:
            ready = [future for id in ids for future in self._waiting.pop(id, ())]
        for future in ready:
            if future.set_running_or_notify_cancel():
                future.set_result(None)

    def _leave(self, id: str, future: Future[Any]) -> None:
        with self._lock:
            self.held -= 1
            if (others := self._waiting.get(id)) is not None:
                others.discard(future)
                if not others:
                    del self._waiting[id]
        future.cancel()

    def _poll(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(POLL_SECONDS)
            with self._lock:
                ids = [*self._waiting]
                if not ids:
                    self._thread = None
                    return
            try:
                self.wake(self._settled(ids))
            except StoreError:
                continue  # it may come back, and nobody waits for ever
