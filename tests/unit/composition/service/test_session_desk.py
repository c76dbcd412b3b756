"""The operator's desk: which session is meant, what a halt leaves behind, and what a lift needs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from interpose.composition.service.governance_records import GovernanceEvent, GovernanceRecords, halted_event
from interpose.composition.service.held_halts import HeldHalts
from interpose.composition.service.service import Service
from interpose.composition.service.session_desk import SessionDesk
from interpose.core.errors import NoSessionError, NotHaltedError, NotProvenError, StoreError
from interpose.people.approvals.seal import new_seal
from interpose.record.ledger import search
from interpose.record.store.protocols import Query
from interpose.rules.governance.sessions.halts import with_halt
from interpose.rules.governance.sessions.memory_sessions import MemorySessions
from tests.support.governance.governed import NOW, kept, session_of
from tests.support.servers.servers import service_in


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, governance=governance(tmp_path)) as opened:
        yield opened


def governance(directory: Path) -> object:
    from interpose.core.config.settings import Config

    own = {"file": str(directory / "governance.yaml"), "log": str(directory / "governance.log")}
    return replace(Config().governance, **own, checkpoints=str(directory / "checkpoints"))


def acts(service: Service) -> list[tuple[str, str, str, str]]:
    service.ledger.flush()
    found = search(service.store, Query(tool="governance"), 100)
    return [(each.arguments["act"], each.decision, each.rule, each.approver) for each in reversed(found)]  # type: ignore[index]  # a dict


def test_from_a_halt_to_a_lift(service: Service, tmp_path: Path) -> None:
    desk = service.governed
    kept(service.store, session_of())
    halted = desk.halt("s-12", "ann", "it deletes too much")
    assert halted.halt is not None
    assert (halted.halt.reason, halted.halt.by) == ("it deletes too much", "ann")
    told = json.loads(Path(halted.halt.checkpoint).read_text())
    assert (told["session"], told["reason"]) == ("s-12", "it deletes too much")
    assert Path(halted.halt.checkpoint).parent == tmp_path / "checkpoints"
    assert desk.session("s-12") == halted
    after = desk.lift("s-12", "bob", "looked at it")
    assert (after.halt, desk.session("s-12").halt) == (None, None)
    assert acts(service) == [("halted", "deny", "governance/halt", ""), ("lifted", "allow", "governance/lift", "bob")]
    found = search(service.store, Query(tool="governance", session="s-12"), 10)
    assert [each.source for each in found] == ["governance"] * 2
    assert desk.log is not None
    assert desk.log.flush()
    lines = (tmp_path / "governance.log").read_text().splitlines()
    assert [line.split()[1] for line in lines] == ["halt", "lift"]
    assert "by ann: it deletes too much" in lines[0]


def test_a_halt_happens_once_whoever_else_wants_it(service: Service) -> None:
    kept(service.store, session_of())
    started = [
        threading.Thread(target=service.governed.halt, args=("s-12", f"op-{number}", "stop")) for number in range(8)
    ]
    for one in started:
        one.start()
    for one in started:
        one.join()
    assert [act for act, *_ in acts(service)] == ["halted"]
    assert len(list(Path(service.config.governance.checkpoints).iterdir())) == 1


def test_which_session_is_meant(service: Service) -> None:
    two = session_of("shared", key="#" + "a" * 64, principal="ann"), session_of("shared", key="#" + "b" * 64)
    kept(service.store, session_of("abcdef-1"), session_of("abcdxx-2"), *two)
    desk = service.governed
    assert desk.session("abcdef-1").id == "abcdef-1"
    assert desk.session("abcde").id == "abcdef-1"
    assert desk.session("#" + "b" * 64).principal == ""
    for name, why in (("abcd", "2 governed sessions"), ("abc", "there is no"), ("none", "there is no"), ("", "no")):
        with pytest.raises(NoSessionError, match=why):
            desk.session(name)
    with pytest.raises(NoSessionError, match="say which by its key: #aaaa"):
        desk.halt("shared", "ann", "x")


def test_only_what_is_halted_is_lifted(service: Service) -> None:
    kept(service.store, session_of())
    with pytest.raises(NotHaltedError):
        service.governed.lift("s-12", "ann")
    with pytest.raises(NoSessionError):
        service.governed.lift("none", "ann")
    assert acts(service) == []


def test_a_desk_without_the_seal_lifts_nothing() -> None:
    rows = MemorySessions()
    keeper = kept(rows, with_halt(session_of(), "x", "governance/stall", NOW))
    with pytest.raises(NotProvenError) as refused:
        SessionDesk(keeper).lift("s-12", "ann")
    assert refused.value.code == "no_server"
    halted = keeper.read("s-12")
    assert halted is not None
    assert halted.halt is not None


def test_no_record_no_lift_but_a_halt_all_the_same() -> None:
    def failing(_event: GovernanceEvent) -> None:
        raise StoreError("the ledger is full")

    seal = new_seal()
    keeper = kept(MemorySessions(), session_of())
    desk = SessionDesk(keeper, told=failing, seal=seal, halts=HeldHalts(seal))
    with pytest.raises(StoreError):
        desk.halt("s-12", "ann", "x")
    session = keeper.read("s-12")
    assert session is not None
    assert session.halt is not None
    with pytest.raises(StoreError):
        desk.lift("s-12", "ann")
    again = keeper.read("s-12")
    assert again is not None
    assert again.halt is not None


def test_a_halt_that_can_leave_no_checkpoint_holds(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    keeper = kept(MemorySessions(), session_of())
    halted = SessionDesk(keeper, checkpoints=tmp_path / "file").halt("s-12", "ann", "x")
    assert halted.halt is not None
    assert halted.halt.checkpoint == ""


def test_what_else_is_recorded(service: Service) -> None:
    told = GovernanceRecords(service.ledger.recorder)
    told(GovernanceEvent(act="task-done", session="s", reason="worker is done", delegation="d1", target="worker"))
    told(GovernanceEvent(act="task-failed", session="s", reason="worker failed", delegation="d2", target="worker"))
    halted = with_halt(session_of(), "21 errors", "governance/stall", NOW)
    told(halted_event(halted, agent="a1", role="worker", watch=True))
    told(halted_event(halted))
    assert acts(service) == [
        ("task-done", "allow", "governance/task", ""), ("task-failed", "allow", "governance/task", ""),
        ("halted", "allow", "governance/halt", ""), ("halted", "deny", "governance/halt", ""),
    ]  # fmt: skip
    found = search(service.store, Query(tool="governance"), 10)[::-1]
    assert [each.outcome for each in found] == ["success", "error", "success", "denied"]
    (watched,) = found[2].findings
    assert (watched.mode, watched.said, watched.kind) == ("watch", "deny", "governance")
    assert found[2].role == "worker"
