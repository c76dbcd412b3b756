"""The published intercept API, field by field and code by code, over a real socket."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from interpose import __version__
from interpose.composition.service.service import Service
from interpose.core.config.load import load
from interpose.core.config.settings import InterceptorSettings, InterceptSettings
from interpose.doors.http import intercept
from interpose.record.ledger.formats import intercept_entries
from interpose.record.ledger.record import search
from interpose.record.store.protocols import Query
from tests.support.peers.judges import openai_text, send, serving
from tests.support.servers.servers import JSON, Running, running, service_in

PATH = "/api/v1/intercept"

REQUEST = {
    "event": "tools/call",
    "phase": "request",
    "payload": {"name": "Bash", "arguments": {"command": "rm -rf /"}},
    "context": {
        "sessionId": "session-abc123",
        "traceId": "trace-def456",
        "principal": {"type": "agent", "id": "claude-code-v1"},
    },
}
RESPONSE = {
    "event": "tools/call",
    "phase": "response",
    "payload": {
        "name": "Bash",
        "arguments": {"command": "cat /etc/passwd"},
        "result": {"content": [{"type": "text", "text": "root:x:0:0:root:/root:/bin/bash\n..."}]},
    },
}
VALID = """{
  "interceptor": "maybe-dont",
  "type": "validation",
  "phase": "request",
  "valid": true,
  "severity": "info",
  "messages": [],
  "durationMs": 12,
  "info": {
    "request_id": "req-abc123",
    "server_version": "1.4.0",
    "results": []
  }
}"""
INVALID = """{
  "interceptor": "maybe-dont",
  "type": "validation",
  "phase": "request",
  "valid": false,
  "severity": "error",
  "messages": [
    {
      "message": "Destructive command detected",
      "severity": "error"
    }
  ],
  "durationMs": 42,
  "info": {
    "request_id": "req-abc123",
    "server_version": "1.4.0",
    "results": [
      {
        "policy_name": "no-destructive-ops",
        "policy_type": "ai",
        "action": "deny",
        "message": "Recursive rm operations are not permitted"
      }
    ]
  }
}"""
CURL = r"""curl -X POST http://localhost:8080/api/v1/intercept \
  -H "Content-Type: application/json" \
  -H "X-Maybe-Dont-Client-ID: developer@example.com" \
  -d '{
    "event": "tools/call",
    "phase": "request",
    "payload": {
      "name": "Bash",
      "arguments": {"command": "gh pr create --title \"Feature X\""}
    },
    "context": {
      "sessionId": "session-abc123",
      "principal": {"type": "user", "id": "developer@example.com"}
    }
  }'"""


@pytest.fixture(scope="module", params=["maybe-dont", "interpose"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("seed"), intercept=InterceptSettings(identity=request.param)) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    with running(intercept.routes(service)) as found:
        yield found


def published(example: str, answer: dict[str, Any], service: Service) -> str:
    """The example with what differs from call to call, and in our own identity the name and what we add."""
    want = json.loads(example)
    want["durationMs"] = answer["durationMs"]
    want["info"] |= {"request_id": answer["info"]["request_id"], "server_version": __version__}
    if service.config.intercept.identity == "interpose":
        want["interceptor"] = "interpose"
        want["info"] |= {name: answer["info"][name] for name in ("decision", "policy")}
    return json.dumps(want)


def curl(server: Running, command: str) -> tuple[int, dict[str, Any]]:
    """Send what a curl command would send."""
    words = iter(shlex.split(command.replace("\\\n", " ")))
    headers, body, path = {}, "", ""
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(words)
        elif word.startswith("http://"):
            path = "/" + word.split("/", 3)[3]
    reply = server.ask("POST", path, body, headers)
    return reply.status, reply.json


def test_the_curl_example_gets_the_published_answer(server: Running, service: Service) -> None:
    status, answer = curl(server, CURL)
    assert status == 200
    assert json.dumps(answer) == published(VALID, answer, service), "the order of keys counts too"
    assert isinstance(answer["durationMs"], int)
    assert len(answer["info"]["request_id"]) == 32


def test_the_audit_entry_of_the_curl_example(server: Running, service: Service) -> None:
    curl(server, CURL)
    service.ledger.flush()
    (entry,) = intercept_entries(search(service.store, Query(), 1)[0])
    assert entry | {"timestamp": "", "duration_ms": 0} == {
        "timestamp": "",
        "source": "intercept",
        "phase": "request_validation",
        "tool": {"name": "Bash", "arguments": {"command": 'gh pr create --title "Feature X"'}},
        "context": {
            "sessionId": "session-abc123",
            "principal": {"type": "user", "id": "developer@example.com"},
        },
        "decision": "allow",
        "duration_ms": 0,
    }


def test_the_request_body_is_refused_with_every_published_field(server: Running) -> None:
    reply = server.post(PATH, REQUEST, X_Request_ID="req-abc123")
    answer = reply.json
    assert reply.status == 200, "a verdict is always 200"
    assert reply.headers["content-type"] == "application/json"
    assert answer["type"] == "validation"
    assert answer["phase"] == "request"
    assert answer["valid"] is False
    assert answer["severity"] == "error"
    assert answer["messages"] == [
        {"message": "Deletes the system or a whole part of it.", "severity": "error", "path": "arguments.command"}
    ]
    assert answer["info"]["request_id"] == "req-abc123"
    assert reply.headers["x-request-id"] == "req-abc123"
    first = answer["info"]["results"][0]
    assert (first["policy_name"], first["policy_type"], first["action"]) == ("delete-system", "guard", "deny")


def test_the_response_phase_is_echoed(server: Running) -> None:
    answer = server.post(PATH, RESPONSE).json
    assert (answer["phase"], answer["valid"], answer["severity"], answer["messages"]) == ("response", True, "info", [])
    assert answer["type"] == "validation"


@pytest.mark.parametrize(
    ("note", "more"),
    [
        ("all of it", {"arguments": {"x": 1}}),
        ("no arguments", {}),
        ("a text as the result", {"result": "ok"}),
        ("a number", {"result": 7}),
        ("yes or no", {"result": False}),
        ("a list", {"result": ["a", {"b": 1}]}),
        ("nothing at all", {"result": {}}),
    ],
)
def test_what_may_be_left_out_and_what_a_result_may_be(server: Running, note: str, more: dict[str, Any]) -> None:
    body = {"event": "tools/call", "phase": "response" if "result" in more else "request"}
    whose = {"principal": {"type": "user", "id": "u"}}
    contexts: tuple[dict[str, Any], ...] = ({}, {"context": {}}, {"context": whose})
    for context in contexts:
        answer = server.post(PATH, body | {"payload": {"name": "my_tool"} | more} | context)
        assert (answer.status, answer.json["valid"], answer.json["phase"]) == (200, True, body["phase"]), note


def test_the_invalid_example(tmp_path: Path) -> None:
    """An AI rule says the example's words: those of the rule in `messages`, those of the judge in `results`."""
    said = {"rule": "no-destructive-ops", "allowed": False, "reason": "Recursive rm operations are not permitted"}
    with serving() as judge:
        judge.body = lambda _body: openai_text(json.dumps({"verdicts": [said]}))
        judge.reply = partial(send, connection="close")
        rule = {
            "id": "no-destructive-ops",
            "prompt": "Nothing may be destroyed.",
            "action": "deny",
            "message": "Destructive command detected",
        }
        rules = json.dumps({"version": 1, "judge": judge.settings(), "rules": [rule]})
        unguarded = {"builtin:command-safety-guard": InterceptorSettings(enabled=False)}
        seed = InterceptSettings(identity="maybe-dont")
        with (
            service_in(tmp_path, rules, packs=(), intercept=seed, interceptors=unguarded) as service,
            running(intercept.routes(service)) as server,
        ):
            answer = server.post(PATH, REQUEST).json
            assert json.dumps(answer) == published(INVALID, answer, service)


def without(*path: str) -> dict[str, Any]:
    """The response body without one of its fields."""
    body: dict[str, Any] = json.loads(json.dumps(RESPONSE))
    inner = body
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return body


def set_to(value: Any, *path: str) -> dict[str, Any]:
    """The response body with one of its fields set to another value."""
    body: dict[str, Any] = json.loads(json.dumps(RESPONSE))
    inner = body
    for name in path[:-1]:
        inner = inner.setdefault(name, {})
    inner[path[-1]] = value
    return body


FAULTS: list[tuple[str, Any, int, str]] = [
    ("no JSON", b"{", 400, "invalid_request"),
    ("nothing", b"", 400, "invalid_request"),
    ("a key that stands twice", b'{"event":"tools/call","event":"x"}', 400, "invalid_request"),
    ("not UTF-8", b'{"event":"\xff"}', 400, "invalid_request"),
    ("half a character", b'{"event":"\\ud800"}', 400, "invalid_request"),
    ("not a number", b'{"event":NaN}', 400, "invalid_request"),
    ("text behind the end", b"{} {}", 400, "invalid_request"),
    ("no object", b"[]", 400, "invalid_request"),
    ("no event", without("event"), 400, "missing_event"),
    ("an empty event", set_to("", "event"), 400, "missing_event"),
    ("a null event", set_to(None, "event"), 400, "missing_event"),
    ("an event that is a number", set_to(7, "event"), 400, "invalid_request"),
    ("another event", set_to("resources/read", "event"), 400, "unsupported_event"),
    ("an event in capitals", set_to("Tools/Call", "event"), 400, "unsupported_event"),
    ("no phase", without("phase"), 400, "missing_phase"),
    ("an empty phase", set_to("", "phase"), 400, "missing_phase"),
    ("a null phase", set_to(None, "phase"), 400, "missing_phase"),
    ("a phase that is a list", set_to(["request"], "phase"), 400, "invalid_request"),
    ("another phase", set_to("both", "phase"), 400, "invalid_phase"),
    ("no payload", without("payload"), 400, "missing_payload_name"),
    ("a null payload", set_to(None, "payload"), 400, "missing_payload_name"),
    ("a payload that is text", set_to("Bash", "payload"), 400, "invalid_request"),
    ("no name", without("payload", "name"), 400, "missing_payload_name"),
    ("an empty name", set_to("", "payload", "name"), 400, "missing_payload_name"),
    ("a blank name", set_to(" \t", "payload", "name"), 400, "missing_payload_name"),
    ("a name that is an object", set_to({}, "payload", "name"), 400, "invalid_request"),
    ("arguments that are a list", set_to([], "payload", "arguments"), 400, "invalid_request"),
    ("no result", without("payload", "result"), 400, "response_phase_missing_result"),
    ("a null result", set_to(None, "payload", "result"), 400, "response_phase_missing_result"),
    ("a session that is a number", set_to(1, "context", "sessionId"), 400, "invalid_request"),
    ("a trace that is a number", set_to(1, "context", "traceId"), 400, "invalid_request"),
    ("a principal that is text", set_to("me", "context", "principal"), 400, "invalid_request"),
    ("an id that is a number", set_to(1, "context", "principal", "id"), 400, "invalid_request"),
    ("a directory that is a number", set_to(1, "config", "working_directory"), 400, "invalid_request"),
]


@pytest.mark.parametrize(("note", "body", "status", "code"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_error_codes(server: Running, note: str, body: Any, status: int, code: str) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = server.ask("POST", PATH, raw, JSON)
    assert (reply.status, reply.json["error"]) == (status, code), note
    assert list(reply.json) == ["error", "message"]
    assert reply.json["message"]


@pytest.mark.parametrize("path", [("event",), ("payload", "name"), ("context", "sessionId"), ("context", "principal")])
def test_a_wrong_type_says_which_field(server: Running, path: tuple[str, ...]) -> None:
    reply = server.post(PATH, set_to(7, *path))
    assert ".".join(path) in reply.json["message"]


def test_the_published_example_of_an_error(server: Running, service: Service) -> None:
    answer = server.ask("POST", PATH, b"{", JSON).json
    if service.config.intercept.identity == "maybe-dont":
        assert answer == {"error": "invalid_request", "message": "Request body must be valid JSON"}
    else:
        assert "the body can't be read" in answer["message"]


CONTENT_TYPES = [
    ("application/json", 200),
    ("application/json; charset=utf-8", 200),
    ("Application/JSON", 200),
    ("text/plain", 415),
    ("application/x-www-form-urlencoded", 415),
    ("application/jsonp", 415),
    ("text/plain, application/json", 415),
    ("", 415),
    (None, 415),
]


@pytest.mark.parametrize(("given", "status"), CONTENT_TYPES)
def test_content_types(server: Running, given: str | None, status: int) -> None:
    headers = {} if given is None else {"Content-Type": given}
    reply = server.ask("POST", PATH, json.dumps(REQUEST), headers)
    assert reply.status == status
    if status == 415:
        assert reply.json["error"] == "invalid_content_type"


def test_of_several_faults_the_first_in_the_published_order_is_said(server: Running) -> None:
    """Each step repairs the fault that was said, and the next one comes to light."""
    body: dict[str, Any] = {"event": "", "phase": "", "payload": {"name": ""}}
    plain = {"Content-Type": "text/plain"}
    said = [server.ask("POST", PATH, b"{", plain).json["error"], server.ask("POST", PATH, b"{", JSON).json["error"]]
    repairs: list[dict[str, Any]] = [
        {},
        {"event": "other"},
        {"event": "tools/call"},
        {"phase": "both"},
        {"phase": "response"},
        {"payload": {"name": "Bash"}},
    ]
    for repair in repairs:
        body |= repair
        said.append(server.post(PATH, body).json["error"])
    assert said == [code for _, code in intercept.CODES[1:]]


@pytest.mark.parametrize("name", ["MAYBE_DONT_INTERCEPT_ENABLED", "INTERPOSE_INTERCEPT_ENABLED"])
def test_switched_off_by_the_environment(tmp_path: Path, name: str) -> None:
    config = load(environ={"HOME": str(tmp_path), name: "false"}, organisation=tmp_path / "none").config
    with service_in(tmp_path, intercept=config.intercept) as service, running(intercept.routes(service)) as server:
        reply = server.ask("POST", PATH, b"{", {"Content-Type": "text/plain"})
        assert (reply.status, reply.json["error"]) == (400, "intercept_disabled"), "before any other fault"


def test_switched_off_by_a_file(tmp_path: Path) -> None:
    file = tmp_path / "interpose.yaml"
    file.write_text("intercept:\n  enabled: false\n", encoding="utf-8")
    config = load(file, environ={"HOME": str(tmp_path)}, organisation=tmp_path / "none").config
    with service_in(tmp_path, intercept=config.intercept) as service, running(intercept.routes(service)) as server:
        assert server.post(PATH, set_to("request", "phase")).json["error"] == "intercept_disabled"


SHELLS = """
intercept:
  shell_tool_names:
    - Bash
    - shell
    - run_terminal_command
"""


def test_the_published_list_of_shell_tools(tmp_path: Path) -> None:
    """Names may be added. What is a shell by its own name stays one when the list leaves it out."""
    file = tmp_path / "interpose.yaml"
    file.write_text(SHELLS, encoding="utf-8")
    config = load(file, environ={"HOME": str(tmp_path)}, organisation=tmp_path / "none").config
    with service_in(tmp_path, intercept=config.intercept) as service, running(intercept.routes(service)) as server:
        for name in ("Bash", "shell", "run_terminal_command", "Run-Terminal-Command", "execute_command"):
            body = set_to("request", "phase") | {"payload": {"name": name, "arguments": {"command": "rm -rf /"}}}
            assert server.post(PATH, body).json["valid"] is False, name


def test_the_client_is_recorded(server: Running, service: Service) -> None:
    body = {"event": "tools/call", "phase": "request", "payload": {"name": "Bash", "arguments": {"command": "ls"}}}
    for header in ("X-Maybe-Dont-Client-ID", "X-Interpose-Client-ID"):
        server.ask("POST", PATH, json.dumps(body), JSON | {header: f"me by {header}"})
        service.ledger.flush()
        record = search(service.store, Query(), 1)[0]
        assert (record.principal, record.agent) == (f"me by {header}", f"me by {header}")
