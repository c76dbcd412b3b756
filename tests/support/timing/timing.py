"""Measuring work so that neither a busy machine nor the size of the test process counts."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import thread_time


def cpu_seconds(work: Callable[[], object]) -> float:
    """What `work` costs on this thread, without garbage collection of what other tests left behind."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = thread_time()
        work()
        return thread_time() - start
    finally:
        if collecting:
            gc.enable()
