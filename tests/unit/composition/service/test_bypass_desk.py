"""An operator's word is signed, bounded, recorded, and taken back for good; nothing else in the store is one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from time import time_ns
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw
from msgspec import json as fast
from msgspec.structs import replace

from interpose.composition.service.bypass_desk import MOST, ROW, BypassDesk
from interpose.core.errors import AuditUnavailableError, NotProvenError, ScopeError, StoreError
from interpose.core.types import ToolCall, ToolOutcome, Verdict
from interpose.people.approvals.seal import Sealed, Verifier, new_seal
from interpose.people.approvals.uses import Uses
from interpose.record.store import open_store
from interpose.record.store.protocols import Store
from interpose.rules.governance.budgets.durations import NANOSECONDS
from interpose.rules.governance.roles.bypasses import MOST_SECONDS, RULE, Bypass


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.now = 1_800_000_000 * NANOSECONDS

    def __call__(self) -> int:
        return self.now


class Recording:
    """A recorder that keeps what it is told, or fails."""

    def __init__(self) -> None:
        self.verdicts: list[Verdict[ToolCall]] = []
        self.outcomes: list[ToolOutcome] = []
        self.broken = False

    def decided(self, verdict: Verdict[ToolCall]) -> None:
        if self.broken:
            raise AuditUnavailableError("the disk is full")
        self.verdicts.append(verdict)

    def finished(self, _verdict: Verdict[ToolCall], outcome: ToolOutcome, _after: object) -> None:
        self.outcomes.append(outcome)


class Office:
    """What a server has, and a desk of it."""

    def __init__(self, store: Store) -> None:
        self.store, self.clock, self.recorder = store, Clock(), Recording()
        self.seal = new_seal()
        self.uses = Uses(alarm=lambda _key, _text: None)
        self.desk = self.another()

    def another(self) -> BypassDesk:
        answering: Any = SimpleNamespace(seal=self.seal, uses=self.uses, clock=self.clock)
        return BypassDesk(self.store, self.recorder, answering)

    def give(self, command: str = "ops:*", **more: Any) -> Bypass:
        wanted: dict[str, Any] = {"by": "ada", "reason": "late", "seconds": 600}
        return self.desk.give(command, **wanted | more)

    def forge(self, *rows: Sealed) -> None:
        """As somebody does who can write to the store."""
        state = self.store.load_session(ROW)
        version = 0 if state is None else state.version
        assert self.store.save_session(ROW, fast.encode(rows), version=version, now_ns=1)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    store = open_store(str(tmp_path / "ledger.db"))
    yield Office(store)
    store.close()


def test_what_was_given_counts_for_every_desk_of_the_server_and_ends(office: Office) -> None:
    given = office.give()
    assert office.desk.bypass_of("ops:deploy", "s") == given
    assert office.another().bypass_of("/ops:deploy", "other") == given
    assert office.desk.bypass_of("deploy", "s") is None
    office.clock.now = given.ends_ns
    assert office.desk.bypass_of("ops:deploy", "s") is None
    assert office.desk.seen() == []


def test_one_for_a_session(office: Office) -> None:
    given = office.give(session="s")
    assert (office.desk.bypass_of("ops:x", "s"), office.desk.bypass_of("ops:x", "t")) == (given, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"seconds": 0},
        {"seconds": -5},
        {"seconds": MOST_SECONDS + 1},
        {"reason": "  "},
        {"command": " "},
    ],
)
def test_one_that_can_not_be_given(office: Office, wrong: dict[str, Any]) -> None:
    with pytest.raises(ScopeError):
        office.give(**{"command": "x"} | wrong)
    assert office.desk.seen() == []
    assert office.recorder.verdicts == []


def test_it_is_recorded_when_it_is_given_and_when_it_is_taken_back(office: Office) -> None:
    given = office.give()
    assert office.desk.revoke(given.id, "bob")
    (gave, took) = office.recorder.verdicts
    assert [call.payload.arguments["status"] for call in (gave, took)] == ["bypass", "revoke"]
    assert (gave.payload.name, gave.payload.arguments["name"], gave.approver) == ("command", "ops:*", "ada")
    assert (gave.rule, took.approver) == (RULE, "bob")
    assert "late" in gave.findings[0].reason
    assert [outcome.denied for outcome in office.recorder.outcomes] == [False, False]


def test_one_that_could_not_be_recorded_does_not_count(office: Office) -> None:
    office.recorder.broken = True
    with pytest.raises(StoreError, match="could not be recorded, and does not count"):
        office.give()
    assert office.desk.bypass_of("ops:x", "s") is None


def test_taken_back_is_taken_back_also_when_the_store_is_set_back(office: Office) -> None:
    given = office.give()
    before = office.store.load_session(ROW)
    assert before is not None
    assert office.desk.revoke(given.id, "bob")
    assert office.desk.bypass_of("ops:x", "s") is None
    assert not office.desk.revoke(given.id, "bob")
    office.forge(*fast.decode(before.body, type=tuple[Sealed, ...]))
    assert office.desk.bypass_of("ops:x", "s") is None
    (seen,) = office.desk.seen()
    assert "an older copy of the store brought it back" in seen.problem


def test_what_no_server_signed_lets_nothing_pass(office: Office) -> None:
    given = office.give()
    (mine,) = fast.decode(office.store.load_session(ROW).body, type=tuple[Sealed, ...])  # type: ignore[union-attr]
    forged = {
        "no signature": Sealed(mine.content),
        "another's": new_seal().sealed("command-bypass", bytes(mine.content)),
        "signed for another use": office.seal.sealed("grant", bytes(mine.content)),
        "a longer time": Sealed(Raw(fast.encode(replace(given, ends_ns=given.ends_ns + 1))), mine.signature),
        "another command": Sealed(Raw(fast.encode(replace(given, command="*"))), mine.signature),
    }
    for note, row in forged.items():
        office.forge(row)
        assert office.desk.bypass_of("ops:x", "s") is None, note
        assert [bool(one.problem) for one in office.desk.seen()] == [True], note
    office.forge(mine)
    assert office.desk.bypass_of("ops:x", "s") == given


@pytest.mark.parametrize("body", [b"", b"{}", b"null", b'[["x", 5]]', b'[{"content": 5, "signature": ""}]', b"\xff"])
def test_garbage_in_the_store_lets_nothing_pass_and_breaks_nothing(office: Office, body: bytes) -> None:
    assert office.store.save_session(ROW, body, version=0, now_ns=1)
    assert (office.desk.bypass_of("x", "s"), office.desk.seen()) == (None, [])
    given = office.give()
    assert office.desk.bypass_of("ops:x", "s") == given


def test_a_process_that_is_no_server_neither_gives_nor_honours(office: Office) -> None:
    office.give()
    alone = BypassDesk(office.store, office.recorder)
    with pytest.raises(NotProvenError, match="no server runs"):
        alone.give("x", by="eve", reason="r", seconds=5)
    assert alone.bypass_of("ops:x", "s") is None
    assert [bool(one.problem) for one in alone.seen()] == [True], "it knows no key, and can't tell"
    office.clock.now = time_ns()  # who only shows goes by the clock of this machine
    given = office.give("later")
    shown = BypassDesk(office.store, verifier=Verifier(office.seal._public)).seen()
    assert [(one.bypass, one.problem) for one in shown if one.bypass.command == "later"] == [(given, "")]
    knowing = BypassDesk(office.store, verifier=Verifier(office.seal._public))
    assert knowing.bypass_of("later", "s") is None, "who can only tell whose it is honours nothing either"


def test_a_store_that_is_gone_lets_nothing_pass(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    office.give()

    def gone(_session: str) -> Any:
        raise StoreError("gone")

    monkeypatch.setattr(office.store, "load_session", gone)
    assert office.desk.bypass_of("ops:x", "s") is None


def test_there_are_not_more_than_people_can_look_at(office: Office) -> None:
    for number in range(MOST):
        office.give(f"c{number}")
    with pytest.raises(ScopeError, match="stand already"):
        office.give("one-more")
    office.clock.now += 601 * NANOSECONDS
    assert office.give("now").command == "now"
    assert len(office.desk.seen()) == 1


def test_two_who_give_at_the_same_time_both_do(office: Office) -> None:
    begun = threading.Barrier(8)

    def give(number: int) -> None:
        begun.wait(30)
        office.another().give(f"c{number}", by="ada", reason="r", seconds=60)

    threads = [threading.Thread(target=give, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.bypass.command for one in office.desk.seen()) == [f"c{number}" for number in range(8)]
