"""Sessions of browsers: sealed, with another secret now and then, and over in time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import json as fast

from interpose.doors.page.page_sessions import (
    LONGEST,
    LONGEST_LINE,
    MOST_OUTCOMES,
    OLD_COUNTS,
    ROTATED_AFTER,
    UNUSED,
    OutcomeLine,
    PageSessions,
    SignedIn,
)
from interpose.people.approvals.seal import new_seal
from interpose.record.store import open_store
from interpose.record.store.protocols import Store

NANO = 1_000_000_000


class At:
    """Sessions with a clock that a test sets."""

    def __init__(self, store: Store) -> None:
        self.now, self.store, self.seal = 1_000_000, store, new_seal()
        self.sessions = self.other()

    def other(self, seal: Any = None) -> PageSessions:
        answering: Any = SimpleNamespace(seal=seal or self.seal, clock=lambda: self.now * NANO)
        return PageSessions(self.store, answering)

    def begin(self) -> SignedIn:
        return self.sessions.begin("ann", "operator", proven="terminal")


@pytest.fixture
def at(tmp_path: Path) -> Iterator[At]:
    store = open_store(str(tmp_path / "x.db"))
    yield At(store)
    store.close()


def test_a_cookie_is_known_again_also_by_the_next_server(at: At) -> None:
    begun = at.begin()
    for sessions in (at.sessions, at.other()):
        found = sessions.found(begun.cookie)
        assert found is not None
        assert (found.session.name, found.session.proven, found.cookie) == ("ann", "terminal", "")


def test_the_store_has_no_secret(at: At) -> None:
    begun = at.begin()
    (state,) = at.store.sessions(prefix="page:")
    assert begun.cookie.partition(".")[2].encode() not in state.body


@pytest.mark.parametrize("change", ["", ".", "x", "{id}", "{id}.", "{id}.wrong", ".{secret}", "{id}x.{secret}", "é.é"])
def test_a_forged_cookie_is_nobodys(at: At, change: str) -> None:
    id, _, secret = at.begin().cookie.partition(".")
    assert at.sessions.found(change.format(id=id, secret=secret)) is None


def test_another_secret_after_a_while_and_the_old_one_for_a_moment(at: At) -> None:
    begun = at.begin()
    at.now += ROTATED_AFTER
    rotated = at.sessions.found(begun.cookie)
    assert rotated is not None
    assert rotated.cookie not in ("", begun.cookie)
    assert rotated.session.csrf == begun.session.csrf, "open pages still have their forms"
    at.now += OLD_COUNTS - 1
    old = at.sessions.found(begun.cookie)
    assert old is not None
    assert old.cookie == "", "an old secret gets no new one"
    at.now += 1
    assert at.sessions.found(begun.cookie) is None
    assert at.sessions.found(rotated.cookie) is not None


def test_a_page_that_looks_by_itself_is_no_use(at: At) -> None:
    begun = at.begin()
    for _ in range(4):
        at.now += UNUSED // 4 - 1
        found = at.sessions.found(begun.cookie, used=False)
        assert found is not None
        assert found.cookie == ""
    at.now += 4
    assert at.sessions.found(begun.cookie, used=False) is None


def test_use_keeps_it_and_twelve_hours_end_it(at: At) -> None:
    cookie, begun = at.begin().cookie, at.now
    while at.now < begun + LONGEST - UNUSED:
        at.now += UNUSED - 1
        found = at.sessions.found(cookie)
        assert found is not None
        cookie = found.cookie or cookie
    at.now = begun + LONGEST
    assert at.sessions.found(cookie) is None


def test_who_signs_out_is_out_everywhere(at: At) -> None:
    begun, other = at.begin(), at.begin()
    at.sessions.end(begun.session.id)
    assert at.other().found(begun.cookie) is None
    assert at.other().found(other.cookie) is not None
    assert at.sessions.end_all() == 1
    assert at.other().found(other.cookie) is None


def test_what_another_key_sealed_or_nobody_did_is_none(at: At) -> None:
    begun = at.begin()
    assert at.other(new_seal()).found(begun.cookie) is None
    id, _, secret = begun.cookie.partition(".")
    (state,) = at.store.sessions(prefix="page:")
    sealed = fast.decode(state.body)
    sealed["content"]["role"] = "auditor"
    assert at.store.save_session(f"page:{id}", fast.encode(sealed), version=state.version, now_ns=at.now * NANO)
    assert at.sessions.found(begun.cookie) is None
    assert at.store.save_session("page:forged", state.body, version=0, now_ns=at.now * NANO)
    assert at.sessions.found(f"forged.{secret}") is None, "a row counts under its own name"


def test_the_last_outcomes_are_kept_for_the_next_server_and_none_grows(at: At) -> None:
    begun = at.begin()
    keys = [at.sessions.keep(begun.session.id, [OutcomeLine("x" * 9999)]) for _ in range(MOST_OUTCOMES + 2)]
    found = at.other().found(begun.cookie)
    assert found is not None
    assert [one.key for one in found.session.outcomes] == keys[-MOST_OUTCOMES:]
    assert {len(one.lines[0].text) for one in found.session.outcomes} == {LONGEST_LINE}


def test_nothing_is_kept_for_a_session_that_there_is_not(at: At) -> None:
    assert at.sessions.keep("none", [OutcomeLine("x")]) == ""
