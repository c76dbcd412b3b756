"""Bounded in number and in time."""

from __future__ import annotations

from interpose.rules.policy.judge.cache import Cache


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_oldest_go_first() -> None:
    cache: Cache[int, str] = Cache(3, 60)
    for number in range(10):
        cache.put(number, str(number))
        assert len(cache) <= 3
    assert [cache.get(number) for number in range(6, 10)] == [None, "7", "8", "9"]


def test_putting_again_makes_young() -> None:
    cache: Cache[int, str] = Cache(2, 60)
    cache.put(1, "a")
    cache.put(2, "b")
    cache.put(1, "c")
    cache.put(3, "d")
    assert (cache.get(1), cache.get(2), cache.get(3)) == ("c", None, "d")


def test_reading_makes_nothing_live_longer() -> None:
    clock = Clock()
    cache: Cache[str, str] = Cache(2, 60, clock)
    cache.put("k", "v")
    clock.now += 59
    assert cache.get("k") == "v"
    clock.now += 1
    assert cache.get("k") is None


def test_what_is_taken_is_gone() -> None:
    clock = Clock()
    cache: Cache[str, str] = Cache(2, 60, clock)
    cache.put("k", "v")
    assert cache.take("k") == "v"
    assert cache.take("k") is None
    cache.put("k", "v")
    clock.now += 60
    assert cache.take("k") is None


def test_no_room_and_no_time() -> None:
    for cache in (Cache[str, str](0, 60), Cache[str, str](5, 0)):
        cache.put("k", "v")
        assert cache.get("k") is None
