"""A process of macOS that a kqueue watches: it is known by its number and its start, and the kernel says when it ends.

Between the look at its start and a signal another process could get its number. The numbers would have to go round once
in that moment.
"""

from __future__ import annotations

import os
import select
import signal
from typing import Any

from interpose.core.platforms.macos.process_table import start_of

_queues: Any = select
"""Where kqueue is: other systems have none."""


class KqueueHandle:
    """One process. Raises ProcessLookupError if there is none."""

    def __init__(self, pid: int) -> None:
        self._pid, self._start, self._ended = pid, start_of(pid), False
        self._queue = _queues.kqueue()
        try:
            watched = _queues.kevent(
                pid, filter=_queues.KQ_FILTER_PROC, flags=_queues.KQ_EV_ADD | _queues.KQ_EV_ONESHOT,
                fflags=_queues.KQ_NOTE_EXIT,
            )  # fmt: skip
            self._queue.control([watched], 0, 0)
            if not self._is_there():
                raise ProcessLookupError(pid)
        except BaseException:
            self.close()
            raise

    def send(self, way: signal.Signals) -> None:
        """Send a signal. Raises ProcessLookupError if it has ended."""
        if self._ended or not self._is_there():
            raise ProcessLookupError(self._pid)
        os.kill(self._pid, way)

    def wait(self, seconds: float) -> bool:
        """Whether it ends in time."""
        self._ended = self._ended or bool(self._queue.control(None, 1, seconds))
        return self._ended

    def close(self) -> None:
        """Let go of it."""
        self._queue.close()

    def _is_there(self) -> bool:
        return self._start != 0 and start_of(self._pid) == self._start
