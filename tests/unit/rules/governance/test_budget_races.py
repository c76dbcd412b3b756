"""Budgets under races: 64 workers, as threads and as processes, on both stores. No limit is exceeded by one, and each
that is not held up by another is used to its last call."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from interpose.record.store import open_store
from interpose.record.store.protocols import Store
from interpose.rules.governance.budgets.budgets import left_of
from interpose.rules.governance.sessions.memory_sessions import MemoryCounters
from tests.unit.rules.governance.budget_worker import (
    PROJECT_CALLS,
    QUESTIONS,
    SAVED,
    SESSION_CALLS,
    charges,
    race,
    save,
)

WORKERS = 64
TIMES = 4
ROOT = Path(__file__).parents[4]


def check(let: Counter[str], saved: Counter[str], place: str) -> None:
    """Two sessions could make 80 calls, their project only 70: those are made, to the last."""
    assert let["calls"] == PROJECT_CALLS
    assert max(let["s0"], let["s1"]) <= SESSION_CALLS
    assert let["questions"] <= QUESTIONS
    assert saved == {"saved": SAVED}, "what saves work has a limit of its own, as exact"
    store = open_store(place)
    spent = {(one.charge.per, one.charge.kind): one.spent for one in left_of(store, charges("s0"))}
    store.close()
    assert spent["project", "calls"] == PROJECT_CALLS
    assert spent["project", "questions"] == let["questions"]
    assert spent["session", "calls"] <= SESSION_CALLS
    assert spent["principal", "calls"] == PROJECT_CALLS + SAVED, "nothing of a refused call is counted"


def test_64_threads(store: Store, place: str) -> None:
    check(race(store, WORKERS, TIMES), race(store, WORKERS, TIMES, does=save), place)


def test_64_threads_of_an_engine_without_a_store() -> None:
    counters = MemoryCounters()
    let = race(counters, WORKERS, TIMES)
    assert let["calls"] == PROJECT_CALLS
    assert race(counters, WORKERS, TIMES, does=save) == {"saved": SAVED}


def test_64_workers_in_four_servers(place: str) -> None:
    open_store(place).close()
    command = [sys.executable, "-m", "tests.unit.rules.governance.budget_worker", place, str(WORKERS // 4), str(TIMES)]
    servers = [
        subprocess.Popen(
            [*command, str(16 * first)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for first in range(4)
    ]
    try:
        assert said(servers) == ["ready"] * 4
        let, saved = (sum(map(Counter, map(json.loads, begin(servers))), Counter[str]()) for _ in range(2))
    finally:
        for each in servers:
            each.kill()
            each.communicate()
    check(let, saved, place)


def begin(servers: list[subprocess.Popen[str]]) -> list[str]:
    """What they all say when they have done what a line begins."""
    for each in servers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    return said(servers)


def said(servers: list[subprocess.Popen[str]]) -> list[str]:
    return [each.stdout.readline().strip() for each in servers if each.stdout is not None]
