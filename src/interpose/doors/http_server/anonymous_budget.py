"""What callers without a credential may cost all together, so that nobody else waits for them.

Time is monotonic: a clock that is set back or forth neither opens nor closes anything.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from interpose.doors.http_server.messages import Refusal

SECONDS_SAVED = 5
"""How much of the rate is saved up while nobody asks."""


class AnonymousBudget:
    """So many requests a second, and so many at a time."""

    def __init__(self, rate: int, at_once: int, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._at_once, self._clock = rate, at_once, clock
        self._most = float(rate * SECONDS_SAVED)
        self._left, self._looked, self._under_way = self._most, clock(), 0

    def spend(self) -> None:
        """One more request, or the refusal that says when to come again."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._looked) * self._rate)
        self._looked = now
        if self._left < 1:
            raise _too_many(f"callers without a token may ask {self._rate} times a second, all together")
        self._left -= 1

    def enter(self) -> None:
        """A request is decided now. Whoever enters leaves."""
        if self._under_way >= self._at_once:
            raise _too_many(f"{self._at_once} requests of callers without a token are under way")
        self._under_way += 1

    def leave(self) -> None:
        """It is over."""
        self._under_way -= 1


def _too_many(why: str) -> Refusal:
    return Refusal(
        429,
        "too_many_requests",
        f"{why}; wait a second, or show a token (`interpose help server`)",
        (("Retry-After", "1"),),
    )
