"""A code lets one browser in, once, and only the one that shows it."""

from __future__ import annotations

import pytest

from interpose.doors.page.pairing import CONFIRMED_SECONDS, MOST_CONFIRMED, OFFERED_SECONDS, Pairings


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pairings(clock: Clock) -> Pairings:
    return Pairings(clock)


def test_the_browser_with_the_number_and_the_secret_is_let_in_once(pairings: Pairings) -> None:
    number, secret = pairings.offer()
    code = pairings.code(number, secret)
    assert len(code) == 8
    assert pairings.claim(code) is None
    assert pairings.confirm(code, "ann", "operator", "terminal")
    assert pairings.waits(code)
    let_in = pairings.claim(code)
    assert let_in is not None
    assert (let_in.name, let_in.role, let_in.proven) == ("ann", "operator", "terminal")
    assert pairings.claim(code) is None


def test_neither_the_number_nor_the_secret_is_enough(pairings: Pairings) -> None:
    (number, secret), (other_number, other_secret) = pairings.offer(), pairings.offer()
    codes = {
        pairings.code(number, secret), pairings.code(number, other_secret), pairings.code(other_number, secret),
    }  # fmt: skip
    assert len(codes) == 3
    assert pairings.code(number, "") == ""


@pytest.mark.parametrize("number", ["", "1000", "1000-x-y", "x-y-z", "1000-abc-" + "0" * 24, "é-é-é"])
def test_a_number_that_was_not_offered_has_no_code(pairings: Pairings, number: str) -> None:
    assert pairings.code(number, "s") == ""


def test_an_offer_and_a_code_end(pairings: Pairings, clock: Clock) -> None:
    number, secret = pairings.offer()
    code = pairings.code(number, secret)
    pairings.confirm(code, "ann", "operator", "terminal")
    clock.now += CONFIRMED_SECONDS
    assert pairings.claim(code) is None
    clock.now += OFFERED_SECONDS
    assert pairings.code(number, secret) == ""


def test_another_server_has_other_codes(pairings: Pairings, clock: Clock) -> None:
    number, secret = pairings.offer()
    assert Pairings(clock).code(number, secret) == ""


def test_few_codes_wait_at_a_time(pairings: Pairings, clock: Clock) -> None:
    assert [pairings.confirm(f"code{at}", "ann", "operator", "") for at in range(MOST_CONFIRMED + 1)][-1] is False
    clock.now += CONFIRMED_SECONDS
    assert pairings.confirm("one", "ann", "operator", "")


def test_a_code_can_be_withdrawn(pairings: Pairings) -> None:
    pairings.confirm("code", "ann", "operator", "")
    pairings.withdraw("code")
    assert pairings.claim("code") is None
