"""Commands and actions: both documented shapes of the answers, and every code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose import __version__
from interpose.composition.service.service import Service
from interpose.core.config.settings import CliValidationSettings
from interpose.doors.http import validate
from interpose.record.ledger.record import Record, search
from interpose.record.store.protocols import Query
from tests.support.servers.servers import JSON, Running, running, service_in

CLI, ACTION = validate.CLI_PATH, validate.ACTION_PATH
RULES = """\
version: 1
rules:
  - {id: watched, on: {tools: [exec]}, when: 'args.command.contains("watched")', action: deny, mode: watch, message: Hm}
  - {id: dry-run, on: {tools: [exec]}, when: 'args.command == "deploy now"', action: transform,
     rewrite: {command: '"deploy --dry-run"'}}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("validate"), RULES) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    with running(validate.routes(service)) as found:
        yield found


def test_an_allowed_command(server: Running, service: Service) -> None:
    body = {
        "command": "gh",
        "arguments": ["pr", "create", "--title", "Feature X"],
        "working_directory": "/w",
        "client_info": {"hostname": "h", "username": "bob", "os": "linux", "cli_version": "1.2"},
    }
    reply = server.post(CLI, body, X_Request_ID="req-1")
    answer = reply.json
    assert reply.status == 200
    assert answer.pop("policies_evaluated") > 0
    assert isinstance(answer.pop("duration_ms"), int)
    assert answer.pop("policy")
    assert answer == {
        "allowed": True,
        "request_id": "req-1",
        "validation_required": True,
        "message": "",
        "action_reason": "",
        "server_version": __version__,
        "client_version": "1.2",
        "results": [],
        "decision": "allow",
    }
    service.ledger.flush()
    record = search(service.store, Query(), 1)[0]
    assert (record.source, record.cwd, record.principal) == ("cli", "/w", "user:bob")
    assert record.arguments == {"command": "gh pr create --title 'Feature X'"}


def test_a_denied_command(server: Running) -> None:
    answer = server.post(CLI, {"command": "rm", "arguments": ["-rf", "/"]}).json
    text = "Deletes the system or a whole part of it."
    assert answer["allowed"] is False
    assert answer["denial"] == {"policy_name": "delete-system", "engine": "guard", "message": text}
    assert (answer["message"], answer["action_reason"], answer["decision"]) == (text, "request_policy", "deny")
    assert answer["results"][0]["policy_name"] == "delete-system"


COMMANDS: list[tuple[str, dict[str, Any], bool]] = [
    ("words are words", {"command": "echo", "arguments": ["; rm -rf /"]}, True),
    ("a whole line in one text", {"command": "cd x && rm -rf /"}, False),
    ("a shell in words", {"command": "bash", "arguments": ["-c", "rm -rf /"]}, False),
    ("no arguments", {"command": "ls", "arguments": None}, True),
    ("watched", {"command": "echo", "arguments": ["watched"]}, True),
    ("what a rule would rewrite", {"command": "deploy", "arguments": ["now"]}, False),
    ("a question", {"command": "git", "arguments": ["push", "--force"]}, False),
]


@pytest.mark.parametrize(("note", "body", "allowed"), COMMANDS, ids=[case[0] for case in COMMANDS])
def test_commands(server: Running, note: str, body: dict[str, Any], allowed: bool) -> None:
    answer = server.post(CLI, body).json
    assert answer["allowed"] is allowed, note
    assert ("denial" in answer) is not allowed


def test_a_watching_rule_is_told(server: Running) -> None:
    answer = server.post(CLI, {"command": "echo", "arguments": ["watched"]}).json
    assert (answer["action_reason"], answer["message"]) == ("audit_mode", "Hm")


def test_a_rewrite_never_lets_the_original_run(server: Running, service: Service) -> None:
    answer = server.post(CLI, {"command": "deploy", "arguments": ["now"]}).json
    assert (answer["decision"], answer["instead"]) == ("deny", "deploy --dry-run")
    assert _last(service).outcome == "denied"
    action = server.post(ACTION, {"target": "Bash", "parameters": {"command": "deploy now"}}).json
    assert (action["allowed"], action["risk_level"], action["instead"]) == (False, "high", "deploy --dry-run")
    assert _last(service).outcome == "denied"


def _last(service: Service) -> Record:
    service.ledger.flush()
    return search(service.store, Query(), 1)[0]


def test_a_question_about_a_command_is_answered(server: Running, service: Service) -> None:
    body = {"command": "git", "arguments": ["push", "--force"], "working_directory": "/asked"}
    asked = server.post(CLI, body).json
    assert asked["decision"] == "ask"
    service.desk.approve(asked["approval_id"], by="carol")
    answer = server.post(CLI, body, Prefer="wait=5")
    assert answer.json["allowed"] is True
    assert "carol" in answer.json["approver"]
    assert answer.headers["preference-applied"] == "wait=5"


CLI_FAULTS: list[tuple[str, bytes, dict[str, str], str]] = [
    ("no JSON", b"{", JSON, "invalid_request"),
    ("another type", b"{}", {"Content-Type": "text/plain"}, "invalid_content_type"),
    ("no command", b"{}", JSON, "missing_command"),
    ("an empty command", b'{"command":""}', JSON, "missing_command"),
    ("a blank command", b'{"command":"  "}', JSON, "missing_command"),
    ("a command that is a list", b'{"command":["ls"]}', JSON, "invalid_request"),
    ("arguments that are text", b'{"command":"ls","arguments":"-l"}', JSON, "invalid_request"),
    ("an argument that is a number", b'{"command":"ls","arguments":[1]}', JSON, "invalid_request"),
    ("client info that is text", b'{"command":"ls","client_info":"x"}', JSON, "invalid_request"),
]


@pytest.mark.parametrize(("note", "body", "headers", "code"), CLI_FAULTS, ids=[case[0] for case in CLI_FAULTS])
def test_codes_for_commands(server: Running, note: str, body: bytes, headers: dict[str, str], code: str) -> None:
    reply = server.ask("POST", CLI, body, headers)
    assert (reply.status, reply.json["error"]) == (400, code), note


ACTION_FAULTS: list[tuple[str, bytes, dict[str, str], str]] = [
    ("no JSON", b"{", JSON, "invalid_request"),
    ("another type", b"{}", {"Content-Type": "text/plain"}, "invalid_content_type"),
    ("no target", b"{}", JSON, "missing_target"),
    ("an empty target", b'{"target":""}', JSON, "missing_target"),
    ("a target that is a number", b'{"target":1}', JSON, "invalid_request"),
    ("parameters that are text", b'{"target":"x","parameters":"y"}', JSON, "invalid_request"),
]


@pytest.mark.parametrize(("note", "body", "headers", "code"), ACTION_FAULTS, ids=[case[0] for case in ACTION_FAULTS])
def test_codes_for_actions(server: Running, note: str, body: bytes, headers: dict[str, str], code: str) -> None:
    reply = server.ask("POST", ACTION, body, headers)
    assert (reply.status, reply.json["error"]) == (400, code), note


def test_validation_of_commands_can_be_off_or_for_some(tmp_path: Path) -> None:
    with (
        service_in(tmp_path / "off", cli_validation=CliValidationSettings(enabled=False)) as service,
        running(validate.routes(service)) as server,
    ):
        reply = server.ask("POST", CLI, b"{", {"Content-Type": "text/plain"})
        assert (reply.status, reply.json["error"]) == (400, "cli_validation_disabled"), "before any other fault"
    some = CliValidationSettings(validate_commands=("rm", "gh"))
    with service_in(tmp_path / "some", cli_validation=some) as service, running(validate.routes(service)) as server:
        answer = server.post(CLI, {"command": "mkfs", "arguments": ["/dev/sda"]}).json
        assert (answer["allowed"], answer["validation_required"]) == (True, False)
        assert "validate_commands" in answer["note"]
        for body in (
            {"command": "rm", "arguments": ["-rf", "/"]},
            {"command": "/bin/rm", "arguments": ["-rf", "/"]},
            {"command": "cd / && rm -rf *"},
        ):
            assert server.post(CLI, body).json["allowed"] is False, body


ACTIONS: list[tuple[str, dict[str, Any], bool, str]] = [
    ("a harmless tool", {"target": "read_file", "parameters": {"path": "/w/a.txt"}}, True, "low"),
    ("a command", {"target": "execute_bash", "parameters": {"command": "rm -rf /"}}, False, "high"),
    ("a tool in the type", {"target": "box-7", "action_type": "run_command", "parameters": {"command": "rm -rf /"}},
     False, "high"),
    ("watched", {"target": "Bash", "parameters": {"command": "echo watched"}}, True, "medium"),
    ("a tool that nobody knows", {"target": "some_tool"}, True, "unknown"),
    ("one that carries nothing to read", {"target": "frobnicate", "parameters": {"level": "3"}}, True, "unknown"),
    ("one that says it only looks", {"target": "get_weather", "parameters": {"city": "Oslo"}}, True, "low"),
    ("one that carries a command", {"target": "some_tool", "parameters": {"command": "ls"}}, True, "low"),
    ("one that carries a harmful one", {"target": "some_tool", "parameters": {"command": "rm -rf /"}}, False, "high"),
    ("one that needs a person", {"target": "delete_repository", "parameters": {"repo": "a"}}, False, "high"),
    ("what the agent thinks decides nothing", {"target": "Bash", "parameters": {"command": "rm -rf /"},
     "context": {"thought": "this is safe", "summary": "allowed by the user"}}, False, "high"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "body", "allowed", "risk"), ACTIONS, ids=[case[0] for case in ACTIONS])
def test_actions(server: Running, note: str, body: dict[str, Any], allowed: bool, risk: str) -> None:
    reply = server.post(ACTION, body)
    answer = reply.json
    assert reply.status == 200
    assert (answer["allowed"], answer["risk_level"]) == (allowed, risk), note
    assert list(answer)[:6] == ["request_id", "allowed", "risk_level", "message", "server_version", "results"]


def test_an_action_is_recorded_with_its_actor(server: Running, service: Service) -> None:
    server.post(ACTION, {"target": "Bash", "parameters": {"command": "ls"}, "actor": "openhands", "external_id": "e1"})
    service.ledger.flush()
    record = search(service.store, Query(), 1)[0]
    assert (record.source, record.principal, record.trace_id) == ("action", "openhands", "e1")


@pytest.mark.parametrize(
    ("path", "body"), [(CLI, {"command": "ls"}), (ACTION, {"target": "Bash", "parameters": {"command": "ls"}})]
)
def test_what_breaks_is_a_refusal(
    server: Running, service: Service, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    monkeypatch.setattr(service, "hosted", lambda *_args, **_options: json.loads("{"))
    reply = server.post(path, body)
    assert (reply.status, reply.json["allowed"]) == (200, False)
