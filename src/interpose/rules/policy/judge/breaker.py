"""A circuit breaker: a provider that keeps failing is left alone for a while, then tried with one call."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class Breaker:
    """Closed until `failures` calls in a row failed; then open for `seconds`; then half open: one probe at a time.

    Used on one thread only, that of the judges' event loop. Each admitted call ends in exactly one of `succeeded`,
    `failed` and `abandoned`.
    """

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._limit, self._seconds, self._clock = failures, seconds, clock
        self._failures = 0
        self._open_until = 0.0
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether the provider counts as broken."""
        return self._failures >= self._limit

    def admit(self) -> bool:
        """Whether a call may be made now."""
        if not self.is_open:
            return True
        if self._probing or self._clock() < self._open_until:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        """The provider works."""
        self._failures, self._probing = 0, False

    def failed(self) -> None:
        """The provider does not work."""
        self._probing = False
        self._failures += 1
        if self.is_open:
            self._open_until = self._clock() + self._seconds

    def abandoned(self) -> None:
        """The call ended without showing anything about the provider."""
        self._probing = False
