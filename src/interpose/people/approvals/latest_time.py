"""A time that never goes back: what was over once stays over when somebody sets the clock back.

Within a process the time goes on by the steady clock of the machine where the other one was set back. From start to
start, the latest time that is known is kept in a file, and in what the store and the uses of grants have.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

from interpose.core.late import late_logger
from interpose.core.platforms.system import steady_ns
from interpose.people.approvals.scopes import LONGEST

log = late_logger("interpose.approvals")

_TOLERATED_NS = 5_000_000_000
_LONGEST_NS = round(LONGEST.total_seconds()) * 1_000_000_000


class LatestTime:
    """The time in nanoseconds since 1970. Call it."""

    def __init__(self, clock: Callable[[], int] = time.time_ns, steady: Callable[[], int] = steady_ns) -> None:
        self._clock, self._steady = clock, steady
        self._lock = threading.Lock()
        self._wall, self._since = clock(), steady()
        self.behind_ns = 0

    def __call__(self) -> int:
        """Now."""
        with self._lock:
            wall, steady = self._clock(), self._steady()
            expected = self._wall + max(0, steady - self._since)
            self._wall, self._since = max(wall, expected), steady
            behind = expected - wall
            if behind > _TOLERATED_NS and self.behind_ns <= _TOLERATED_NS:
                log.error("the clock went back by %d s: questions and grants go on by the latest time", behind // 10**9)
            self.behind_ns = max(0, behind)
            return self._wall

    def learn(self, known_ns: int) -> None:
        """It was as late as this already.

        A time that lies further ahead than any grant lasts is a slip of the clock, or a lie, and not believed: a grant
        of that time was not given yet, and does not count before it.
        """
        with self._lock:
            if self._wall < known_ns <= self._clock() + _LONGEST_NS:
                self._wall, self._since = known_ns, self._steady()


def kept_time(file: Path) -> int:
    """The time that a file holds; 0 if there is none."""
    try:
        return int(file.read_text(encoding="ascii")[:20])
    except (OSError, ValueError):
        return 0


def keep_time(file: Path, now_ns: int) -> None:
    """Keep the latest time. Raises OSError."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, b"%d\n" % now_ns)
    finally:
        os.close(handle)
    draft.replace(file)
