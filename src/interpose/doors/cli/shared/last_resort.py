"""The end of a server that was told to end: at the latest now, whatever hangs.

A thread that waits for a disk or a database can't be stopped, and Python waits for it. What was answered is in the
journal by then; the next start takes it over, as after a crash.
"""

from __future__ import annotations

import logging
import os
import threading

from interpose.doors.cli import EXIT_INTERNAL

log = logging.getLogger("interpose.server")

GRACE = 10.0
"""Seconds for everything beside the requests that were accepted: records, connections, threads."""


def end_within(seconds: float) -> None:
    """End the process when the time is up, unless it has ended by then."""
    timer = threading.Timer(seconds, _end, (seconds,))
    timer.daemon = True
    timer.start()


def _end(seconds: float) -> None:
    hanging = [one.name for one in threading.enumerate() if one.name.startswith(("interpose", "asyncio", "Thread"))]
    log.error("ended after %g s without waiting any longer; threads that were left: %s", seconds, ", ".join(hanging))
    os._exit(EXIT_INTERNAL)
