"""The intercept endpoint beyond its published page: questions, rewrites, redaction, failures, and whose call it was."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service.service import Service
from interpose.core.config.settings import InterceptSettings
from interpose.doors.http import intercept
from interpose.doors.http.incoming import LARGE
from interpose.record.ledger.record import Record, search
from interpose.record.store.protocols import Query
from tests.support.servers.servers import Running, running, service_in

PATH = "/api/v1/intercept"
SECRET = "AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzz" + "zKEY"
HIDDEN = "[redacted:aws-secret-access-key:"

RULES = """\
version: 1
rules:
  - id: watched
    on: {tools: [exec]}
    when: args.command.contains("watched")
    action: deny
    mode: watch
    message: Would be refused.
  - id: dry-run
    on: {tools: [exec, mcp__*]}
    when: has(args.command) && args.command == "deploy"
    action: transform
    rewrite: {command: '"deploy --dry-run"'}
  - id: no-names
    on: {point: tool.after}
    when: result.text.contains("Alice")
    action: redact
    redact: {pattern: Alice, replacement: "[NAME]"}
  - id: no-plans
    on: {point: tool.after}
    when: result.text.contains("secret plan")
    action: deny
    message: Plans stay here.
  - id: no-crown-jewels
    on: {point: tool.after}
    when: result.text.contains("crown jewels")
    action: ask
    message: Show this?
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    settings = replace(InterceptSettings(), shell_tool_names=("Bash", "my-shell", "read"))
    with service_in(tmp_path_factory.mktemp("intercept"), RULES, intercept=settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    with running(intercept.routes(service)) as found:
        yield found


def body(command: str = "ls", *, name: str = "Bash", session: str = "s", **fields: Any) -> dict[str, Any]:
    payload = {"name": name, "arguments": {"command": command}} | fields.pop("payload", {})
    return {
        "event": "tools/call",
        "phase": "response" if "result" in payload else "request",
        "payload": payload,
        "context": {"sessionId": session},
    } | fields


def last(service: Service) -> Record:
    service.ledger.flush()
    return search(service.store, Query(), 1)[0]


def test_a_watching_rule_warns_and_blocks_nothing(server: Running) -> None:
    answer = server.post(PATH, body("echo watched")).json
    assert (answer["valid"], answer["severity"]) == (True, "warn")
    assert answer["messages"] == [{"message": "Would be refused.", "severity": "warn"}]
    assert answer["info"]["results"] == [
        {
            "policy_name": "watched",
            "policy_type": "cel",
            "action": "deny",
            "message": "Would be refused.",
            "mode": "watch",
        }
    ]


REWRITES = [
    ("plain", "Bash", {"command": "deploy"}, {"command": "deploy --dry-run"}),
    (
        "carried by another tool",
        "tool_call",
        {"name": "Bash", "arguments": {"command": "deploy"}, "note": 1},
        {"name": "Bash", "arguments": {"command": "deploy --dry-run"}, "note": 1},
    ),
    (
        "carried as text",
        "call_tool",
        {"name": "tool_call", "arguments": {"name": "Bash", "arguments": '{"command": "deploy"}'}},
        {"name": "tool_call", "arguments": {"name": "Bash", "arguments": '{"command": "deploy --dry-run"}'}},
    ),
    (
        "a tool of an MCP server",
        "use_mcp_tool",
        {"server_name": "x", "tool_name": "run", "arguments": '{"command": "deploy"}'},
        {"server_name": "x", "tool_name": "run", "arguments": '{"command": "deploy --dry-run"}'},
    ),
]


@pytest.mark.parametrize(("note", "name", "given", "wanted"), REWRITES, ids=[case[0] for case in REWRITES])
def test_a_rewrite_is_a_mutation_of_the_agents_own_call(
    server: Running, note: str, name: str, given: dict[str, Any], wanted: dict[str, Any]
) -> None:
    answer = server.post(PATH, body(name=name, payload={"arguments": given})).json
    assert (answer["type"], answer["modified"], answer["valid"]) == ("mutation", True, True), note
    assert answer["payload"] == {"name": name, "arguments": wanted}
    assert answer["info"]["decision"] == "rewrite"


def by_request(service: Service, request: str) -> list[Record]:
    service.ledger.flush()
    return search(service.store, Query(request=request), 10)


def test_the_id_of_an_answer_leads_to_the_record(server: Running, service: Service) -> None:
    """Whether the caller chose it or we did, for the call as for its result."""
    before = server.post(PATH, body("deploy --to nowhere", session="traced"), X_Request_ID="deploy/1@ci")
    assert before.json["info"]["request_id"] == before.headers["x-request-id"] == "deploy/1@ci"
    answer = body("deploy --to nowhere", session="traced", payload={"result": "Alice did it"})
    after = server.post(PATH, answer)
    assert after.json["info"]["request_id"] == after.headers["x-request-id"]
    (record,) = by_request(service, "deploy/1@ci")
    assert by_request(service, after.headers["x-request-id"]) == [record]
    assert (record.request_id, record.result_request_id) == ("deploy/1@ci", after.headers["x-request-id"])
    assert record.after is not None
    assert (record.after.result, record.after.rule) == ("rewritten", "no-names")
    server.post(PATH, body("echo again", session="traced"), X_Request_ID="deploy/1@ci")
    assert len(by_request(service, "deploy/1@ci")) == 2


RULED = [
    ("a rewrite", body("deploy"), "dry-run", "rewrite"),
    ("a redaction", body("who", payload={"result": "Alice"}), "no-names", "redact"),
    ("secrets", body("env", payload={"result": SECRET}), "secret-redaction", "redact"),
    ("a result that is withheld", body("cat plan", payload={"result": "a secret plan"}), "no-plans", "deny"),
]


@pytest.mark.parametrize(("note", "sent", "rule", "action"), RULED, ids=[case[0] for case in RULED])
def test_what_a_rule_changed_names_it(
    server: Running, service: Service, note: str, sent: dict[str, Any], rule: str, action: str
) -> None:
    answer = server.post(PATH, sent)
    results = answer.json["info"]["results"]
    assert [(one["policy_name"], one["action"]) for one in results] == [(rule, action)], note
    service.ledger.flush()
    found = [one.request_id for one in search(service.store, Query(rule=rule), 100)]
    assert answer.headers["x-request-id"] in found


def test_a_result_that_two_rules_change_is_found_by_both(server: Running, service: Service) -> None:
    answer = server.post(PATH, body("both", payload={"result": f"Alice {SECRET}"}))
    assert [one["policy_name"] for one in answer.json["info"]["results"]] == ["secret-redaction", "no-names"]
    service.ledger.flush()
    for rule in ("secret-redaction", "no-names"):
        found = [one.request_id for one in search(service.store, Query(rule=rule), 100)]
        assert answer.headers["x-request-id"] in found


RESULTS: list[tuple[str, Any]] = [
    ("text", SECRET),
    ("every item, not only the first", {"content": [{"type": "text", "text": t} for t in ("fine", SECRET, SECRET)]}),
    ("a resource", {"content": [{"type": "resource", "resource": {"uri": "file:///x", "text": SECRET}}]}),
    ("what is structured", {"content": [], "structuredContent": {"deep": [{"env": SECRET}]}}),
    ("a bare list", [SECRET, 1, None]),
    ("an error", {"isError": True, "content": [{"type": "text", "text": SECRET}]}),
]


def shape(value: Any) -> Any:
    """A value without its texts."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "" if isinstance(value, str) else value


@pytest.mark.parametrize(("note", "result"), RESULTS, ids=[case[0] for case in RESULTS])
def test_every_text_of_a_result_is_redacted_in_its_place(server: Running, note: str, result: Any) -> None:
    answer = server.post(PATH, body("env", payload={"result": result})).json
    assert (answer["type"], answer["modified"], answer["valid"]) == ("mutation", True, True), note
    assert answer["payload"]["name"] == "Bash"
    assert answer["payload"]["arguments"] == {"command": "env"}
    said = json.dumps(answer)
    assert "wJalrXUtnFEMI" not in said
    assert said.count(HIDDEN) == json.dumps(result).count("wJalrXUtnFEMI")
    assert shape(answer["payload"]["result"]) == shape(result)


def test_what_holds_no_text_passes_unchanged(server: Running) -> None:
    content = [{"type": "image", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "mimeType": "image/png"}]
    answer = server.post(PATH, body("shot", payload={"result": {"content": content}})).json
    assert (answer["type"], answer["valid"], answer["severity"]) == ("validation", True, "info")


def test_a_rule_redacts_and_a_rule_withholds(server: Running, service: Service) -> None:
    items = [{"type": "text", "text": text} for text in ("x", "Alice and Alice")]
    answer = server.post(PATH, body(payload={"result": {"content": items}})).json
    assert answer["payload"]["result"]["content"][1]["text"] == "[NAME] and [NAME]"
    answer = server.post(PATH, body(payload={"result": "the secret plan"})).json
    assert (answer["valid"], answer["severity"], answer["type"]) == (False, "error", "validation")
    assert answer["messages"] == [{"message": "Plans stay here.", "severity": "error"}]
    assert "payload" not in answer
    assert "secret plan" not in json.dumps(answer)


def test_an_outcome_finds_its_decision(server: Running, service: Service) -> None:
    server.post(PATH, body("make all", session="pair"))
    decided = last(service)
    server.post(PATH, body("make all", session="pair", payload={"result": {"isError": True, "content": []}}))
    ended = last(service)
    assert (ended.call_id, ended.outcome, ended.source) == (decided.call_id, "error", "intercept")
    server.post(PATH, body("make all", session="pair", payload={"result": "again"}))
    assert last(service).call_id != decided.call_id, "an outcome belongs to one decision"


def test_a_question_is_answered_and_asked_again(server: Running, service: Service) -> None:
    asked = server.post(PATH, body("git push --force", session="ask")).json
    assert (asked["valid"], asked["severity"]) == (False, "error")
    assert asked["info"]["decision"] == "ask"
    assert asked["info"]["instead"] == "git push --force-with-lease"
    again = server.post(PATH, body("git push --force", session="ask")).json
    assert again["info"]["approval_id"] == asked["info"]["approval_id"], "one question, however often it is asked"
    service.desk.approve(asked["info"]["approval_id"], by="carol")
    allowed = server.post(PATH, body("git push --force", session="ask")).json
    assert (allowed["valid"], allowed["severity"], allowed["info"]["decision"]) == (True, "info", "allow")
    assert "carol" in allowed["info"]["approver"]
    assert last(service).approver == allowed["info"]["approver"]
    assert server.post(PATH, body("git push --force", session="ask")).json["valid"] is False, "once is once"


def test_a_person_says_no(server: Running, service: Service) -> None:
    asked = server.post(PATH, body("git push --force", session="no")).json
    service.desk.deny(asked["info"]["approval_id"], by="carol", reason="not today")
    answer = server.post(PATH, body("git push --force", session="no")).json
    assert (answer["valid"], answer["info"]["decision"]) == (False, "deny")
    assert "not today" in answer["messages"][0]["message"]
    assert answer["info"]["results"][0]["action"] == "deny"


def test_a_caller_waits_for_the_answer(server: Running, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person hears of the question while the request waits, and says yes."""

    def person(question: Any) -> None:
        threading.Thread(target=service.desk.approve, args=(question.id, "dave")).start()

    monkeypatch.setattr(service.desk, "_on_question", person)
    reply = server.post(PATH, body("git push --force", session="wait"), Prefer="respond-async, wait=20")
    assert reply.json["valid"] is True
    assert "dave" in reply.json["info"]["approver"]
    assert reply.headers["preference-applied"] == "wait=20"


def test_waiting_is_limited_by_the_configuration(server: Running, service: Service) -> None:
    service.config = replace(service.config, intercept=replace(service.config.intercept, wait_limit=0.05))
    try:
        reply = server.post(PATH, body("git push --force", session="short"), Prefer="wait=86400")
    finally:
        service.config = replace(service.config, intercept=replace(service.config.intercept, wait_limit=300.0))
    assert reply.headers["preference-applied"] == "wait=0.05"
    assert reply.json["info"]["decision"] == "ask"


def test_a_result_that_waits_for_a_person_can_be_shown_again(server: Running, service: Service) -> None:
    shown = body("cat vault", session="jewels", payload={"result": "the crown jewels"})
    server.post(PATH, body("cat vault", session="jewels"))
    call_id = last(service).call_id
    asked = server.post(PATH, shown).json
    assert (asked["valid"], asked["info"]["decision"]) == (False, "ask")
    service.desk.approve(asked["info"]["approval_id"], by="carol")
    assert server.post(PATH, shown).json["valid"] is True
    assert last(service).call_id == call_id


@pytest.mark.parametrize(
    ("name", "arguments", "valid"),
    [
        ("my-shell", {"command": "rm -rf /"}, False),
        ("MyShell", {"command": "rm -rf /"}, False),
        ("tool_call", {"name": "my_shell", "arguments": {"command": "rm -rf /"}}, False),
        ("execute_command", {"command": "rm -rf /"}, False),
        ("read", {"path": "/w/notes.txt"}, True),
        ("some_tool", {"command": "rm -rf /"}, False),
        ("some_tool", {"note": "rm -rf /"}, True),
    ],
)
def test_which_tools_are_shells(server: Running, name: str, arguments: dict[str, Any], valid: bool) -> None:
    """Listed names are added, known ones stay what they are, and an unknown tool is judged by what it carries."""
    assert server.post(PATH, body(name=name, payload={"arguments": arguments})).json["valid"] is valid


def test_a_call_nobody_understands_is_refused_in_a_verdict(server: Running) -> None:
    reply = server.post(PATH, body(name="tool_call", payload={"arguments": {"arguments": {}}}))
    assert (reply.status, reply.json["valid"]) == (200, False)


@pytest.mark.parametrize("phase", ["request", "response"])
@pytest.mark.parametrize("size", [0, LARGE], ids=["small", "large"])
def test_what_breaks_is_a_refusal_and_no_server_error(
    server: Running, service: Service, monkeypatch: pytest.MonkeyPatch, phase: str, size: int
) -> None:
    def broken(*_args: object, **_options: object) -> Any:
        raise RuntimeError("the engine is gone")

    monkeypatch.setattr(service, "hosted", broken)
    payload = {"result": "x" * size} if phase == "response" else {"padding": "x" * size}
    reply = server.post(PATH, body(payload=payload))
    assert reply.status == 200
    assert (reply.json["valid"], reply.json["severity"], reply.json["phase"]) == (False, "error", phase)
    assert "the engine is gone" in reply.json["messages"][0]["message"]


def test_a_ledger_that_can_not_record_refuses(
    server: Running, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_verdict: object) -> Any:
        raise OSError("disk full")

    monkeypatch.setattr(service.ledger.recorder, "decided", full)
    answer = server.post(PATH, body("echo unrecorded")).json
    assert answer["valid"] is False
    assert answer["info"]["results"][0]["policy_name"] == "audit_unavailable"


def test_large_bodies_are_judged_too(server: Running) -> None:
    text = f"{'x' * LARGE} {SECRET}"
    answer = server.post(PATH, body(payload={"result": text}), Prefer="wait=5").json
    assert answer["payload"]["result"].endswith("]")
    assert server.post(PATH, body("rm -rf /", padding="x" * LARGE), Prefer="wait=5").json["valid"] is False


def test_the_rules_of_a_project_hold_in_its_directory(server: Running, tmp_path: Any) -> None:
    rules = tmp_path / ".interpose" / "policy.yaml"
    rules.parent.mkdir()
    rules.write_text(
        'version: 1\nrules:\n  - {id: no-make, when: args.command == "make", action: deny, message: Not here.,'
        " on: {tools: [exec]}}\n",
        encoding="utf-8",
    )
    here = server.post(PATH, body("make", session="p1", config={"working_directory": str(tmp_path)})).json
    elsewhere = server.post(PATH, body("make", session="p2", config={"working_directory": "/"})).json
    assert (here["valid"], elsewhere["valid"]) == (False, True)
