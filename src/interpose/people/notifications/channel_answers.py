"""What a server answers about channels of notifications."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from interpose.people.notifications.notifier import Tried


class ShownChannel(Struct, frozen=True, kw_only=True):
    """A channel, and how its last notification went. `failed` in a row did not arrive."""

    name: str
    kind: str
    after: float
    person: str = ""
    failed: int = 0
    problem: str = ""
    at: datetime | None = None


class NotificationsAnswer(Struct, frozen=True, kw_only=True):
    """All channels. `muted_until` is there while nothing is sent."""

    channels: list[ShownChannel]
    muted_until: datetime | None = None
    muted_by: str = ""


class TryoutAnswer(Struct, frozen=True):
    """What became of the try-out of each channel."""

    tried: list[Tried]
