"""A process of Linux that is held by a pidfd: its number can't become another's meanwhile."""

from __future__ import annotations

import os
import select
import signal


class PidfdHandle:
    """One process. Raises ProcessLookupError if there is none."""

    def __init__(self, pid: int) -> None:
        self._handle = os.pidfd_open(pid)

    def send(self, way: signal.Signals) -> None:
        """Send a signal. Raises ProcessLookupError if it has ended."""
        signal.pidfd_send_signal(self._handle, way)

    def wait(self, seconds: float) -> bool:
        """Whether it ends in time."""
        return bool(select.select([self._handle], [], [], seconds)[0])

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)
