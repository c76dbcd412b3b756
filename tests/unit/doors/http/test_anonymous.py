"""Whoever shows no credential gets a verdict and nothing else: the same on every route that decides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.settings import ServerLimits
from interpose.doors.http import events, intercept, validate
from tests.support.servers.servers import TOKENS, Reply, Running, running, service_in, trusting

ASKED = "git push --force origin feature"
DENY = "version: 1\nrules:\n  - {id: nothing, when: 'true', action: deny, message: nothing runs here}\n"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path / "home") as service:
        yield service


@pytest.fixture
def server(service: Service) -> Iterator[Running]:
    routes = (*intercept.routes(service), *validate.routes(service), *events.routes(service))
    limits = ServerLimits(anonymous_per_second=1000)
    with running(routes, trust=replace(trusting(), loopback="anonymous"), limits=limits) as server:
        yield server


def before(server: Running, command: str, cwd: str = "", session: str = "s", **headers: str) -> Reply:
    body = {
        "name": "Bash", "arguments": {"command": command}, "call_id": "c", "cwd": cwd,
        "context": {"sessionId": session, "principal": {"id": "agent"}},
    }  # fmt: skip
    return server.post("/api/v1/events/tool.before", body, **headers)


def known() -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS['agent']}"}


ROUTES: list[tuple[str, str, Any]] = [
    ("intercept", "/api/v1/intercept", {
        "event": "tools/call", "phase": "request", "payload": {"name": "Bash", "arguments": {"command": ASKED}}}),
    ("cli", "/api/v1/cli/validate", {"command": ASKED}),
    ("action", "/api/v1/action/validate", {"target": "exec", "parameters": {"command": ASKED}}),
    ("event", "/api/v1/events/tool.before", {"name": "Bash", "arguments": {"command": ASKED}}),
    ("question", "/api/v1/events/permission.ask", {"name": "Bash", "arguments": {"command": "ls"}}),
    ("large", "/api/v1/events/tool.before", {"name": "Bash", "arguments": {"command": ASKED, "more": "x" * 9000}}),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body"), [case[1:] for case in ROUTES], ids=[case[0] for case in ROUTES])
def test_nobody_is_asked_for_it(server: Running, service: Service, path: str, body: Any) -> None:
    said = server.post(path, body, Prefer="wait=5")
    assert said.status == 200
    assert said.headers["preference-applied"] == "wait=0"
    told = said.json.get("info", said.json)
    assert (told["decision"], told.get("approval_id", "")) == ("ask", "")
    assert service.desk.asked() == []
    named = server.post(path, body, **known()).json
    assert named.get("info", named)["approval_id"]


def test_what_was_granted_to_others_is_not_for_it(server: Running, service: Service) -> None:
    asked = before(server, ASKED, **known()).json
    service.desk.approve(asked["approval_id"], "ann")
    assert before(server, ASKED).json["decision"] == "ask"
    assert before(server, ASKED, **known()).json["decision"] == "allow"


def test_no_file_of_a_project_is_opened_and_no_session_bound(server: Running, tmp_path: Path) -> None:
    (tmp_path / "p" / ".interpose").mkdir(parents=True)
    (tmp_path / "p" / ".interpose" / "policy.yaml").write_text(DENY)
    assert before(server, "ls", cwd=str(tmp_path / "p")).json["allowed"]
    assert before(server, "ls", **known()).json["allowed"]
    assert not before(server, "ls", cwd=str(tmp_path / "p"), **known()).json["allowed"]
    assert not before(server, "ls", **known()).json["allowed"]
    assert before(server, "ls").json["allowed"]


def test_its_results_join_nothing_and_are_judged_all_the_same(server: Running, service: Service) -> None:
    before(server, "ls", **known())
    result = {"name": "Bash", "arguments": {"command": "ls"}, "call_id": "c", "context": {"sessionId": "s"}}
    said = server.post("/api/v1/events/tool.after", result | {"result": "AWS_SECRET_ACCESS_KEY=" + "abcd/EFG12" * 4})
    assert said.json["decision"] == "rewrite"
    assert len(service._pending._open) == 1


def test_messages_and_parameters_are_judged_too(server: Running) -> None:
    assert server.post("/api/v1/events/message.before", {"text": "hello"}).json["decision"] == "allow"
    assert server.post("/api/v1/events/params.before", {"model": "m"}).json["decision"] == "allow"
