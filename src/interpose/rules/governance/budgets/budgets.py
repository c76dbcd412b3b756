"""How much there is of something, and what is left of it. Counters of the store say so, so it is exact across servers.

    charges_of     what a call counts against: one charge for each limit that holds for it (budget_limits.py)
    charge         counts it, all of it in one transaction, or nothing and says what is used up
    left_of        what is left, for texts

A call that is let through costs one of `calls`, a question to a person before that one of `questions`, a refused call
one of `denials`. Whoever has used up `calls`, `denials`, `tokens`, `cost` or `time` gets nothing more through, except
what saves work (save_work.py) as often as the file says; without `questions` only questions are refused. A limit of 0
is used up from the beginning.

What happened already is counted whatever the limit is. So denials go on being counted, and tokens and cost, which are
known after a call, may overshoot by what the last calls used; after that everything is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, Protocol

from msgspec import Struct

from interpose.core.errors import StoreError
from interpose.core.formats.plain_text import one_line
from interpose.record.store.protocols import NEVER, Spending
from interpose.rules.governance.budgets.budget_limits import BudgetKind, Charge, charges_of
from interpose.rules.governance.budgets.durations import spoken_ns
from interpose.rules.governance.rulings import RULE_PREFIX, Ruling

__all__ = [
    "BUDGET_RULE", "BudgetCounters", "Charge", "ChargeKind", "Left", "Overdrawn", "budget_ruling", "charge",
    "charges_of", "left_of",
]  # fmt: skip

BUDGET_RULE = f"{RULE_PREFIX}budget"

ChargeKind = Literal["calls", "denials", "questions", "tokens", "cost"]
"""What is charged: `calls` a call that is let through, `questions` a question that is put to a person."""

_MOST = 1 << 53
_GATES: tuple[BudgetKind, ...] = ("calls", "denials", "tokens", "cost", "time")
"""What must not be used up if anything is to be let through."""


class BudgetCounters(Protocol):
    """The part of a store that budgets are counted in."""

    def spend(self, counter: str, amount: int, *, budget: int) -> int | None:
        """Add to a counter and say what it is now; None, and nothing is added, if that would exceed the budget."""

    def spend_all(self, spendings: Sequence[Spending]) -> tuple[str, ...]:
        """Add to several counters: to all, or to none if one would exceed its budget. Says which would."""

    def spent_of(self, counters: Sequence[str]) -> dict[str, int]:
        """What these counters are now."""


class Overdrawn(Struct, frozen=True, kw_only=True):
    """A limit that is used up."""

    charge: Charge
    spent: int

    @property
    def watch(self) -> bool:
        """Whether it only would have been refused."""
        return self.charge.watch


class Left(Struct, frozen=True, kw_only=True):
    """A limit and what was spent of it."""

    charge: Charge
    spent: int

    @property
    def amount(self) -> int:
        """What is left."""
        return max(0, self.charge.limit - self.spent)


def charge(
    counters: BudgetCounters, charges: Sequence[Charge], kind: ChargeKind, amount: int = 1, *, saves_work: bool = False
) -> Overdrawn | None:
    """Count something against every limit that holds, or against none and say which of them is used up.

    `saves_work`: a limit that is used up lets it pass, as often as its file says. What is returned with `watch` was
    counted and only would have been refused. Denials and what was used refuse nothing any more. Raises StoreError.
    """
    amount = max(0, min(amount, _MOST))
    if kind not in ("calls", "questions"):
        happened = {one.counter: Spending(one.counter, amount, NEVER) for one in charges if one.kind == kind}
        counters.spend_all([*happened.values()])
        return None
    mine = _looked_at(charges, kind)
    enforced = [one for one in mine if not one.watch]
    used_up = {one.counter: one for one in _out_of_time(counters, enforced)}
    while True:
        for one in used_up.values():
            if not _can_be_saved(one, saves_work=saves_work):
                return Overdrawn(charge=one, spent=_spent(counters, one))
        over = set(counters.spend_all(_spendings(mine, kind, amount, used_up)))
        if not over:
            return next(iter(_watched(counters, mine, kind)), None)
        for one in enforced:
            if one.save_counter in over:
                return Overdrawn(charge=one, spent=_spent(counters, one))
        more = {one.counter: one for one in enforced if one.counter in over}
        if not more:
            raise StoreError("a counter of a budget is as large as a number can be")
        # INVARIANT: counters never shrink. What is used up stays so, and is not asked again: each round finds another.
        used_up |= more


def left_of(counters: BudgetCounters, charges: Sequence[Charge]) -> tuple[Left, ...]:
    """What is left of each limit. Raises StoreError."""
    spent = counters.spent_of(sorted({one.counter for one in charges}))
    return tuple(Left(charge=one, spent=_used(one, spent[one.counter])) for one in charges)


def budget_ruling(over: Overdrawn) -> Ruling:
    """What is said about a call for which nothing is left."""
    one = over.charge
    anew = f", anew every {spoken_ns(one.window_ns)}" if one.window_ns else ""
    return Ruling(
        said="deny",
        rule=BUDGET_RULE,
        reason=f"The budget of {one.kind} is used up for {_spoken_whom(one)}",
        instead="Save what is done and stop; an operator can raise the budget",
        evidence=f"{one.spoken(over.spent)} of {one.spoken(one.limit)}{anew} ({one.file}: budgets, per {one.per})",
        watch=over.watch,
    )


def _looked_at(charges: Sequence[Charge], kind: ChargeKind) -> list[Charge]:
    return [one for one in charges if one.kind in _GATES or one.kind == kind]


def _can_be_saved(one: Charge, *, saves_work: bool) -> bool:
    """Whether a call may pass although this is used up. For a question without questions there is nobody to answer."""
    return saves_work and one.kind != "questions"


def _spendings(charges: Sequence[Charge], kind: ChargeKind, amount: int, used_up: Collection[str]) -> list[Spending]:
    """What is added to the counters. What is only looked at must not be used up, and nothing is added to it."""
    found: dict[str, Spending] = {}
    for one in charges:
        costs = amount if one.kind == kind else 0
        if one.counter in used_up:
            spending = Spending(one.save_counter, 1, NEVER if one.watch else one.save_at_most)
        elif one.kind == "time":
            continue  # it was looked at before: its counter holds when it began
        elif one.watch:
            spending = Spending(one.counter, costs, NEVER)
        else:
            spending = Spending(one.counter, costs, one.limit if costs else one.limit - 1)
        # Two limits may be counted in one counter: it is added to once, and the smaller limit holds.
        known = found.get(spending.counter)
        if known is None or spending.budget < known.budget:
            found[spending.counter] = spending
    return [*found.values()]


def _out_of_time(counters: BudgetCounters, charges: Sequence[Charge]) -> list[Charge]:
    return [one for one in charges if one.kind == "time" and one.now_ns - _began(counters, one) >= one.limit]


def _began(counters: BudgetCounters, one: Charge) -> int:
    """Since when a time runs. Of somebody who is more than one session the first call says so, for all servers."""
    if one.began_ns:
        return one.began_ns
    # Only the first can add: what is there already and a time more is above the budget.
    known = counters.spent_of([one.counter])[one.counter]
    first = known or counters.spend(one.counter, one.now_ns, budget=one.now_ns)
    return first or counters.spent_of([one.counter])[one.counter]


def _watched(counters: BudgetCounters, charges: Sequence[Charge], kind: ChargeKind) -> list[Overdrawn]:
    """Limits of rulebooks that only watch, and that are exceeded by now."""
    watched = [one for one in charges if one.watch]
    if not watched:
        return []
    spent = counters.spent_of(sorted({one.counter for one in watched}))
    found: list[Overdrawn] = []
    for one in watched:
        used = (one.now_ns - _began(counters, one)) if one.kind == "time" else spent[one.counter]
        if used > one.limit or (used == one.limit and one.kind != kind):
            found.append(Overdrawn(charge=one, spent=used))
    return found


def _spent(counters: BudgetCounters, one: Charge) -> int:
    return _used(one, counters.spent_of([one.counter])[one.counter])


def _used(one: Charge, spent: int) -> int:
    """What was used of a limit, as far as its counter says."""
    if one.kind != "time":
        return spent
    began = one.began_ns or spent
    return one.now_ns - began if began else 0


def _spoken_whom(one: Charge) -> str:
    shown = one_line(one.whom)[:100]
    match one.per:
        case "session":
            return "this session"
        case "agent":
            return f"the agent {shown} in this session"
        case "project":
            return f"the project {shown}"
        case "principal":
            return f"the principal {shown}" if shown else "whoever has no principal"
