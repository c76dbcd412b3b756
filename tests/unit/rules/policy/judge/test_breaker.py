"""Closed, open, half open."""

from __future__ import annotations

from interpose.rules.policy.judge.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def opened() -> tuple[Breaker, Clock]:
    clock = Clock()
    breaker = Breaker(3, 30.0, clock)
    for _ in range(3):
        assert breaker.admit()
        breaker.failed()
    return breaker, clock


def test_failures_in_a_row_open_it() -> None:
    breaker, _ = opened()
    assert not breaker.admit()


def test_a_success_between_failures_keeps_it_closed() -> None:
    breaker = Breaker(3, 30.0)
    for _ in range(9):
        breaker.failed()
        breaker.failed()
        breaker.succeeded()
    assert breaker.admit()


def test_what_shows_nothing_neither_opens_nor_closes_it() -> None:
    breaker, clock = opened()
    clock.now += 30
    for _ in range(9):
        assert breaker.admit()
        breaker.abandoned()
    assert breaker.is_open
    closed = Breaker(3, 30.0)
    for _ in range(9):
        closed.abandoned()
    assert not closed.is_open


def test_one_probe_at_a_time_when_the_time_has_come() -> None:
    breaker, clock = opened()
    clock.now += 29.9
    assert not breaker.admit()
    clock.now += 0.1
    assert breaker.admit()
    assert not breaker.admit(), "the probe is still under way"


def test_a_probe_that_succeeds_closes_it() -> None:
    breaker, clock = opened()
    clock.now += 30
    assert breaker.admit()
    breaker.succeeded()
    assert breaker.admit()
    breaker.failed()
    assert breaker.admit(), "the count begins anew"


def test_a_probe_that_fails_opens_it_again_for_the_whole_time() -> None:
    breaker, clock = opened()
    clock.now += 30
    assert breaker.admit()
    breaker.failed()
    clock.now += 29
    assert not breaker.admit()
    clock.now += 1
    assert breaker.admit()
