"""How flows are driven: they yield steps, a driver performs them by blocking or by awaiting."""

from interpose.driving.driver import drive, drive_async, drive_in_server
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
)

__all__ = [
    "INTERRUPTS",
    "Ask",
    "Await",
    "Block",
    "Execute",
    "Failure",
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
    "is_async",
    "is_awaitable",
]
