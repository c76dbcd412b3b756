"""Governed sessions over a real socket: who may look, halt and lift, and what each refusal is called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.settings import Config
from interpose.doors.http import governed_sessions, intercept, sessions
from interpose.doors.http_server.messages import Role
from tests.support.governance.governed import kept, session_of
from tests.support.servers.servers import JSON, Reply, Running, bearer, running, service_in, trusting


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    own = {"log": str(tmp_path / "governance.log"), "checkpoints": str(tmp_path / "checkpoints")}
    with service_in(tmp_path, governance=replace(Config().governance, **own)) as opened:
        kept(opened.store, session_of(), session_of("a/b c", key="a/b c"))
        yield opened


@pytest.fixture
def server(service: Service) -> Iterator[Running]:
    routes = (*sessions.routes(service), *governed_sessions.routes(service), *intercept.routes(service))
    with running(routes, trust=trusting()) as started:
        yield started


def say(server: Running, method: str, path: str, value: Any = None, role: Role = "operator") -> Reply:
    body = None if value is None else json.dumps(value)
    return server.ask(method, f"/api/v1/sessions{path}", body, bearer(role) | (JSON if body is not None else {}))


def test_from_a_look_to_a_lift(server: Running) -> None:
    shown = say(server, "GET", "/s-12/governance").json
    assert (shown["state"], shown["counts"]["calls"], shown["halt"]) == ("active", 9, None)
    assert [agent["name"] for agent in shown["agents"]] == ["main", "worker", "helper"]
    assert shown["violations"][0]["rule"] == "governance/role"
    halted = say(server, "POST", "/s-12/halt", {"reason": "it deletes too much"}).json
    assert (halted["state"], halted["was"]) == ("halted", "active")
    assert (halted["halt"]["reason"], halted["halt"]["by"]) == ("it deletes too much", "operator")
    assert halted["halt"]["how_to_lift"] == "interpose governance session lift s-12"
    assert Path(halted["halt"]["checkpoint"]).is_file()
    again = say(server, "POST", "/s-12/halt", {"reason": "another"})
    assert (again.status, again.json["halt"]["reason"]) == (200, "it deletes too much")
    lifted = say(server, "POST", "/s-12/lift", {"comment": "fine"}, "approver").json
    assert (lifted["state"], lifted["halt"]) == ("active", None)
    refused = say(server, "POST", "/s-12/lift", {})
    assert (refused.status, refused.json["error"]) == (409, "not_halted")


def test_the_list_has_how_they_stand(server: Running, service: Service) -> None:
    call = {"event": "tools/call", "phase": "request", "payload": {"name": "read", "arguments": {"path": "x"}},
            "context": {"sessionId": "s-12"}}  # fmt: skip
    server.ask("POST", "/api/v1/intercept", json.dumps(call), bearer("agent") | JSON)
    call["context"] = {"sessionId": "ungoverned"}
    server.ask("POST", "/api/v1/intercept", json.dumps(call), bearer("agent") | JSON)
    say(server, "POST", "/a%2Fb%20c/halt", {"reason": "x"})
    service.ledger.flush()
    rows = {row["id"]: row for row in say(server, "GET", "?since=3650d").json["sessions"]}
    assert set(rows) == {"s-12", "a/b c", "ungoverned"}
    assert rows["ungoverned"]["governed"] is None
    assert rows["s-12"]["governed"]["role"] == "coordinator"
    halted = say(server, "GET", "?since=3650d&state=halted").json["sessions"]
    assert [(row["id"], row["governed"]["state"]) for row in halted] == [("a/b c", "halted")]
    assert say(server, "GET", "/s-12").json["governed"]["state"] == "active"
    wrong = say(server, "GET", "?state=asleep")
    assert (wrong.status, wrong.json["error"]) == (400, "invalid_query")


REFUSED: list[tuple[str, str, str, Any, Role, int, str]] = [
    ("no such session", "POST", "/none/halt", {"reason": "x"}, "operator", 404, "not_found"),
    ("no such session to lift", "POST", "/none/lift", {}, "operator", 404, "not_found"),
    ("no such session to look at", "GET", "/none/governance", None, "operator", 404, "not_found"),
    ("no reason", "POST", "/s-12/halt", {}, "operator", 400, "invalid_request"),
    ("a blank reason", "POST", "/s-12/halt", {"reason": "  "}, "operator", 400, "invalid_request"),
    ("a field that nobody knows", "POST", "/s-12/lift", {"force": True}, "operator", 400, "invalid_request"),
    ("an agent halts", "POST", "/s-12/halt", {"reason": "x"}, "agent", 403, "forbidden"),
    ("an agent lifts", "POST", "/s-12/lift", {}, "agent", 403, "forbidden"),
    ("an auditor looks", "GET", "/s-12/governance", None, "auditor", 403, "forbidden"),
    ("an agent looks", "GET", "/s-12/governance", None, "agent", 403, "forbidden"),
    ("an auditor lifts", "POST", "/s-12/lift", {}, "auditor", 403, "forbidden"),
]


@pytest.mark.parametrize(
    ("note", "method", "path", "body", "role", "status", "code"), REFUSED, ids=[row[0] for row in REFUSED]
)
def test_refusals(
    server: Running, note: str, method: str, path: str, body: Any, role: Role, status: int, code: str
) -> None:
    said = say(server, method, path, body, role)
    assert (said.status, said.json["error"]) == (status, code)


def test_without_the_content_type_nothing_is_done(server: Running) -> None:
    said = server.ask("POST", "/api/v1/sessions/s-12/halt", '{"reason": "x"}', bearer("operator"))
    assert (said.status, said.json["error"]) == (415, "invalid_content_type")


def test_a_token_alone_lifts_nothing_from_this_machine(tmp_path: Path) -> None:
    from tests.support.servers.servers import answered_by_token

    own = {"log": str(tmp_path / "governance.log"), "checkpoints": str(tmp_path / "checkpoints")}
    groups: dict[str, Any] = {
        "approvals": answered_by_token(tmp_path, proof="terminal"),
        "governance": replace(Config().governance, **own),
    }
    with service_in(tmp_path, **groups) as service:
        kept(service.store, session_of())
        with running(governed_sessions.routes(service), trust=trusting()) as server:
            assert say(server, "POST", "/s-12/halt", {"reason": "x"}).status == 200
            refused = say(server, "POST", "/s-12/lift", {})
            assert (refused.status, refused.json["error"]) == (403, "not_proven")
            assert "interpose governance session lift s-12" in refused.json["message"]
            assert say(server, "GET", "/s-12/governance").json["state"] == "halted"
