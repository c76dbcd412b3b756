"""How flows are driven: they yield steps, a driver performs them by blocking or by awaiting."""

from interpose.driving.driver import drive, drive_async, drive_in_server, drive_thread_of_server
from interpose.driving.fair_workers import FairWorkers
from interpose.driving.steps import (
    INTERRUPTS,
    Ask,
    Await,
    Block,
    Execute,
    Failure,
    Flow,
    Keep,
    PendingRecord,
    Step,
    Work,
    ask,
    called,
    is_async,
    is_awaitable,
    is_generator,
)

__all__ = [
    "INTERRUPTS",
    "Ask",
    "Await",
    "Block",
    "Execute",
    "Failure",
    "FairWorkers",
    "Flow",
    "Keep",
    "PendingRecord",
    "Step",
    "Work",
    "ask",
    "background_loop",
    "called",
    "drive",
    "drive_async",
    "drive_in_server",
    "drive_thread_of_server",
    "is_async",
    "is_awaitable",
    "is_generator",
]
