"""A server of its own that charges budgets from many threads at once: `python -m ... PLACE THREADS TIMES FIRST`.

It says `ready`, begins when it reads a line, and says in JSON how often each kind of thing was let through.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from interpose.core.types import Context
from interpose.record.store import open_store
from interpose.rules.governance.budgets.budgets import BudgetCounters, Charge, charge, charges_of
from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.files.file_model import BudgetForm, SaveWorkForm
from interpose.rules.governance.files.rulebook import Rulebook
from interpose.rules.governance.sessions.session_states import new_session

Work = Callable[[BudgetCounters, int, int], Counter[str]]

NOON = 1_900_000_000 * NANOSECONDS
SESSION_CALLS, PROJECT_CALLS, PRINCIPAL_CALLS, QUESTIONS, SAVED = 40, 70, 500, 23, 11
BOOK = Rulebook(
    file="governance.yaml",
    budgets=(
        BudgetForm(per="session", calls=SESSION_CALLS),
        BudgetForm(per="project", calls=PROJECT_CALLS, questions=QUESTIONS, window="1d"),
        BudgetForm(per="principal", calls=PRINCIPAL_CALLS, time="9d"),
    ),
    save_work=SaveWorkForm(at_most=SAVED),
)


def charges(session: str) -> tuple[Charge, ...]:
    """All limits that hold in one of the sessions."""
    context = Context(session_id=session, cwd="/p")
    return charges_of(BOOK, new_session(context, NOON), context, NOON)


def work(counters: BudgetCounters, number: int, times: int) -> Counter[str]:
    """Calls in two sessions of one project; every third one is asked about first."""
    mine = charges(f"s{number % 2}")
    let: Counter[str] = Counter()
    for time in range(times):
        if (number + time) % 3 == 0 and charge(counters, mine, "questions") is None:
            let["questions"] += 1
        if charge(counters, mine, "calls") is None:
            let["calls"] += 1
            let[f"s{number % 2}"] += 1
    return let


def save(counters: BudgetCounters, number: int, times: int) -> Counter[str]:
    """Calls that save work, where nothing else passes any more."""
    mine = charges(f"s{number % 2}")
    return Counter(saved=sum(charge(counters, mine, "calls", saves_work=True) is None for _ in range(times)))


def race(counters: BudgetCounters, threads: int, times: int, first: int = 0, does: Work = work) -> Counter[str]:
    """What all of them let through who started at the same moment."""
    start = threading.Barrier(threads)

    def run(number: int) -> Counter[str]:
        start.wait()
        return does(counters, first + number, times)

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(run, range(threads)), Counter[str]())


def main(place: str, threads: str, times: str, first: str) -> None:
    """One server: a line begins the calls, another what saves work when nothing else passes any more."""
    store = open_store(place)
    _say("ready")
    for does in (work, save):
        sys.stdin.readline()
        _say(json.dumps(race(store, int(threads), int(times), int(first), does)))
    store.close()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
