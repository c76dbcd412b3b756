"""Whether work grows with the size of what it is given, and not with its square."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from tests.support.timing.timing import cpu_seconds

TIMES = 4
"""How much more the second measurement is given."""
MOST = 10
"""Linear work takes 4 times as long, quadratic work 16 times: caches and a busy machine find room between them."""
FLOOR = 0.005
"""Seconds that say nothing: below them the clock and the first page of memory count more than the work."""
_ATTEMPTS = 5


def grows_linearly(work: Callable[[int], object], size: int) -> bool:
    """Whether `work(4 * size)` takes some 4 times as long as `work(size)`. The least of some attempts counts."""
    small = big = inf
    for _ in range(_ATTEMPTS):
        small = min(small, cpu_seconds(lambda: work(size)))
        big = min(big, cpu_seconds(lambda: work(TIMES * size)))
        if big <= FLOOR + MOST * small:
            return True
    return False
