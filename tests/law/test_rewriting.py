"""Nothing vanishes: what stands in front of a command or may be nothing in it never helps it."""

from __future__ import annotations

import pytest

from tests.law.rewriting import ATTACKS, BRANCHING, first_broken, judge


@pytest.mark.parametrize("seed", range(40))
def test_no_rewrite_is_weaker(seed: int) -> None:
    broken = first_broken(seed, 100)
    assert broken is None, f"weaker than {broken.least}: {broken.rewritten}"


@pytest.mark.parametrize("command", ATTACKS)
def test_an_attack_is_caught_by_itself(command: str) -> None:
    assert judge(command) != "allow"


@pytest.mark.parametrize("command", BRANCHING)
def test_what_branches_is_harmless_by_itself(command: str) -> None:
    assert judge(command) == "allow"
