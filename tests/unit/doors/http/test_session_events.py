"""What programs tell of their sessions over a real socket: whose session it is, what comes back, and what stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.settings import Config
from interpose.core.types import Context
from interpose.doors.http import events, governed_sessions, session_events, sessions
from interpose.doors.http_server.messages import Role
from interpose.doors.http_server.trust import Trust
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.rules.governance.sessions.session_keys import session_key
from tests.support.governance.governed import kept, session_of
from tests.support.servers.servers import JSON, Reply, Running, bearer, running, service_in, trusting

GOVERNANCE = """version: 1
agents: [{role: worker, principal: "*"}]
roles: {worker: {tools: {allow: [read, exec]}}}
budgets: [{per: session, calls: 2}]
save_work: {tools: [], commands: [], writes: []}
stalls: {denied_again: 3}
"""
BEGINS = "Interpose governs this session."


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    (tmp_path / "governance.yaml").write_text(GOVERNANCE, encoding="utf-8")
    own = {name: str(tmp_path / f"governance.{name}") for name in ("log", "checkpoints")}
    governance = replace(Config().governance, file=str(tmp_path / "governance.yaml"), **own)
    with service_in(tmp_path, governance=governance) as opened:
        yield opened


@pytest.fixture
def server(service: Service) -> Iterator[Running]:
    rooms = (events, session_events, governed_sessions, sessions)
    routes = tuple(route for room in rooms for route in room.routes(service))
    with running(routes, trust=trusting()) as started:
        yield started


def tell(server: Running, event: str, role: Role = "agent", id: str = "s1", **more: Any) -> Reply:
    body = json.dumps({"event": event, **more})
    return server.ask("POST", f"/api/v1/sessions/{id}/events", body, bearer(role) | JSON)


def text(server: Running, event: str, **more: Any) -> str:
    answer = tell(server, event, **more)
    assert answer.status == 200, answer.body
    assert answer.json["governed"] is True
    return str(answer.json["text"])


def calls(server: Running, name: str = "read", arguments: Any = None) -> Any:
    given = {"name": name, "arguments": arguments or {"path": "/work/a"}, "context": {"sessionId": "s1"}}
    return server.ask("POST", "/api/v1/events/tool.before", json.dumps(given), bearer("agent") | JSON).json


def test_from_a_start_over_a_compaction_to_an_end(server: Running) -> None:
    first = tell(server, "start").json
    assert (first["session"], first["event"]) == ("s1", "start")
    assert first["text"].startswith(BEGINS)
    assert "Tools that you may use: read, exec" in first["text"]
    assert text(server, "due") == ""
    assert text(server, "compact") == ""
    assert text(server, "compacted").startswith("The context was compacted.")
    assert text(server, "resume") == ""
    assert text(server, "clear").startswith(BEGINS)
    assert text(server, "end") == ""


def test_an_agent_that_waits_is_idle_until_its_next_call(server: Running) -> None:
    def state() -> str:
        [row] = server.ask("GET", "/api/v1/sessions", headers=bearer("auditor")).json["sessions"]
        return str(row["governed"]["state"])

    calls(server)
    assert state() == "active"
    assert text(server, "idle") == ""
    assert state() == "idle"
    calls(server)
    assert state() == "active"


def test_no_event_gives_a_budget_back(server: Running) -> None:
    assert [calls(server)["allowed"] for _ in range(3)] == [True, True, False]
    for event in ("end", "start", "compacted", "clear", "resume", "idle", "due"):
        tell(server, event)
        assert not calls(server)["allowed"], event
    assert "0 of 2" in text(server, "start")


def test_no_event_lifts_a_halt(server: Running, service: Service) -> None:
    calls(server)
    assert service.governed.halt("s1", "ann", "enough").key == session_key(Context(session_id="s1", principal="agent"))
    for event in ("end", "start", "compacted", "clear", "resume", "idle", "due"):
        tell(server, event)
        assert "enough" in calls(server, "exec", {"command": "ls"})["reason"], event
    assert "This session is halted" in text(server, "start")


def test_no_event_forgets_a_denial(server: Running) -> None:
    said = []
    for command in ("rm -rf /", "rm -fr /", "rm -r -f /"):
        assert not calls(server, "exec", {"command": command})["allowed"]
        said.append("".join(text(server, event) for event in ("end", "start", "clear", "compacted", "due")))
    assert ["What was denied came again" in one for one in said] == [False, False, True]


def test_another_principals_session_of_that_id_is_another(server: Running, service: Service) -> None:
    kept(service.store, session_of("s1", key="s1"))  # as a hook keeps it: of the user at this machine
    before = SessionKeeper(service.store).read("s1")
    tell(server, "end")
    tell(server, "end", role="auditor")
    tell(server, "end", role="operator")
    assert SessionKeeper(service.store).read("s1") == before
    others = [one.state for one in SessionKeeper(service.store).recent() if one.key != "s1"]
    assert others == ["ended"] * 3


def test_who_has_no_token_has_no_session(service: Service) -> None:
    for trust in (Trust(), trusting()):  # strangers, and those who are believed whatever they say
        with running(session_events.routes(service), trust=trust) as server:
            answer = server.ask("POST", "/api/v1/sessions/s1/events", '{"event": "end"}', JSON)
            assert (answer.status, answer.json["error"]) == (401, "unauthorized")
    assert SessionKeeper(service.store).recent() == []


@pytest.mark.parametrize(
    ("body", "status"),
    [('{"event": "lift"}', 400), ("{}", 400), ('{"event": "start", "principal": "ann"}', 400), ("start", 400)],
)
def test_what_is_no_event(body: str, status: int, server: Running) -> None:
    answer = server.ask("POST", "/api/v1/sessions/s1/events", body, bearer("agent") | JSON)
    assert (answer.status, answer.json["error"]) == (status, "invalid_request")


def test_where_nothing_governs_there_is_nothing_to_say(tmp_path: Path) -> None:
    governance = replace(Config().governance, file=str(tmp_path / "none.yaml"))
    with (
        service_in(tmp_path, governance=governance) as service,
        running(session_events.routes(service), trust=trusting()) as server,
    ):
        answer = tell(server, "start").json
    assert (answer["governed"], answer["text"]) == (False, "")
