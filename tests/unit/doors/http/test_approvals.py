"""Approvals, grants and sessions over a real socket: who may, what is said, and what each refusal is called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.build import reconfigure
from interpose.composition.service.service import Service
from interpose.core.errors import StoreError
from interpose.core.types import Context, ToolCall
from interpose.doors.http import approvals, intercept, sessions
from interpose.doors.http_server.tokens import Tokens, read_tokens
from interpose.doors.http_server.trust import Trust
from interpose.people.approvals.desk import Desk
from tests.support.servers.servers import Reply, Running, answered_by_token, running, service_in
from tests.support.timing.patience import PATIENCE

RULES = """\
version: 1
rules:
  - id: publishing
    on: {tools: [exec]}
    when: args.command.startsWith("publish")
    action: ask
    message: Really publish?
"""
ROLES = ("agent", "auditor", "approver", "operator")
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("approvals"), RULES) as opened:
        yield opened


def tokens_in(directory: Path) -> Tokens:
    file = directory / "tokens"
    file.write_text("".join(f"{role}-1 {role} {token(role)}\n" for role in ROLES), encoding="ascii")
    file.chmod(0o600)
    return read_tokens(file)


def token(role: str) -> str:
    return f"{role:x<40}"


@pytest.fixture(scope="module")
def server(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    trust = Trust(tokens=tokens_in(tmp_path_factory.mktemp("tokens")))
    routes = (*approvals.routes(service), *sessions.routes(service), *intercept.routes(service))
    with running(routes, trust=trust) as started:
        yield started


def say(server: Running, method: str, path: str, value: Any = None, role: str = "approver", **headers: str) -> Reply:
    body = None if value is None else json.dumps(value)
    kind = {"Content-Type": "application/json"} if body is not None else {}
    return server.ask(method, path, body, {"Authorization": f"Bearer {token(role)}"} | kind | headers)


def asked(service: Service, command: str, session: str = "s1") -> str:
    """The id of a question that waits."""
    context = Context(session_id=session, agent_id="main", principal="user:ann", cwd="/work")
    verdict = service.run(context).before(ToolCall("exec", {"command": command}, context=context))
    assert verdict.outcome == "ask"
    return verdict.approval


def test_a_question_is_seen_approved_and_used(server: Running, service: Service) -> None:
    id = asked(service, "publish one")
    listed = say(server, "GET", "/api/v1/approvals").json["approvals"]
    (shown,) = [each for each in listed if each["id"] == id]
    assert shown.items() <= say(server, "GET", f"/api/v1/approvals/{id.upper()}").json.items()
    assert (shown["state"], shown["tool"], shown["arguments"]) == ("waiting", "exec", {"command": "publish one"})
    assert (shown["message"], shown["session"], shown["cwd"]) == ("Really publish?", "s1", "/work")
    assert shown["findings"][0]["rule"] == "publishing"

    answered = say(server, "POST", f"/api/v1/approvals/{id}/approve", {"comment": "fine"})
    assert answered.status == 200
    assert answered.json["state"] == "approved"
    assert (answered.json["answer"]["by"], answered.json["answer"]["comment"]) == ("approver-1", "fine")
    (granted,) = [each for each in say(server, "GET", "/api/v1/grants").json["grants"] if each["id"] == id]
    assert (granted["by"], granted["uses_left"], granted["session"]) == ("approver-1", 1, "s1")
    context = Context(session_id="s1", agent_id="main", principal="user:ann", cwd="/work")
    verdict = service.run(context).before(ToolCall("exec", {"command": "publish one"}, context=context))
    assert (verdict.outcome, verdict.approver) == ("allow", f"grant:{id} of approver-1")
    assert id not in [each["id"] for each in say(server, "GET", "/api/v1/grants").json["grants"]]


def test_who_waits_over_http_gets_the_answer(server: Running, service: Service) -> None:
    call = {
        "event": "tools/call", "phase": "request",
        "payload": {"name": "exec", "arguments": {"command": "publish two"}}, "context": {"sessionId": "http"},
    }  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(say, server, "POST", "/api/v1/intercept", call, "agent", Prefer="wait=20")
        while not (open_ones := [each for each in service.desk.asked() if each.session == "http"]):
            pass
        say(server, "POST", f"/api/v1/approvals/{open_ones[0].id}/approve", {}, "operator")
        assert waiting.result(PATIENCE).json["valid"] is True


@pytest.mark.parametrize(
    ("body", "scope"),
    [
        ({}, {"kind": "once"}),
        ({"scope": "uses", "uses": 3}, {"kind": "uses", "uses": 3}),
        ({"scope": "session"}, {"kind": "session"}),
    ],
)
def test_scopes(server: Running, service: Service, body: dict[str, Any], scope: dict[str, Any]) -> None:
    id = asked(service, f"publish {scope}")
    answered = say(server, "POST", f"/api/v1/approvals/{id}/approve", body).json
    assert {name: value for name, value in answered["answer"]["scope"].items() if value} == scope


def test_until_a_time(server: Running, service: Service) -> None:
    id, end = asked(service, "publish until"), NOW + timedelta(hours=2)
    body = {"scope": "until", "until": end.isoformat()}
    assert say(server, "POST", f"/api/v1/approvals/{id}/approve", body).status == 200
    (granted,) = [each for each in say(server, "GET", "/api/v1/grants").json["grants"] if each["id"] == id]
    assert datetime.fromisoformat(granted["ends"]) == end
    assert granted["uses_left"] is None
    assert say(server, "DELETE", f"/api/v1/grants/{id}").json == {"id": id, "revoked": True}
    assert say(server, "DELETE", f"/api/v1/grants/{id}").json["error"] == "not_found"


REFUSED: list[tuple[str, str, Any, int, str]] = [
    ("no such question", "approve", {}, 404, "not_found"),
    ("no such question", "deny", {}, 404, "not_found"),
    ("no such scope", "approve", {"scope": "forever"}, 400, "invalid_request"),
    ("a field that nobody knows", "approve", {"scopes": "once"}, 400, "invalid_request"),
    ("no uses", "approve", {"scope": "uses"}, 400, "invalid_scope"),
    ("uses of something else", "approve", {"scope": "session", "uses": 3}, 400, "invalid_scope"),
    ("no use", "approve", {"scope": "uses", "uses": 0}, 400, "invalid_request"),
    ("no time", "approve", {"scope": "until"}, 400, "invalid_scope"),
    ("the past", "approve", {"scope": "until", "until": "2020-01-01T00:00:00Z"}, 400, "invalid_scope"),
    ("too far", "approve", {"scope": "until", "until": "2999-01-01T00:00:00Z"}, 400, "invalid_scope"),
    ("beyond the calendar", "approve", {"scope": "until", "until": "0001-01-01T00:00:00+14:00"}, 400, "invalid_scope"),
    ("no zone", "approve", {"scope": "until", "until": "2999-01-01T00:00:00"}, 400, "invalid_request"),
    ("a list", "deny", [], 400, "invalid_request"),
    ("a novel", "deny", {"reason": "x" * 1001}, 400, "invalid_request"),
]


@pytest.mark.parametrize(("note", "act", "body", "status", "code"), REFUSED, ids=[f"{r[0]}, {r[1]}" for r in REFUSED])
def test_refused_answers(
    server: Running, service: Service, note: str, act: str, body: Any, status: int, code: str
) -> None:
    id = "zzzzzzzz" if status == 404 else asked(service, f"publish refused {note} {act}")
    refused = say(server, "POST", f"/api/v1/approvals/{id}/{act}", body)
    assert (refused.status, refused.json["error"]) == (status, code), refused.json
    assert status == 404 or service.desk.question(id).state == "waiting"


def test_an_answer_counts_once_and_in_time(server: Running, service: Service) -> None:
    id = asked(service, "publish three")
    denied = say(server, "POST", f"/api/v1/approvals/{id}/deny", {"reason": "not today"}, "operator")
    assert denied.json["state"] == "denied"
    for act in ("approve", "deny"):
        again = say(server, "POST", f"/api/v1/approvals/{id}/{act}", {})
        assert (again.status, again.json["error"]) == (409, "already_answered")
        assert "denied by operator-1" in again.json["message"]
    assert service.answering is not None
    hasty = Desk(service.store, timeout=0.000001, key=b"other", seal=service.answering.seal)
    context = Context(session_id="late")
    late = service.policies.engine(context).run(context, confirm=hasty.waiting())
    id = late.before(ToolCall("exec", {"command": "publish"}, context=context)).approval
    for act in ("approve", "deny"):
        too_late = say(server, "POST", f"/api/v1/approvals/{id}/{act}", {})
        assert (too_late.status, too_late.json["error"]) == (410, "too_late")
    states = say(server, "GET", "/api/v1/approvals?state=expired").json["approvals"]
    assert id in [each["id"] for each in states]
    every = say(server, "GET", "/api/v1/approvals?state=all&limit=2").json["approvals"]
    assert len(every) == 2


ROUTES = [
    ("GET", "/api/v1/approvals", {"approver", "operator"}),
    ("GET", "/api/v1/approvals/zzzzzzzz", {"approver", "operator"}),
    ("POST", "/api/v1/approvals/zzzzzzzz/approve", {"approver", "operator"}),
    ("POST", "/api/v1/approvals/zzzzzzzz/deny", {"approver", "operator"}),
    ("GET", "/api/v1/grants", {"approver", "operator"}),
    ("DELETE", "/api/v1/grants/zzzzzzzz", {"approver", "operator"}),
    ("GET", "/api/v1/sessions", {"auditor", "operator"}),
    ("GET", "/api/v1/sessions/x", {"auditor", "operator"}),
]


@pytest.mark.parametrize(("method", "path", "roles"), ROUTES)
def test_who_may(server: Running, method: str, path: str, roles: set[str]) -> None:
    value: Any = {} if method == "POST" else None
    for role in ROLES:
        assert (say(server, method, path, value, role).status in (200, 404)) == (role in roles), role
    assert server.ask(method, path).status == 401, "also on loopback, nobody without a token"


@pytest.mark.parametrize("query", ["state=some", "limit=0", "limit=1001", "limit=x", "colour=red"])
def test_filters_that_are_none(server: Running, query: str) -> None:
    refused = say(server, "GET", f"/api/v1/approvals?{query}")
    assert (refused.status, refused.json["error"]) == (400, "invalid_query")


def test_a_body_must_be_json(server: Running, service: Service) -> None:
    id = asked(service, "publish four")
    plain = server.ask(
        "POST", f"/api/v1/approvals/{id}/approve", "{}", {"Authorization": f"Bearer {token('approver')}"}
    )
    assert (plain.status, plain.json["error"]) == (415, "invalid_content_type")
    assert service.desk.question(id).state == "waiting"


def test_sessions_that_were_active(server: Running, service: Service) -> None:
    asked(service, "publish five", session="s 5")
    context = Context(session_id="s 5", agent_id="main")
    service.run(context).before(ToolCall("exec", {"command": "ls"}, context=context))
    service.ledger.flush()
    one = say(server, "GET", "/api/v1/sessions/s%205", role="auditor").json
    assert (one["id"], one["agent"], one["calls"], one["allow"], one["ask"]) == ("s 5", "main", 2, 1, 1)
    first, *_ = say(server, "GET", "/api/v1/sessions?since=1h&limit=1", role="auditor").json["sessions"]
    assert first == one
    assert say(server, "GET", "/api/v1/sessions/none", role="auditor").json["error"] == "not_found"
    assert say(server, "GET", "/api/v1/sessions?since=soon", role="auditor").json["error"] == "invalid_query"


def test_a_changed_configuration_holds_for_new_questions(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    with service_in(tmp_path, RULES) as service:
        trust = Trust(tokens=tokens_in(tmp_path / "t"))
        with running(approvals.routes(service), trust=trust) as server:
            before = asked(service, "publish before")
            reconfigure(service, replace(service.config, approvals=answered_by_token(tmp_path, timeout=7)))
            shown = [say(server, "GET", f"/api/v1/approvals/{id}").json for id in (before, asked(service, "publish"))]
            lasts = [datetime.fromisoformat(q["expires"]) - datetime.fromisoformat(q["asked"]) for q in shown]
            assert [round(span.total_seconds()) for span in lasts] == [300, 7]
            assert say(server, "POST", f"/api/v1/approvals/{before}/approve", {}).status == 200


def test_a_store_that_is_away_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_args: object, **_options: object) -> Any:
        raise StoreError("gone")

    (tmp_path / "t").mkdir()
    with service_in(tmp_path, RULES, approvals=answered_by_token(tmp_path, timeout=5)) as service:
        trust = Trust(tokens=tokens_in(tmp_path / "t"))
        with running((*approvals.routes(service), *sessions.routes(service)), trust=trust) as server:
            for name in ("waiting", "approval", "grants", "session_tallies"):
                monkeypatch.setattr(service.store, name, away)
            for path in ("approvals", "approvals/zzzzzzzz", "grants", "sessions"):
                refused = say(server, "GET", f"/api/v1/{path}", role="operator")
                assert (refused.status, refused.json["error"]) == (503, "store_unavailable")
