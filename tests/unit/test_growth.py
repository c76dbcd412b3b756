"""The measure itself: it lets linear work pass, and sees a square."""

from __future__ import annotations

from tests.support.timing.growth import grows_linearly


def _touch(times: int) -> int:
    total = 0
    for number in range(times):
        total += number
    return total


def test_linear_work_passes() -> None:
    assert grows_linearly(_touch, 100_000)


def test_a_square_is_seen() -> None:
    assert not grows_linearly(lambda size: _touch(size * size), 300)
