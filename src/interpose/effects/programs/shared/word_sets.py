"""Sets of words for tables, written as one text."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())
