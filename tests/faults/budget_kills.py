"""Kill a process that charges a budget, again and again: nothing that was charged is given back.

For tests and scripts/kill-budgets. As a program with a place it is the process that is killed:

    python -m tests.faults.budget_kills charge PLACE [late]
    python -m tests.faults.budget_kills kill TIMES

`late` is the broken variant: it acknowledges charges that only the process knows.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from interpose.core.types import Context
from interpose.record.store import open_store
from interpose.record.store.protocols import Spending
from interpose.rules.governance.budgets.budgets import BudgetCounters, Charge, charge, charges_of, left_of
from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.files.file_model import BudgetForm
from interpose.rules.governance.files.rulebook import Rulebook
from interpose.rules.governance.sessions.session_states import new_session

ROOT = Path(__file__).parents[2]
BUDGET = 500
"""Calls of one session. A process rarely lives long enough to use it up, so several are killed over one budget."""
THREADS = 4
OVER, CHARGED = b"over", b"charged"
_NOON = 1_900_000_000 * NANOSECONDS
_KEPT_BACK = 40


class Killed(Struct, frozen=True):
    """What is known of one budget after all its processes were killed, and the last found nothing left."""

    kills: int
    acknowledged: int
    spent: int
    given_back: int
    """Charges that were acknowledged and that the store did not know after a kill."""


class Late:
    """Counters whose charges reach the store after they were acknowledged: a kill gives them back."""

    def __init__(self, counters: BudgetCounters) -> None:
        self._counters = counters
        self._waiting: list[Sequence[Spending]] = []
        self._lock = threading.Lock()

    def spend(self, counter: str, amount: int, *, budget: int) -> int | None:
        return self._counters.spend(counter, amount, budget=budget)

    def spend_all(self, spendings: Sequence[Spending]) -> tuple[str, ...]:
        with self._lock:
            self._waiting.append(spendings)
            if len(self._waiting) < _KEPT_BACK:
                return ()
            over = [self._counters.spend_all(one) for one in self._waiting]
            self._waiting = []
            return over[-1]

    def spent_of(self, counters: Sequence[str]) -> dict[str, int]:
        return self._counters.spent_of(counters)


def charges() -> tuple[Charge, ...]:
    """The one limit of the session."""
    book = Rulebook(file="governance.yaml", budgets=(BudgetForm(per="session", calls=BUDGET),))
    context = Context(session_id="s", cwd="/p")
    return charges_of(book, new_session(context, _NOON), context, _NOON)


def spent_in(place: str) -> int:
    """What the store says was charged."""
    store = open_store(place)
    try:
        (one,) = left_of(store, charges())
        return one.spent
    finally:
        store.close()


def kill_until_used_up(place: str, seed: int, *options: str, most: int = 1000) -> Killed:
    """Kill processes over one budget after random numbers of acknowledged charges, until one of them finds it used
    up, or after `most` kills."""
    rng = random.Random(seed)
    kills = acknowledged = given_back = 0
    open_store(place).close()
    for _ in range(most):
        said = list(_said_until_killed(place, rng.randrange(1, 60), options))
        kills += 1
        acknowledged += said.count(CHARGED)
        given_back = max(given_back, acknowledged - spent_in(place))
        if OVER in said:
            break
    return Killed(kills, acknowledged, spent_in(place), given_back)


def _said_until_killed(place: str, kill_after: int, options: Sequence[str]) -> Iterator[bytes]:
    """What a process says until it is killed: after so many charges, or when the budget is used up."""
    command = [sys.executable, "-m", "tests.faults.budget_kills", "charge", place, *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        # The kill may come late. A process charges once for each byte, so that it can't use up the whole budget alone.
        child.stdin.write(b"." * (kill_after + THREADS))
        child.stdin.flush()
        for count, line in enumerate(child.stdout, start=1):
            if line.endswith(b"\n"):  # the last one may be half a line
                yield line.strip()
            if count >= kill_after or line.strip() == OVER:
                child.kill()  # what it said before it died is still read
    assert child.returncode == -9, "the process ended by itself"


def charge_for_ever(place: str, variant: str) -> None:
    """Charge from several threads, once for each byte of standard input, and say so, until killed."""
    store = open_store(place)
    counters: BudgetCounters = Late(store) if variant == "late" else store
    mine = charges()

    def work() -> None:
        while os.read(0, 1):
            over = charge(counters, mine, "calls") is not None
            os.write(1, (OVER if over else CHARGED) + b"\n")
            if over:
                threading.Event().wait()

    for _ in range(THREADS):
        threading.Thread(target=work).start()


def main(times: int) -> int:
    """`scripts/kill-budgets`: at least so many kills."""
    total = Killed(0, 0, 0, 0)
    exceeded = budgets = 0
    while total.kills < times:
        with tempfile.TemporaryDirectory(prefix="kill-budgets-") as place:
            one = kill_until_used_up(f"{place}/ledger.db", budgets)
        budgets += 1
        exceeded += one.acknowledged > BUDGET or one.spent > BUDGET
        total = Killed(
            total.kills + one.kills, total.acknowledged + one.acknowledged, total.spent + one.spent,
            total.given_back + one.given_back,
        )  # fmt: skip
    sys.stdout.write(
        f"{total.kills} kills over {budgets} budgets of {BUDGET} calls: {total.acknowledged} acknowledged, "
        f"{total.given_back} given back, {exceeded} budgets exceeded\n"
    )
    return 1 if total.given_back or exceeded else 0


if __name__ == "__main__":
    if sys.argv[1] == "charge":
        charge_for_ever(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "")
    else:
        sys.exit(main(int(sys.argv[2])))
