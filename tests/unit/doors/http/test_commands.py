"""Commands of hosts and their bypasses over a real socket: what is said, what is recorded, and who may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.composition.service.service import Service
from interpose.core.errors import StoreError
from interpose.core.types import HookPoint
from interpose.doors.http import commands, events
from interpose.doors.http_server.messages import Role
from interpose.effects.ourselves.operations import BY_ID
from interpose.record.ledger.record import search
from interpose.record.store.protocols import Query
from interpose.rules.governance.roles.bypasses import RULE
from tests.support.governance.governing_chains import ChainRules
from tests.support.servers.servers import Reply, Running, answered_by_token, bearer, running, service_in, trusting

BYPASSES = BY_ID["bypasses"].path

EVENT = "/api/v1/events/command.before"
BYPASS = {"command": "deploy*", "reason": "the site is down"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("commands")) as opened:
        registry: Any = opened.policies.shared.engine.interceptors
        registry.add(
            id="governance:chains", name=HookPoint.COMMAND_BEFORE, interceptor=ChainRules(opened.bypasses.bypass_of),
            guard=True,
        )  # fmt: skip
        yield opened


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    with running((*commands.routes(service), *events.routes(service)), trust=trusting()) as found:
        yield found


def say(server: Running, path: str, value: Any, role: Role = "approver") -> Reply:
    return server.post(path, value, **bearer(role))


def tried(server: Running, path: str, place: Path, name: str = "/deploy", session: str = "s") -> Any:
    body = {"name": name, "arguments": "prod", "cwd": str(place), "context": {"sessionId": session}}
    reply = say(server, path, body, "agent")
    assert reply.status == 200, reply.json
    return reply.json


def recorded(service: Service) -> list[Any]:
    service.ledger.flush()
    return search(service.store, Query(tool="command"), 50)


def test_a_command_is_judged_and_what_is_said_is_recorded(server: Running, service: Service, tmp_path: Path) -> None:
    before = len(recorded(service))
    refused = tried(server, EVENT, tmp_path)
    assert (refused["point"], refused["decision"], refused["allowed"]) == ("command.before", "deny", False)
    assert "needs the file BUILD" in refused["reason"]
    assert refused["findings"][-1]["instead"] == "use /build first; run /build"
    (tmp_path / "BUILD").write_text("")
    warned = tried(server, EVENT, tmp_path)
    assert (warned["decision"], [found["rule"] for found in warned["findings"]]) == ("allow", ["governance/chain/TWO"])
    assert tried(server, EVENT, tmp_path, "other")["findings"] == []
    new = recorded(service)[: len(recorded(service)) - before]
    assert [(one.decision, one.outcome) for one in new] == [("allow", "success"), ("deny", "denied")]
    assert (new[1].arguments, new[1].effects) == ({"name": "deploy", "title": "/deploy prod"}, ())
    counted = service.activity.snapshot().decisions
    assert counted[HookPoint.COMMAND_BEFORE, "", "deny"] >= 1
    assert not any(tool == "command" for _point, tool, _outcome in counted), "a command is counted as one, and once"


def test_a_check_says_the_same_and_records_nothing(server: Running, service: Service, tmp_path: Path) -> None:
    before = len(recorded(service))
    said = tried(server, commands.CHECK, tmp_path)
    assert (said["decision"], "needs the file BUILD" in said["reason"]) == ("deny", True)
    assert len(recorded(service)) == before


def test_a_bypass_lets_pass_is_recorded_listed_and_taken_back(
    server: Running, service: Service, tmp_path: Path
) -> None:
    assert tried(server, EVENT, tmp_path)["decision"] == "deny"
    given = say(server, BYPASSES, BYPASS | {"session": "s"})
    assert given.status == 200, given.json
    assert (given.json["command"], given.json["by"], given.json["session"]) == ("deploy*", "approver", "s")
    passed = tried(server, EVENT, tmp_path)
    assert (passed["decision"], passed["findings"][0]["rule"]) == ("allow", RULE)
    assert "the site is down" in passed["findings"][0]["reason"]
    assert tried(server, EVENT, tmp_path, session="other")["decision"] == "deny"
    _refused, used, made, *_before = recorded(service)
    assert (used.decision, used.arguments["name"]) == ("allow", "deploy")
    assert (made.arguments["status"], made.arguments["name"], made.effects) == ("bypass", "deploy*", ())
    assert {one.call_id for one in search(service.store, Query(rule=RULE), 50)} >= {used.call_id, made.call_id}
    listed = server.ask("GET", BYPASSES, None, bearer("approver")).json["bypasses"]
    assert [one["id"] for one in listed] == [given.json["id"]]
    gone = server.ask("DELETE", f"{BYPASSES}/{given.json['id']}", None, bearer("approver"))
    assert (gone.status, gone.json["revoked"]) == (200, True)
    assert tried(server, EVENT, tmp_path)["decision"] == "deny"
    assert server.ask("DELETE", f"{BYPASSES}/{given.json['id']}", None, bearer("approver")).status == 404


FAULTS: list[tuple[str, Any, int, str]] = [
    ("no reason", {"command": "x"}, 400, "invalid_request"),
    ("an empty reason", BYPASS | {"reason": " "}, 400, "invalid_request"),
    ("no command", {"reason": "x"}, 400, "invalid_request"),
    ("a command of two lines", BYPASS | {"command": "a\nb"}, 400, "invalid_request"),
    ("too long", BYPASS | {"seconds": 8 * 3600 + 1}, 400, "invalid_request"),
    ("no time at all", BYPASS | {"seconds": 0}, 400, "invalid_request"),
    ("a key that is none", BYPASS | {"forever": True}, 400, "invalid_request"),
    ("a blank command", BYPASS | {"command": "  "}, 400, "invalid_scope"),
]


@pytest.mark.parametrize(("note", "body", "status", "code"), FAULTS, ids=[case[0] for case in FAULTS])
def test_a_bypass_that_can_not_be_given(server: Running, note: str, body: Any, status: int, code: str) -> None:
    reply = say(server, BYPASSES, body)
    assert (reply.status, reply.json["error"]) == (status, code), note


@pytest.mark.parametrize("role", ["agent", "auditor"])
def test_only_approvers_give_list_and_take_back(server: Running, role: Role) -> None:
    assert say(server, BYPASSES, BYPASS, role).status == 403
    assert server.ask("GET", BYPASSES, None, bearer(role)).status == 403
    assert server.ask("DELETE", f"{BYPASSES}/x", None, bearer(role)).status == 403


def test_a_token_alone_gives_none_from_this_machine(tmp_path: Path) -> None:
    """With the usual proof, by one's own terminal: an agent could read the token."""
    with (
        service_in(tmp_path, approvals=answered_by_token(tmp_path, proof="terminal")) as own,
        running(commands.routes(own), trust=trusting()) as there,
    ):
        reply = say(there, BYPASSES, BYPASS)
        assert (reply.status, reply.json["error"]) == (403, "not_proven")
        assert "interpose governance command bypass deploy*" in reply.json["message"]
        assert own.bypasses.seen() == []


def test_words_in_a_command_are_no_proof(server: Running, tmp_path: Path) -> None:
    for words in ("--emergency", "--bypass-chain", "--force"):
        body = {"name": "deploy", "arguments": words, "cwd": str(tmp_path)}
        assert say(server, EVENT, body, "operator").json["decision"] == "deny"


def test_a_store_that_is_away_is_said_so(
    server: Running, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_args: object, **_options: object) -> Any:
        raise StoreError("gone")

    monkeypatch.setattr(service.store, "load_session", gone)
    assert say(server, BYPASSES, BYPASS).json["error"] == "store_unavailable"
    assert server.ask("GET", BYPASSES, None, bearer("approver")).json["error"] == "store_unavailable"


def test_what_breaks_is_a_refusal(server: Running, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_options: object) -> Any:
        raise RuntimeError("gone")

    monkeypatch.setattr(service, "hosted", broken)
    reply = say(server, commands.CHECK, {"name": "x"}, "agent")
    assert (reply.status, reply.json["allowed"]) == (200, False)
