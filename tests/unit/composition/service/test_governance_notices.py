"""Where what governance did is told: a halt with its checkpoint, what would have been one, and how tasks ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.governance_notices import GovernanceNotices
from interpose.composition.service.service import Service
from interpose.core.config.settings import Config
from interpose.core.types import Context
from interpose.doors.cli.governing.governance_report import reported
from interpose.record.ledger import Record, search
from interpose.record.store.protocols import Query
from interpose.rules.governance.sessions.halts import with_halt
from interpose.rules.governance.sessions.outcomes import SessionNews
from tests.support.governance.governed import NOW, session_of
from tests.support.servers.servers import service_in

HALTED = with_halt(session_of(), "21 errors", "governance/stall/errors", NOW)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path) as opened:
        yield opened


def told(service: Service, place: Path, *news: SessionNews) -> tuple[list[str], list[Record]]:
    """What came back for each, and what is in the ledger, the oldest first."""
    settings = replace(Config().governance, log=str(place / "g.log"), checkpoints=str(place / "checkpoints"))
    notices = GovernanceNotices(settings, service.ledger.recorder)
    places = [notices(one) for one in news]
    notices.close()
    service.ledger.flush()
    return places, search(service.store, Query(tool="governance"), 10)[::-1]


def news(**fields: Any) -> SessionNews:
    context = Context(session_id="s-12", agent_id="a1", role="worker")
    given: dict[str, Any] = {
        "at_ns": NOW,
        "session": session_of(),
        "context": context,
        "rule": "governance/stall/errors",
    }
    return SessionNews(**given | fields)


def test_a_halt_can_be_found_by_who_holds_it(service: Service, tmp_path: Path) -> None:
    """A server that starts anew knows it by its key and its time."""
    (place,), (record,) = told(service, tmp_path, news(word="halt", session=HALTED, text="21 errors"))
    assert Path(place).is_file()
    assert isinstance(record.arguments, dict)
    assert (record.arguments["key"], record.arguments["at_ns"]) == ("s-12", NOW)
    assert (record.arguments["checkpoint"], record.arguments["reason"]) == (place, "21 errors")
    assert (record.decision, record.role, record.agent) == ("deny", "worker", "a1")


def test_what_would_have_been_a_halt_is_in_the_report_and_halts_nothing(service: Service, tmp_path: Path) -> None:
    watched = news(word="watch", text="would halt: 21 errors", would_halt="21 errors")
    (place,), (record,) = told(service, tmp_path, watched)
    assert (place, record.decision) == ("", "allow")
    assert not (tmp_path / "checkpoints").exists()
    assert [(one.session, one.reason) for one in reported(service.store, 0).halts] == [("s-12", "21 errors")]
    service.answering.halts.learn(service.store)  # type: ignore[union-attr]  # it serves
    assert service.answering.halts("s-12", None) is None  # type: ignore[union-attr]  # as above


def test_tasks_are_recorded_and_everything_is_in_the_log(service: Service, tmp_path: Path) -> None:
    done, failed = news(word="task", text="worker: done"), news(word="task", text="worker: failed", failed=True)
    _, records = told(service, tmp_path, done, failed, news(word="deny", text="no"))
    assert [one.outcome for one in records] == ["success", "error"]
    lines = (tmp_path / "g.log").read_text().splitlines()
    assert [line.split()[1] for line in lines] == ["task", "task", "deny"]
