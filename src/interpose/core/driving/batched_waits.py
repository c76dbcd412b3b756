"""Many waits of one event loop for another thread: they are sent together, come back together and share one timer.

Two threads of Python that call each other for every single thing spend more time on that than on the thing.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_HERE = threading.local()


def waits_of(loop: asyncio.AbstractEventLoop) -> BatchedWaits:
    """The waits of this thread's running loop."""
    here: BatchedWaits | None = getattr(_HERE, "waits", None)
    if here is None or here.loop is not loop:
        here = _HERE.waits = BatchedWaits(loop)
    return here


class BatchedWaits:
    """What a loop waits for. Only `settled` may be called in other threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._due: dict[asyncio.Future[None], float] = {}
        self._next = float("inf")
        self._settled: deque[asyncio.Future[None]] = deque()
        self._woken = False
        self._sends: dict[Callable[[], None], None] = {}

    def send_soon(self, send: Callable[[], None]) -> None:
        """Call this once for all who ask for it in this turn of the loop."""
        if not self._sends:
            self.loop.call_soon(self._send)
        self._sends[send] = None

    def expect(self, timeout: float) -> asyncio.Future[None]:
        """Something to wait for, which also ends when the time is up. To be given to `forget` afterwards."""
        future: asyncio.Future[None] = self.loop.create_future()
        due = self._due[future] = self.loop.time() + timeout
        if due < self._next:
            self._next = due
            self.loop.call_at(due, self._expire, due)
        return future

    def forget(self, future: asyncio.Future[None]) -> None:
        """Nobody waits for it any more."""
        del self._due[future]

    def settled(self, future: asyncio.Future[None]) -> None:
        """It came, maybe for the second time. From any thread."""
        # INVARIANT: it is in the queue before the flag is looked at, and `_take` lowers the flag before it looks there.
        self._settled.append(future)
        if self._woken:
            return
        self._woken = True
        try:
            self.loop.call_soon_threadsafe(self._take)
        except RuntimeError:
            pass  # the loop was closed meanwhile: nobody waits any more

    def _send(self) -> None:
        sends, self._sends = self._sends, {}
        for send in sends:
            send()

    def _take(self) -> None:
        self._woken = False
        while self._settled:
            _end(self._settled.popleft())

    def _expire(self, due: float) -> None:
        """End what is overdue. A timer for each wait would cost as much as what is waited for."""
        if due != self._next:
            return  # an earlier timer took the place of this one
        now = max(due, self.loop.time())
        self._next = float("inf")
        for future, end in self._due.items():
            if end <= now:
                _end(future)
            else:
                self._next = min(self._next, end)
        if self._next < float("inf"):
            self.loop.call_at(self._next, self._expire, self._next)


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
