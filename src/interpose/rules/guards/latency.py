"""How long things took, in a histogram of fixed size."""

from __future__ import annotations

_STEPS = 16
"""Buckets for each doubling: a percentile is at most 1/16 too high."""
_STEP_BITS = _STEPS.bit_length() - 1
_LONGEST_BITS = 44
"""Longer than 2 ** 44 nanoseconds (five hours) counts as that long."""
_SIZE = (_LONGEST_BITS - _STEP_BITS + 1) * _STEPS


class Latency:
    """Durations in nanoseconds. Not safe to share by threads: its owner holds the lock."""

    __slots__ = ("_counts", "count", "longest")

    def __init__(self) -> None:
        self._counts = [0] * _SIZE
        self.count = 0
        self.longest = 0

    def add(self, duration_ns: int) -> None:
        """Count one duration. What no clock can say (below zero) counts as nothing."""
        duration_ns = max(0, duration_ns)
        self._counts[_bucket(duration_ns)] += 1
        self.count += 1
        self.longest = max(self.longest, duration_ns)

    def merge(self, other: Latency) -> None:
        """Count all that `other` counted."""
        self._counts = [own + its for own, its in zip(self._counts, other._counts, strict=True)]
        self.count += other.count
        self.longest = max(self.longest, other.longest)

    def percentile(self, percent: int) -> int:
        """What `percent` of the durations did not exceed; 0 if there are none."""
        wanted = -(-self.count * percent // 100)
        seen = 0
        for bucket, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return min(_upper_bound(bucket), self.longest)
        return self.longest


def _bucket(value: int) -> int:
    """Exact below 16, then sixteen buckets for each doubling."""
    shift = value.bit_length() - _STEP_BITS - 1
    if shift <= 0:
        return value
    return min((shift << _STEP_BITS) + (value >> shift), _SIZE - 1)


def _upper_bound(bucket: int) -> int:
    shift = max(0, (bucket >> _STEP_BITS) - 1)
    return ((bucket - (shift << _STEP_BITS) + 1) << shift) - 1
