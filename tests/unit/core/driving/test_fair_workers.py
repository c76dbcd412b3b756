"""Threads for long work: each caller waits for its own."""

from __future__ import annotations

import threading

import pytest

from interpose.core.driving.fair_workers import FairWorkers
from tests.support.timing.patience import PATIENCE


def test_one_callers_many_jobs_stand_behind_anothers_one() -> None:
    workers, gate, order = FairWorkers("test", 1), threading.Event(), list[str]()
    first = workers.submit("greedy", lambda: gate.wait(30))
    jobs = [workers.submit("greedy", lambda: order.append("greedy")) for _ in range(6)]
    other = workers.submit("modest", lambda: order.append("modest"))
    gate.set()
    first.result(PATIENCE)
    for job in (*jobs, other):
        job.result(PATIENCE)
    assert order.index("modest") <= 1


def test_callers_take_turns() -> None:
    workers, gate, order = FairWorkers("test", 1), threading.Event(), list[str]()
    first = workers.submit("", lambda: gate.wait(30))
    jobs = [workers.submit(name, lambda name=name: order.append(name)) for name in "aaabbbccc"]  # type: ignore[misc]
    gate.set()
    first.result(PATIENCE)
    for job in jobs:
        job.result(PATIENCE)
    assert "".join(order) == "abcabcabc"


def test_a_failure_is_told_to_whoever_waits_and_ends_no_thread() -> None:
    workers = FairWorkers("test", 1)

    def fail() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        workers.submit("a", fail).result(PATIENCE)
    assert workers.submit("a", lambda: 1).result(PATIENCE) == 1


def test_no_more_threads_than_said() -> None:
    workers, gate = FairWorkers("few", 2), threading.Event()
    jobs = [workers.submit(n, lambda: gate.wait(30)) for n in range(8)]
    assert sum(one.name.startswith("interpose:few:") for one in threading.enumerate()) == 2
    gate.set()
    assert all(job.result(PATIENCE) for job in jobs)


def test_what_was_cancelled_is_not_done() -> None:
    workers, gate, done = FairWorkers("test", 1), threading.Event(), list[int]()
    first = workers.submit("a", lambda: gate.wait(30))
    waiting = workers.submit("a", lambda: done.append(1))
    assert waiting.cancel()
    gate.set()
    first.result(PATIENCE)
    assert workers.submit("a", lambda: 2).result(PATIENCE) == 2
    assert not done
