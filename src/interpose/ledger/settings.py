"""What can be set about a ledger."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Level = Literal["written", "durable", "best_effort"]
"""`written`: handed to the operating system, survives the end of the process. `durable`: synced, survives a power loss.
`best_effort`: nobody waits."""


class LedgerSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`deadline` is how long an answer waits for its record, in seconds. `checkpoint_every` counts entries."""

    level: Level = "written"
    on_failure: Literal["deny", "allow"] = "deny"
    deadline: float = 2.0
    include_argument_values: bool = True
    checkpoint_every: int = 1000
    max_age_days: float | None = None
    max_bytes: int | None = None

    def __post_init__(self) -> None:
        if not self.deadline > 0:
            raise ValueError("ledger.deadline must be more than 0 seconds")
        if self.checkpoint_every < 1:
            raise ValueError("ledger.checkpoint_every must be at least 1")
