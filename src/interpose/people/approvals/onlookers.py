"""Who has a question open, so that two people don't work on the same one. As this process knows it, for a moment."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

LASTS_SECONDS = 30.0
MOST_QUESTIONS = 1000
MOST_OF_A_QUESTION = 20


class Onlookers:
    """By question. Safe to share by threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, dict[str, float]] = OrderedDict()

    def look(self, question: str, who: str) -> bool:
        """Somebody has it open. Whether that is new."""
        now = self._clock()
        with self._lock:
            looking = self._seen.setdefault(question, {})
            new = now - looking.get(who, -LASTS_SECONDS) >= LASTS_SECONDS
            if who in looking or len(looking) < MOST_OF_A_QUESTION:
                looking[who] = now
            self._seen.move_to_end(question)
            if len(self._seen) > MOST_QUESTIONS:
                self._seen.popitem(last=False)
            return new

    def of(self, question: str) -> tuple[str, ...]:
        """Who looks at it now."""
        now = self._clock()
        with self._lock:
            looking = self._seen.get(question, {})
            return tuple(sorted(who for who, at in looking.items() if now - at < LASTS_SECONDS))
