"""The playground over a real socket: what it answers, what it refuses, and that it leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from interpose.composition.service.service import Service
from interpose.core.types import Context, ToolCall
from interpose.doors.http import playground
from interpose.doors.http_server.messages import Role
from tests.support.servers.servers import JSON, Reply, Running, bearer, running, service_in, trusting

RULES = """\
version: 1
rules:
  - id: no-deploy
    on: {tools: [exec]}
    when: command.exists(c, c.name == "deploy")
    action: deny
    message: Not on Fridays.
    examples: {match: [deploy now], no_match: [echo deploy]}
  - {id: dry, on: {tools: [exec]}, when: 'args.command == "try"', action: transform, rewrite: {command: '"try --dry"'}}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("service")) as made:
        yield made


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    with running(playground.routes(service), trust=trusting()) as made:
        yield made


def played(server: Running, command: str, rules: str = RULES, role: Role = "auditor", **more: Any) -> Reply:
    body = {"rules": rules, "call": {"tool": "exec", "args": {"command": command}}} | more
    return server.ask("POST", playground.PATH, json.dumps(body), JSON | bearer(role))


def test_a_rule_its_examples_and_why(server: Running) -> None:
    told = played(server, "deploy now").json
    assert (told["alone"]["decision"], told["alone"]["rule"]) == ("deny", "no-deploy")
    assert told["alone"]["reason"] == "Not on Fridays."
    rule, quiet = told["rules"]
    assert (rule["said"], rule["line"], quiet["said"]) == ("deny", 3, "silent")
    assert rule["because"][0]["variable"] == "command"
    assert '"deploy"' in rule["because"][0]["value"]
    assert [one["status"] for one in told["examples"]] == ["passed", "passed"]
    assert told["problems"] == []
    assert isinstance(told["duration_ms"], int)


def test_guards_and_rewrites(server: Running) -> None:
    assert played(server, "try").json["alone"]["payload"] == {"command": "try --dry"}
    told = played(server, "rm -rf /").json
    assert (told["alone"]["decision"], told["guarded"]["decision"]) == ("allow", "deny")
    assert told["guarded"]["interceptor"] == "builtin:command-safety-guard"


def test_results(server: Running) -> None:
    rules = (
        "version: 1\nrules: [{id: hide, action: redact, when: result.text.contains('47'), redact: {pattern: '47'}}]\n"
    )
    body = {"rules": rules, "call": {"tool": "read", "args": {"path": "x"}, "result": "a 47"}}
    told = server.ask("POST", playground.PATH, json.dumps(body), JSON | bearer("auditor")).json
    assert (told["after"]["decision"], told["after"]["payload"]) == ("rewrite", "a [REDACTED]")


def test_what_is_wrong_with_a_text_is_no_error(server: Running) -> None:
    told = played(server, "ls", rules="version: 1\nrules:\n  - {id: x, when: 'args.nope +', action: deny}\n")
    assert told.status == 200
    (problem,) = told.json["problems"]
    assert (problem["line"], problem["rule"]) == (3, "x")
    assert told.json["alone"] is None


def test_the_running_policy_knows_nothing_of_it(server: Running, service: Service) -> None:
    before, recorded = service.policy_status(), service.ledger.status().recorded
    fine = "{id: fine, when: 'true', action: allow, answers: {rules: [delete-system], scope: everywhere}}"
    loosening = f"version: 1\ndisable: [baseline/hidden-text]\nrules: [{fine}]\n"
    played(server, "rm -rf /", rules=loosening)
    played(server, "deploy now")
    assert service.policy_status() == before
    assert service.ledger.status().recorded == recorded, "nothing of it is recorded"
    assert service.activity.snapshot().decisions == {}, "nothing of it is counted"
    verdict = service.run(Context()).decide(ToolCall("exec", {"command": "rm -rf /"}))
    assert verdict.outcome == "deny"
    assert service.run(Context()).decide(ToolCall("exec", {"command": "deploy now"})).allowed


def test_nobody_is_asked_but_the_rules_and_the_built_in_guards(server: Running, service: Service) -> None:
    """A plugin may keep what it sees, and a remote interceptor is somewhere else."""
    seen: list[object] = []
    registry: Any = service.policies.shared.engine.interceptors
    registry.add(id="mine", name="tool.before", handler=lambda event, _context: seen.append(event))
    try:
        played(server, "echo mine")
        assert seen == []
        service.run(Context()).decide(ToolCall("exec", {"command": "echo mine"}))
        assert len(seen) == 1
    finally:
        registry.remove("mine")


REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("no call", {"call": None}, 400, "invalid_request"),
    ("a tool without a name", {"call": {"tool": ""}}, 400, "invalid_request"),
    ("a field that nobody knows", {"more": 1}, 400, "invalid_request"),
    ("rules that are no text", {"rules": []}, 400, "invalid_request"),
    ("a level that there is not", {"level": "god"}, 400, "invalid_request"),
    ("much too long", {"rules": "#" * 20_001}, 400, "invalid_request"),
    ("a call that is too long", {"call": {"tool": "exec", "args": {"command": "x" * 70_000}}}, 413, "too_large"),
]


@pytest.mark.parametrize(("more", "status", "code"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_is_refused(server: Running, more: dict[str, Any], status: int, code: str) -> None:
    told = played(server, "ls", **more)
    assert (told.status, told.json["error"]) == (status, code)


def test_a_page_of_somebody_else_can_send_nothing(server: Running) -> None:
    body = json.dumps({"rules": RULES, "call": {"tool": "exec"}})
    told = server.ask("POST", playground.PATH, body, {"Content-Type": "text/plain"} | bearer("auditor"))
    assert told.status == 415


def test_who_may(server: Running) -> None:
    assert {role: played(server, "ls", role=role).status for role in ("agent", "approver", "auditor", "operator")} == {
        "agent": 403, "approver": 403, "auditor": 200, "operator": 200,
    }  # fmt: skip


def test_deep_and_strange_values_are_answered(server: Running) -> None:
    deep: Any = "x"
    for _ in range(60):
        deep = {"a": deep}
    rules = RULES.replace('command.exists(c, c.name == "deploy")', "size(args) > 0")
    told = played(server, "ls", rules=rules, call={"tool": "exec", "args": {"command": "ls", "deep": deep, "n": 1e308}})
    assert told.status in (200, 400)
