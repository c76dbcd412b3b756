"""Callers without a token have a rate and places of their own."""

from __future__ import annotations

import pytest

from interpose.doors.http_server.anonymous_budget import SECONDS_SAVED, AnonymousBudget
from interpose.doors.http_server.messages import Refusal


def spent(budget: AnonymousBudget) -> int:
    """How many requests it lets through at one moment."""
    count, said = 0, None
    try:
        while count < 10_000:
            budget.spend()
            count += 1
    except Refusal as refusal:
        said = refusal.status, refusal.code, refusal.headers
    assert said == (429, "too_many_requests", (("Retry-After", "1"),))
    return count


def test_a_rate_with_some_saved_up() -> None:
    now = [1000.0]
    budget = AnonymousBudget(10, 2, clock=lambda: now[0])
    assert spent(budget) == 10 * SECONDS_SAVED
    now[0] += 1
    assert spent(budget) == 10
    now[0] += 3600
    assert spent(budget) == 10 * SECONDS_SAVED


def test_so_many_at_a_time() -> None:
    budget = AnonymousBudget(10, 2)
    budget.enter()
    budget.enter()
    with pytest.raises(Refusal, match="2 requests of callers without a token are under way"):
        budget.enter()
    budget.leave()
    budget.enter()
