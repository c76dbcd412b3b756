"""What the finders of this room hand to each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct


class Hit(Struct, frozen=True):
    """A secret in a text of bytes. `secret` is what it is without its encoding, so that equal ones have one digest."""

    start: int
    end: int
    kind: str
    secret: bytes
    rank: int = 0
    """Where two hits overlap, the one of the lower rank gives the name."""


SHAPED, NAMED, GUESSED, REPEATED = 0, 1, 2, 3
"""Ranks: a shape of its own, a vendor's name beside it, only a telling name, only that it was found elsewhere."""


class Finder(Protocol):
    """Finds one sort of secret. Positions are those of the folded text."""

    @property
    def gate(self) -> str:
        """A pattern that occurs wherever `find` could find something."""

    @property
    def spans_lines(self) -> bool:
        """Whether the finder has to see the whole text, not only the part in which its gate hit."""

    def find(self, data: bytes, start: int, end: int) -> Iterable[Hit]:
        """The secrets between two positions."""
