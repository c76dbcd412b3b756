"""A place in the writer's queue, and the wait for what became of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

from interpose.core.errors import AuditUnavailableError, text_of
from interpose.record.ledger.chain import Draft


class Ticket:
    """Drafts on their way into the journal. Those to `keep` get there however late: waiting for them never fails.

    INVARIANT: whoever waits says so before it looks whether it is done, and `settle` says that it is done before it
    looks who waits. So one of them sees the other, without a lock between them.
    """

    __slots__ = (
        "_call",
        "_deadline",
        "_done",
        "_lock",
        "abandoned",
        "drafts",
        "error",
        "keep",
        "late",
        "send",
        "since",
    )

    def __init__(
        self,
        drafts: tuple[Draft, ...],
        deadline: float,
        *,
        keep: bool,
        send: Callable[[], None] = lambda: None,
        late: str = "the storage did not answer in time",
    ) -> None:
        """`send` wakes whoever settles it, unless that one is awake anyway. `late` is said of one that is not settled
        in time."""
        self.drafts, self.keep, self.send, self.late = drafts, keep, send, late
        self.since = monotonic()
        self._deadline = self.since + deadline
        self._done = self.abandoned = False
        self._lock: threading.Lock | None = None
        self._call: Callable[[], None] | None = None
        self.error: BaseException | None = None

    def settle(self, error: BaseException | None) -> None:
        """Say what became of it. For the writer, once."""
        self.error = error
        self._done = True
        if self._lock is not None:
            self._lock.release()
        if self._call is not None:
            self._call()

    @property
    def left(self) -> float:
        """Seconds until nobody waits any more."""
        return max(0.0, self._deadline - monotonic())

    def when_settled(self, call: Callable[[], None]) -> None:
        """Call this when it is settled, in the writer's thread, or at once; in a race both."""
        self._call = call
        if self._done:
            call()

    def wait(self) -> None:
        """Come back when it is recorded. Raises AuditUnavailableError if it is not, or not in time. For one thread."""
        settled = self._done or self._sent_and_settled(self.left)
        if self.keep:
            return
        if not settled:
            self.abandoned = True
            raise AuditUnavailableError(self.late)
        if self.error is not None:
            raise AuditUnavailableError(text_of(self.error)) from self.error

    def _sent_and_settled(self, timeout: float) -> bool:
        lock = threading.Lock()
        lock.acquire()
        self._lock = lock
        self.send()
        return self._done or lock.acquire(timeout=timeout) or self._done
