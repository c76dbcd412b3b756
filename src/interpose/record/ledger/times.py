"""Moments as people write them when they search."""

from __future__ import annotations

import re
from datetime import datetime

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_AGO = re.compile(r"([0-9]{1,9})([smhdw])")
_NEVER = (1 << 63) - 1


def moment_ns(text: str, now: float) -> int:
    """The moment that is meant, in nanoseconds: so long before now, or a date. ValueError if it is neither.

    A date without a zone is local time.
    """
    if ago := _AGO.fullmatch(text):
        return _storable((now - int(ago[1]) * _UNITS[ago[2]]) * 1e9)
    try:
        return _storable(datetime.fromisoformat(text).astimezone().timestamp() * 1e9)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text!r} is no time: say 90m, 2h, 7d, or 2026-01-31T08:00") from None


def _storable(nanoseconds: float) -> int:
    """No store has records beyond its numbers: further away finds the same."""
    return max(-_NEVER, min(_NEVER, int(nanoseconds)))
