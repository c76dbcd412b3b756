"""Times as people write them: 90s, 30m, 48h, 7d."""

from __future__ import annotations

from functools import lru_cache

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
NANOSECONDS = 1_000_000_000


@lru_cache(maxsize=512)
def duration_ns(text: str) -> int:
    """The time in nanoseconds. Raises ValueError for anything else than digits and one of s, m, h, d."""
    digits, unit = text[:-1], text[-1:]
    if unit not in _SECONDS or not (digits.isascii() and digits.isdigit() and len(digits) <= 6):
        raise ValueError(f"{text!r} is no time: write 90s, 30m, 48h or 7d")
    return int(digits) * _SECONDS[unit] * NANOSECONDS


def spoken_ns(nanoseconds: int) -> str:
    """The same for people, in the largest unit that leaves no remainder worth naming: `2h 5m`."""
    seconds = max(0, nanoseconds) // NANOSECONDS
    for unit, size, smaller in (("d", 86400, 3600), ("h", 3600, 60), ("m", 60, 1)):
        if seconds >= size:
            rest = seconds % size // smaller
            below = {"d": "h", "h": "m", "m": "s"}[unit]
            return f"{seconds // size}{unit} {rest}{below}" if rest else f"{seconds // size}{unit}"
    return f"{seconds}s"
