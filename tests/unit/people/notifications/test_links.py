"""Links: what they are bound to, that nobody else makes one, and that each counts once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interpose.core.types import HookPoint
from interpose.people.approvals.binding import Bound
from interpose.people.approvals.questions import Deferral, Kept, Question
from interpose.people.approvals.seal import Verifier, new_seal
from interpose.people.notifications.links import (
    FORM_SECONDS,
    AnswerLink,
    arguments_of,
    form_of,
    is_form,
    is_used,
    new_link,
    read_link,
    shown_digest,
    token_of,
    use_up,
)
from interpose.record.store import open_store

SEAL = new_seal()
NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)
LONGEST_SEGMENT = 256


def kept(session: str = "digest", id: str = "kj4m2qxr") -> Kept:
    question = Question(
        id=id, asked=NOW, expires=NOW + timedelta(minutes=5), message="?", point=HookPoint.TOOL_BEFORE, tool="exec",
        arguments={"command": "x"},
    )  # fmt: skip
    return Kept(question, Bound(session, "p"))


def link(**more: str) -> AnswerLink:
    return replace(new_link(kept(), channel="phone", person="ann", role="approver"), **more)


def test_a_link_says_what_it_was_made_for() -> None:
    made = link()
    assert read_link(token_of(made, SEAL), SEAL) == made
    assert made.expires == round((NOW + timedelta(minutes=5)).timestamp())
    assert (made.question, made.by, made.purpose) == ("kj4m2qxr", "ann", "answer")
    assert link(person="").by == "link:phone"
    assert link().nonce != link().nonce


def test_the_longest_is_one_segment_of_a_path() -> None:
    longest = link(channel="c" * 24, person="p" * 40, role="approver")
    assert len(token_of(longest, SEAL)) <= LONGEST_SEGMENT


def test_nobody_else_makes_one() -> None:
    token = token_of(link(), SEAL)
    assert read_link(token, new_seal()) is None
    assert read_link(token, Verifier()) is None
    assert read_link("", SEAL) is None


@given(st.data())
def test_one_letter_changed_is_no_link(data: st.DataObject) -> None:
    """A law: a link has one spelling, and no other counts."""
    token = token_of(link(), SEAL)
    place = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/. é"))
    changed = token[:place] + letter + token[place + 1 :]
    assert (read_link(changed, SEAL) is None) == (changed != token)


@given(st.text(max_size=500))
def test_no_text_is_a_link(text: str) -> None:
    assert read_link(text, SEAL) is None


@pytest.mark.parametrize("suffix", ["=", "==", "\n", " ", "A", "%3D"])
def test_nothing_may_stand_behind_it(suffix: str) -> None:
    assert read_link(token_of(link(), SEAL) + suffix, SEAL) is None


def test_a_grants_signature_is_none_of_a_link() -> None:
    """What was signed for one use is worth nothing for another."""
    from base64 import urlsafe_b64encode

    from msgspec import msgpack

    content = msgpack.encode(link())
    other = SEAL.sealed("answer-form", content).signature
    assert read_link(urlsafe_b64encode(content + other).decode().rstrip("="), SEAL) is None


def test_other_arguments_are_another_call() -> None:
    assert arguments_of(kept("one")) != arguments_of(kept("another"))
    assert arguments_of(kept(id="kj4m2qxr")) != arguments_of(kept(id="kj4m2qxs"))


def test_a_form_is_of_its_link_its_question_and_its_hour() -> None:
    mine, shown, now = link(), shown_digest(kept()), 1_000_000
    form = form_of(mine, shown, now, SEAL)
    assert is_form(form, mine, shown, now, SEAL)
    assert is_form(form, mine, shown, now + FORM_SECONDS, SEAL)
    assert not is_form(form, mine, shown, now + FORM_SECONDS + 1, SEAL)
    assert not is_form(form, mine, shown, now - 1, SEAL)
    assert not is_form(form, link(), shown, now, SEAL), "another link"
    put_off = replace(kept().question, deferred=Deferral(by="bob", at=NOW))
    assert not is_form(form, mine, shown_digest(replace(kept(), question=put_off)), now, SEAL), "another question"
    assert not is_form(form, mine, shown, now, new_seal()), "another server"
    for wrong in ("", ".", "1.", "x.y", form + "A", form.replace(str(now), str(now + 1)), "٣.x", "9" * 5000):
        assert not is_form(wrong, mine, shown, now, SEAL), wrong


def test_of_many_who_use_a_link_at_two_servers_one_does(tmp_path: Path) -> None:
    mine = link()
    stores = [open_store(tmp_path / "one.db") for _ in range(2)]
    try:
        with ThreadPoolExecutor(8) as pool:
            used = list(pool.map(lambda number: use_up(mine, stores[number % 2]), range(16)))
        assert sum(used) == 1
        assert all(is_used(mine, store) for store in stores)
        assert not is_used(link(), stores[0])
    finally:
        for store in stores:
            store.close()
    again = open_store(tmp_path / "one.db")
    try:
        assert is_used(mine, again), "after a restart"
        assert not use_up(mine, again)
    finally:
        again.close()
