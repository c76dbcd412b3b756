"""How much there is in a value, as far as it matters where it is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LARGE = 4 * 1024
"""Letters above which something is looked at in a thread, so that nobody else waits for it."""


def is_large(value: Any, limit: int = LARGE) -> bool:
    """Whether a value has more letters than this. Looks no further than it must."""
    pending, seen = [value], 0
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            seen += len(one)
        elif isinstance(one, Mapping):
            seen += 8 * len(one)
            pending.extend(one.values())
        elif isinstance(one, list | tuple):
            seen += 8 * len(one)
            pending.extend(one)
        if seen > limit:
            return True
    return False
