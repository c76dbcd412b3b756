"""Counts for people: `1 rule`, `2 rules`."""

from __future__ import annotations


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its word: `plural(1, "rule")` is `1 rule`, `plural(2000, "entry", "entries")` is `2,000 entries`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
