"""What is handed over to a host's own prompt: by whose choice, what is remembered, and what can't push it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from time import time_ns
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import json as fast
from msgspec.structs import replace

from interpose.composition.service.hand_overs import KEPT_NS, MOST_ASKED, MOST_UNASKED, HandOvers
from interpose.core.errors import AuditUnavailableError, NotProvenError, StoreError
from interpose.engine.flow.handed_over import HandedOver
from interpose.people.approvals.alarms import GrantAlarms
from interpose.people.approvals.seal import new_seal
from interpose.people.approvals.uses import Uses
from interpose.record.store import open_store
from interpose.record.store.protocols import Store


class Office:
    """What a server has; `again` is the next server, which knows nothing but what is kept."""

    def __init__(self, store: Store, directory: Path) -> None:
        self.store, self.directory, self.seal, self.alarms = store, directory, new_seal(), GrantAlarms()
        self.now, self.recorded, self.broken = time_ns(), 0, False
        self.desk = self.again()

    def clock(self) -> int:
        self.now += 1
        return self.now

    def again(self) -> HandOvers:
        uses = Uses(self.directory / "uses", alarm=self.alarms)
        uses.open(self.now)
        answering: Any = SimpleNamespace(seal=self.seal, uses=uses, alarms=self.alarms, clock=self.clock)
        return HandOvers(self.store, self, answering, str(self.directory))

    def decided(self, _verdict: object) -> None:
        if self.broken:
            raise AuditUnavailableError("the disk is full")
        self.recorded += 1

    def finished(self, *_what: object) -> None: ...

    def call(self, key: str, **more: Any) -> HandedOver:
        plain: dict[str, Any] = {
            "session": "s1", "key": key, "place": f"place of {key}", "call_id": f"call {key}", "host": "claude-code",
            "version": "2.1.327", "mode": "auto", "at_ns": self.clock(),
        }  # fmt: skip
        return HandedOver(**plain | more)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    store = open_store(str(tmp_path / "store.db"))
    yield Office(store, tmp_path)
    store.close()


HERE = ("claude-code", "2.1.327", "auto")


def test_a_choice_is_recorded_signed_and_taken_back(office: Office) -> None:
    assert not office.desk.may(*HERE)
    office.desk.choose("claude-code", "ann")
    assert office.recorded == 1
    assert office.desk.may(*HERE)
    assert office.again().may(*HERE)
    assert not office.desk.may("codex", "1.0", "auto")
    assert not office.desk.may("claude-code", "", "auto")
    assert office.desk.withdraw("claude-code", "ann")
    assert not office.desk.may(*HERE)
    assert not office.desk.withdraw("claude-code", "ann")
    office.desk.choose("claude-code", "ann")
    assert office.desk.may(*HERE)


def test_a_choice_that_is_not_recorded_does_not_count(office: Office) -> None:
    office.broken = True
    with pytest.raises(StoreError):
        office.desk.choose("claude-code", "ann")
    assert not office.desk.may(*HERE)


def test_only_a_server_chooses(office: Office) -> None:
    desk = HandOvers(office.store, None, None, "x")
    with pytest.raises(NotProvenError):
        desk.choose("claude-code", "ann")
    assert not desk.may(*HERE)


def test_what_somebody_else_wrote_into_the_store_is_no_choice(office: Office) -> None:
    office.desk.choose("claude-code", "ann")
    other = Office(office.store, office.directory)  # another key
    assert not other.desk.may(*HERE)
    (state,) = office.store.sessions(prefix="hand-over:")
    assert office.store.save_session(state.session, b"no rows", version=state.version, now_ns=1)
    assert not office.desk.may(*HERE)


def test_an_older_copy_of_the_store_brings_nothing_back(office: Office) -> None:
    office.desk.choose("claude-code", "ann")
    (state,) = office.store.sessions(prefix="hand-over:")
    office.desk.withdraw("claude-code", "ann")
    office.desk.end(office.call("t1"))
    now = office.store.load_session(state.session)
    assert now is not None
    assert office.store.save_session(state.session, state.body, version=now.version, now_ns=1)
    assert not office.again().may(*HERE)


def test_an_end_is_for_one_version_and_mode_and_survives(office: Office) -> None:
    office.desk.choose("claude-code", "ann")
    office.desk.end(office.call("t1"))
    for desk in (office.desk, office.again()):
        assert not desk.may(*HERE)
        assert desk.may("claude-code", "2.1.328", "auto")
        assert desk.may("claude-code", "2.1.327", "other")
        assert desk.ended() == ["claude-code 2.1.327 auto"]
    assert "without asking its person" in office.alarms.texts()[0]
    office.desk = office.again()
    office.desk.choose("claude-code", "ann")
    assert office.desk.may(*HERE)


@pytest.mark.parametrize(
    ("note", "key", "place", "asked"),
    [
        ("its own name", "t1", "anything", True),
        ("another name, although the call is alike", "t2", "place of t1", False),
        ("no name, and the call is alike", "", "place of t1", True),
        ("no name, and another call", "", "place of t2", False),
    ],
)
def test_what_counts_as_asked(office: Office, note: str, key: str, place: str, asked: bool) -> None:
    office.desk.keep(office.call("t1"))
    office.desk.heard("s1", key, place)
    office.desk.heard("s2", "t1", "place of t1")
    found = office.again().close("s1", "t1")
    assert found is not None
    assert found.asked is asked, note
    assert office.desk.close("s2", "t1") is None


def test_a_call_is_closed_once(office: Office) -> None:
    office.desk.keep(office.call("t1"))
    assert office.desk.close("s1", "t1") is not None
    assert office.desk.close("s1", "t1") is None
    assert office.again().close("s1", "t1") is None


def test_two_hooks_for_one_call_are_one(office: Office) -> None:
    assert office.desk.keep(office.call("t1"))
    assert office.desk.keep(office.call("t1"))
    assert not office.desk.keep(office.call("t1", place="another call of the same name"))


def test_nothing_pushes_out_what_was_not_asked_about(office: Office) -> None:
    kept = [office.desk.keep(office.call(f"t{number}")) for number in range(MOST_UNASKED + 5)]
    assert kept == [True] * MOST_UNASKED + [False] * 5
    for number in range(MOST_ASKED + 20):  # those that were asked about make room for each other, and for no more
        if number < MOST_UNASKED:
            office.desk.heard("s1", f"t{number}", "")
        office.desk.keep(office.call(f"more{number}", session="s2"))
    found = office.again().close("s2", "more0")
    assert found is not None
    assert not found.asked


def test_what_is_kept_for_long_is_forgotten(office: Office) -> None:
    for number in range(MOST_UNASKED):
        office.desk.keep(office.call(f"t{number}"))
    assert not office.desk.keep(office.call("new"))
    office.now += KEPT_NS
    assert office.desk.keep(office.call("new"))


BREAKS: list[tuple[str, Callable[[HandOvers, Office], object], object]] = [
    ("not handed over", lambda desk, office: desk.keep(office.call("t2")), False),
    ("closed all the same", lambda desk, _office: desk.close("s1", "t1") is not None, True),
]


@pytest.mark.parametrize(("note", "act", "want"), BREAKS, ids=[case[0] for case in BREAKS])
def test_a_store_that_fails(office: Office, monkeypatch: pytest.MonkeyPatch, note: str, act: Any, want: bool) -> None:
    office.desk.keep(office.call("t1"))

    def broken(*_: object, **__: object) -> bool:
        raise StoreError("gone")

    monkeypatch.setattr(office.store, "save_session", broken)
    assert act(office.desk, office) is want, note


def test_a_call_that_somebody_wrote_into_the_store_is_none(office: Office) -> None:
    office.desk.keep(office.call("t1"))
    (state,) = office.store.sessions(prefix="hand-over:")
    forged = new_seal().sealed("handed-over", fast.encode(replace(office.call("t1"), asked=True)))
    assert office.store.save_session(state.session, fast.encode((forged,)), version=state.version, now_ns=1)
    found = office.desk.close("s1", "t1")  # this server remembers what it did
    assert found is not None
    assert not found.asked
