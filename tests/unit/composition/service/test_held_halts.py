"""A halt that somebody takes out of the store holds, and is an alarm; what a server has signed lifts it everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from interpose.composition.service.governance_records import GovernanceRecords, halted_event
from interpose.composition.service.held_halts import HeldHalts
from interpose.composition.service.service import Service
from interpose.composition.service.session_desk import SessionDesk
from interpose.people.approvals.seal import Seal, new_seal
from interpose.rules.governance.sessions.halts import lifted, with_halt
from interpose.rules.governance.sessions.memory_sessions import MemorySessions
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.rules.governance.sessions.sessions import GovernedSession, Lift
from tests.support.governance.governed import NOW, kept, session_of
from tests.support.servers.servers import service_in

HALTED = with_halt(session_of(), "21 errors", "governance/stall", NOW)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path) as opened:
        yield opened


def guarded(rows: MemorySessions, seal: Seal) -> tuple[SessionKeeper, HeldHalts]:
    """The sessions of a server."""
    halts = HeldHalts(seal)
    return SessionKeeper(rows, checked=halts), halts


def without_halt(session: GovernedSession | None) -> GovernedSession:
    assert session is not None
    return replace(session, halt=None)


def forged_lift(session: GovernedSession | None) -> GovernedSession:
    assert session is not None
    return lifted(session, Lift(halt_ns=NOW, by="operator", at_ns=NOW + 1, signature=b"x" * 64))


def another_servers_lift(session: GovernedSession | None) -> GovernedSession:
    assert session is not None
    assert session.halt is not None
    stranger = new_seal()
    return lifted(session, HeldHalts(stranger).signed(stranger, "s-12", session.halt, "ann", NOW + 1))


TAMPERED: dict[str, Callable[[GovernedSession | None], GovernedSession]] = {
    "the halt is taken out": without_halt,
    "a lift that nobody signed": forged_lift,
    "a lift that another key signed": another_servers_lift,
    "a fresh session in its place": lambda _last: session_of(),
}


@pytest.mark.parametrize("how", TAMPERED)
def test_what_somebody_does_to_the_store_lifts_nothing(how: str, caplog: pytest.LogCaptureFixture) -> None:
    rows, seal = MemorySessions(), new_seal()
    keeper, _ = guarded(rows, seal)
    kept(rows, HALTED)
    assert keeper.read("s-12") == HALTED
    SessionKeeper(rows).change("s-12", TAMPERED[how])
    for _ in range(3):
        session = keeper.read("s-12")
        assert session is not None
        assert session.halt == HALTED.halt
    assert [record.message for record in caplog.records] == [
        "alarm: session 's-12' was halted, and somebody changed the store: no operator lifted it"
    ]
    # The next change that a call makes puts it back into the store.
    keeper.change("s-12", lambda last: replace(last or session_of(), state="idle"))
    session = SessionKeeper(rows).read("s-12")
    assert session is not None
    assert (session.state, session.halt) == ("idle", HALTED.halt)


def test_a_row_that_is_gone_is_halted(caplog: pytest.LogCaptureFixture) -> None:
    rows = MemorySessions()
    keeper, _ = guarded(rows, new_seal())
    kept(rows, HALTED)
    assert keeper.read("s-12") == HALTED
    rows._rows.clear()
    session = keeper.read("s-12")
    assert session is not None
    assert (session.id, session.halt) == ("s-12", HALTED.halt)
    assert keeper.read("another") is None


def test_what_one_server_lifts_is_lifted_for_all() -> None:
    rows, seal = MemorySessions(), new_seal()
    one, halts = guarded(rows, seal)
    other, _ = guarded(rows, seal)
    kept(rows, HALTED)
    assert one.read("s-12") == other.read("s-12") == HALTED
    SessionDesk(one, seal=seal, halts=halts).lift("s-12", "ann")
    for keeper in (one, other):
        session = keeper.read("s-12")
        assert session is not None
        assert session.halt is None


def test_an_old_lift_lifts_no_new_halt() -> None:
    rows, seal = MemorySessions(), new_seal()
    keeper, halts = guarded(rows, seal)
    kept(rows, HALTED)
    desk = SessionDesk(keeper, seal=seal, halts=halts)
    free = desk.lift("s-12", "ann")
    desk.halt("s-12", "ann", "again")
    SessionKeeper(rows).change("s-12", lambda _last: free)
    session = keeper.read("s-12")
    assert session is not None
    assert session.halt is not None
    assert session.halt.reason == "again"


def test_a_lift_is_for_one_session() -> None:
    rows, seal = MemorySessions(), new_seal()
    keeper, halts = guarded(rows, seal)
    kept(rows, HALTED, replace(HALTED, id="other", key="other"))
    assert keeper.read("other") is not None
    free = SessionDesk(keeper, seal=seal, halts=halts).lift("s-12", "ann")
    SessionKeeper(rows).change("other", lambda _last: replace(free, id="other", key="other"))
    session = keeper.read("other")
    assert session is not None
    assert session.halt is not None


def test_a_server_that_starts_knows_the_halts_of_the_ledger(service: Service) -> None:
    seal = new_seal()
    records = GovernanceRecords(service.ledger.recorder)
    records(halted_event(HALTED))
    records(halted_event(replace(HALTED, id="watched", key="watched"), watch=True))
    service.ledger.flush()
    kept(service.store, without_halt(HALTED), session_of("watched"))
    halts = HeldHalts(seal)
    halts.learn(service.store)
    keeper = SessionKeeper(service.store, checked=halts)
    session, watched = keeper.read("s-12"), keeper.read("watched")
    assert session is not None
    assert watched is not None
    assert (session.halt, watched.halt) == (HALTED.halt, None)
    SessionDesk(keeper, seal=seal, halts=halts).lift("s-12", "ann")
    # And the next one learns the same records, with the lift in the row.
    later = HeldHalts(seal)
    later.learn(service.store)
    session = SessionKeeper(service.store, checked=later).read("s-12")
    assert session is not None
    assert session.halt is None
