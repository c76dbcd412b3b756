"""How much is searched of one value. A count of steps, not of seconds, so that a text is always treated the same.

Ordinary text has some hundred places a megabyte that have to be looked at twice. Text that is made of nothing else
would keep us busy for minutes: what is left when the steps are spent is withheld.

INVARIANT: nothing is passed on unsearched.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

STEPS = 300_000
"""For one value with all that is in it. A step takes some microseconds."""
TEXT, MATCH, FINDER, LINE = 2, 12, 4, 1
"""Of a text, of a place that may be a secret, of one sort of secret in one block, of a line that is looked at."""


class SpentError(Exception):
    """There are no steps left."""


class Effort:
    """The steps that are left."""

    __slots__ = ("left",)

    def __init__(self, steps: int = STEPS) -> None:
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take steps away. SpentError when there are none left, now and for whoever asks again."""
        self.left -= steps
        if self.left < 0:
            raise SpentError


_HERE = threading.local()


def spend(steps: int) -> None:
    """Count work of the search that runs in this thread, if one does."""
    effort: Effort | None = getattr(_HERE, "effort", None)
    if effort is not None:
        effort.spend(steps)


@contextmanager
def searching(effort: Effort) -> Iterator[None]:
    """What is spent in this thread meanwhile is taken from there."""
    before = getattr(_HERE, "effort", None)
    _HERE.effort = effort
    try:
        yield
    finally:
        _HERE.effort = before
