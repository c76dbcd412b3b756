"""A service that starts and one that is reloaded decide by the same: halts that it remembers, bypasses of operators."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.build import reconfigure
from interpose.composition.service.service import Service
from interpose.core.config.settings import Config
from interpose.core.driving import drive
from interpose.core.errors import DamagedStoreError
from interpose.core.types import Context, ToolCall
from interpose.engine.flow.hosted import Abilities
from interpose.rules.governance.sessions.session_keeper import PREFIX
from tests.support.governance.governed import kept, session_of
from tests.support.servers.servers import service_in

GOVERNANCE = """\
version: 1
chains:
  rules:
    - {id: PLAN-FIRST, command: deploy, must_before: [{exists: PLAN.md}], action: block, message: Plan first.}
"""


@pytest.fixture(params=["started", "reloaded"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    file = tmp_path / "governance.yaml"
    file.write_text(GOVERNANCE)
    file.chmod(0o600)
    own = replace(Config().governance, file=str(file), log="", checkpoints=str(tmp_path / "checkpoints"))
    with service_in(tmp_path, governance=own) as opened:
        if request.param == "reloaded":
            reconfigure(opened, opened.config)
        yield opened


def said(service: Service, tmp_path: Path, session: str = "s-12") -> tuple[str, str]:
    """The outcome for a harmless call of a session, and why."""
    context = Context(session_id=session, cwd=str(tmp_path), source="http")
    call = ToolCall("exec", {"command": "make"}, context=context)
    verdict = drive(service.hosted(context, Abilities()).before(call)).verdict
    return verdict.outcome, verdict.reason


def rows_of(tmp_path: Path, text: str, *values: Any) -> None:
    with closing(sqlite3.connect(tmp_path / "ledger" / "ledger.db")) as store, store:
        assert store.execute(text, values).rowcount == 1


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_halt_holds_whatever_becomes_of_its_row(service: Service, tmp_path: Path, how: str) -> None:
    kept(service.store, session_of())
    assert said(service, tmp_path)[0] == "allow"
    service.governed.halt("s-12", "ann", "it deletes too much")
    assert said(service, tmp_path)[0] == "deny"
    if how == "deleted":
        rows_of(tmp_path, "DELETE FROM sessions WHERE session = ?", f"{PREFIX}s-12")
    else:
        kept(service.store, session_of())
    outcome, reason = said(service, tmp_path)
    assert (outcome, "it deletes too much" in reason) == ("deny", True), reason
    service.governed.lift("s-12", "ann")
    assert said(service, tmp_path)[0] == "allow"


@pytest.mark.parametrize("body", [b"\x00", b'{"form":2,"session":{}}', b'{"form":1,"session":{"id":"x","karma":1}}'])
def test_one_row_that_can_not_be_read_hides_no_other_session(
    service: Service, tmp_path: Path, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    desk = service.governed
    kept(service.store, session_of(), session_of("damaged"))
    rows_of(tmp_path, "UPDATE sessions SET body = ? WHERE session = ?", body, f"{PREFIX}damaged")
    for _ in range(2):
        assert [one.id for one in desk.recent()] == ["s-12"]
    assert desk.session("s-12").id == "s-12"
    assert desk.halt("s-12", "ann", "enough").halt is not None
    assert [record.message for record in caplog.records if "damaged" in record.message] == [
        message for message in caplog.messages if message.startswith("alarm: the session 'damaged' can't be read")
    ]
    assert len([message for message in caplog.messages if "'damaged'" in message]) == 1
    # That session itself is no new one: its halt may have been in the row.
    with pytest.raises(DamagedStoreError, match="'damaged' can't be read"):
        desk.session("damaged")
    assert said(service, tmp_path, "damaged")[0] == "deny"


def test_an_operators_bypass_is_known(service: Service, tmp_path: Path) -> None:
    context = Context(session_id="s-12", cwd=str(tmp_path), source="http")

    def command() -> str:
        return drive(service.hosted(context, Abilities()).decide_command("/deploy")).outcome

    assert command() == "deny"
    service.bypasses.give("deploy", by="ann", reason="it is urgent", seconds=600)
    assert command() == "allow"
    reconfigure(service, service.config)
    assert command() == "allow"
