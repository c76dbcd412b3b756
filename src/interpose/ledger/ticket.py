"""A place in the writer's queue, and the wait for what became of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from interpose.errors import AuditUnavailableError, text_of
from interpose.ledger.chain import Draft


class Ticket:
    """Drafts on their way into the journal. Those to `keep` get there however late: waiting for them never fails."""

    __slots__ = ("_call", "_deadline", "_done", "_guard", "_lock", "abandoned", "drafts", "error", "keep")

    def __init__(self, drafts: tuple[Draft, ...], deadline: float, *, keep: bool) -> None:
        self.drafts, self.keep = drafts, keep
        self._deadline = monotonic() + deadline
        self._lock = threading.Lock()
        self._lock.acquire()
        self._guard = threading.Lock()
        self._done = self.abandoned = False
        self._call: Callable[[], None] | None = None
        self.error: BaseException | None = None

    def settle(self, error: BaseException | None) -> None:
        """Say what became of it. For the writer, once."""
        self.error = error
        with self._guard:
            self._done = True
            call = self._call
        self._lock.release()
        if call is not None:
            call()

    @property
    def left(self) -> float:
        """Seconds until nobody waits any more."""
        return max(0.0, self._deadline - monotonic())

    def when_settled(self, call: Callable[[], None]) -> None:
        """Call this when it is settled, in the writer's thread, or at once."""
        with self._guard:
            if not self._done:
                self._call = call
                return
        call()

    def wait(self) -> None:
        """Come back when it is recorded. Raises AuditUnavailableError if it is not, or not in time."""
        settled = self._settled(self.left)
        if self.keep:
            return
        if not settled:
            self.abandoned = True
            raise AuditUnavailableError("the storage did not answer in time")
        if self.error is not None:
            raise AuditUnavailableError(text_of(self.error)) from self.error

    def _settled(self, timeout: float) -> bool:
        if self._done:
            return True
        if self._lock.acquire(timeout=timeout):
            self._lock.release()
            return True
        return self._done
