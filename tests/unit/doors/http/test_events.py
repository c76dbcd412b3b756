"""Every hook point over HTTP, in plain JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from interpose import Confirm, Deny, Message, Params, PermissionRequest, Transform
from interpose.composition.service.service import Service
from interpose.core.types import Allow, Command, HookPoint
from interpose.doors.http import events
from interpose.record.ledger.record import search
from interpose.record.store.protocols import Query
from tests.support.servers.servers import JSON, Running, running, service_in

PATH = "/api/v1/events/"


class Reader:
    """Looks at messages."""

    def intercept(self, message: Message) -> Deny | Transform[Message] | Allow:
        if "stop" in message.text:
            return Deny("stopped", rule="stop")
        return Transform(replace(message, text=message.text.upper())) if "shout" in message.text else Allow()


class Asker:
    """Looks at messages as the reader left them."""

    def intercept(self, message: Message) -> Confirm | Allow:
        return Confirm("so loud?") if message.text == "SHOUT?" else Allow()


class Chooser:
    """Looks at parameters."""

    def intercept(self, params: Params) -> Transform[Params] | Allow:
        return Transform(replace(params, temperature=0.0)) if params.temperature else Allow()


class Commander:
    """Looks at commands."""

    def intercept(self, command: Command) -> Deny | Allow:
        return Deny("not before the build") if command.name == "deploy" else Allow()


class Doorkeeper:
    """Looks at questions."""

    def intercept(self, request: PermissionRequest) -> Deny | Allow:
        return Deny("never ask this") if "never" in request.message else Allow()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_in(tmp_path_factory.mktemp("events")) as opened:
        registry: Any = opened.policies.shared.engine.interceptors
        registry.add(id="reader", name=HookPoint.MESSAGE_BEFORE, interceptor=Reader())
        registry.add(id="asker", name=HookPoint.MESSAGE_BEFORE, interceptor=Asker())
        registry.add(id="chooser", name=HookPoint.PARAMS_BEFORE, interceptor=Chooser())
        registry.add(id="commander", name=HookPoint.COMMAND_BEFORE, interceptor=Commander())
        registry.add(id="doorkeeper", name=HookPoint.PERMISSION_ASK, interceptor=Doorkeeper())
        yield opened


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    with running(events.routes(service)) as found:
        yield found


EVENTS: list[tuple[str, str, dict[str, Any], str, Any]] = [
    ("a message", "message.before", {"text": "hi"}, "allow", None),
    ("a rewritten message", "message.before", {"text": "shout"}, "rewrite", {"text": "SHOUT", "metadata": {}}),
    ("a rewrite that waits for a person", "message.before", {"text": "shout?"}, "ask", None),
    ("a stopped message", "message.before", {"text": "stop"}, "deny", None),
    ("parameters", "params.before", {"model": "m"}, "allow", None),
    ("rewritten parameters", "params.before", {"model": "m", "temperature": 1, "extras": {"top_p": 1}}, "rewrite",
     {"model": "m", "provider": None, "think_level": None, "reasoning_level": None, "temperature": 0.0,
      "extras": {"top_p": 1}}),
    ("a call", "tool.before", {"name": "Bash", "arguments": {"command": "ls"}}, "allow", None),
    ("a refused call", "tool.before", {"name": "Bash", "arguments": {"command": "rm -rf /"}}, "deny", None),
    ("a question", "tool.before", {"name": "Bash", "arguments": {"command": "git push --force"}}, "ask", None),
    ("a result", "tool.after", {"name": "Bash", "result": ["fine"], "duration_ms": 1.5}, "allow", None),
    ("an empty result", "tool.after", {"name": "Bash", "result": None}, "allow", None),
    ("a command", "command.before", {"name": "/review", "arguments": "12"}, "allow", None),
    ("a refused command", "command.before", {"name": "deploy"}, "deny", None),
    ("another's question", "permission.ask", {"name": "Bash", "arguments": {"command": "ls"}}, "ask", None),
    ("another's question about what is refused", "permission.ask",
     {"name": "Bash", "arguments": {"command": "rm -rf /"}}, "deny", None),
    ("a question that is refused", "permission.ask", {"name": "x", "message": "never"}, "deny", None),
]  # fmt: skip


@pytest.mark.parametrize(("note", "point", "body", "decision", "payload"), EVENTS, ids=[case[0] for case in EVENTS])
def test_events(server: Running, note: str, point: str, body: dict[str, Any], decision: str, payload: Any) -> None:
    reply = server.post(PATH + point, body)
    answer = reply.json
    assert reply.status == 200
    assert (answer["point"], answer["decision"]) == (point, decision), note
    assert answer["allowed"] is (decision in ("allow", "rewrite"))
    assert answer.get("payload") == payload
    assert bool(answer["reason"]) is not answer["allowed"]
    assert bool(answer["approval_id"]) is (decision == "ask")


def test_a_result_is_redacted_in_its_shape(server: Running) -> None:
    secret = "AWS_SECRET_ACCESS_KEY=" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzz" + "zKEY"
    body = {"name": "Bash", "result": {"stdout": secret, "code": 0}}
    answer = server.post(PATH + "tool.after", body).json
    assert (answer["decision"], answer["payload"]["result"]["code"]) == ("rewrite", 0)
    assert "[redacted:" in answer["payload"]["result"]["stdout"]


def test_the_callers_name_of_a_call_finds_its_decision(server: Running, service: Service) -> None:
    context = {"sessionId": "own-name"}
    body = {"context": context, "name": "Bash", "arguments": {"command": "ls"}, "call_id": "toolu_1"}
    server.post(PATH + "tool.before", body)
    service.ledger.flush()
    decided = search(service.store, Query(), 1)[0]
    assert decided.call_id != "toolu_1", "agents choose their names: records have names of our own"
    server.post(PATH + "tool.after", body | {"arguments": {}, "result": "x", "is_error": True, "duration_ms": 2})
    service.ledger.flush()
    ended = search(service.store, Query(), 1)[0]
    assert (ended.call_id, ended.outcome, ended.duration_ns) == (decided.call_id, "error", 2_000_000)


def test_another_programs_question_is_answered_by_an_approval(server: Running, service: Service) -> None:
    body = {"context": {"sessionId": "host"}, "name": "Bash", "arguments": {"command": "ls"}, "message": "Run ls?"}
    asked = server.post(PATH + "permission.ask", body).json
    assert asked["questions"] == ["Run ls?"]
    service.desk.approve(asked["approval_id"], by="carol")
    answer = server.post(PATH + "permission.ask", body).json
    assert (answer["allowed"], "carol" in answer["approver"]) == (True, True)


FAULTS: list[tuple[str, str, bytes, dict[str, str], int, str]] = [
    ("an unknown point", "tool.during", b"{}", JSON, 404, "unknown_point"),
    ("another type", "tool.before", b"{}", {"Content-Type": "text/plain"}, 415, "invalid_content_type"),
    ("no JSON", "tool.before", b"{", JSON, 400, "invalid_request"),
    ("no name", "tool.before", b"{}", JSON, 400, "invalid_request"),
    ("a blank name", "tool.before", b'{"name":" "}', JSON, 400, "invalid_request"),
    ("no result", "tool.after", b'{"name":"x"}', JSON, 400, "invalid_request"),
    ("a negative time", "tool.after", b'{"name":"x","result":1,"duration_ms":-1}', JSON, 400, "invalid_request"),
    ("no name of a command", "command.before", b"{}", JSON, 400, "invalid_request"),
    ("arguments that are no text", "command.before", b'{"name":"x","arguments":[]}', JSON, 400, "invalid_request"),
    ("no text", "message.before", b"{}", JSON, 400, "invalid_request"),
    ("a temperature that is text", "params.before", b'{"temperature":"hot"}', JSON, 400, "invalid_request"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("note", "point", "body", "headers", "status", "code"), FAULTS, ids=[case[0] for case in FAULTS]
)
def test_codes(
    server: Running, note: str, point: str, body: bytes, headers: dict[str, str], status: int, code: str
) -> None:
    reply = server.ask("POST", PATH + point, body, headers)
    assert (reply.status, reply.json["error"]) == (status, code), note


def test_an_unknown_point_says_which_there_are(server: Running) -> None:
    message = server.post(PATH + "x", {}).json["message"]
    assert all(point in message for point in HookPoint)


@pytest.mark.parametrize("point", list(HookPoint))
def test_what_breaks_is_a_refusal(
    server: Running, service: Service, monkeypatch: pytest.MonkeyPatch, point: HookPoint
) -> None:
    def broken(*_args: object, **_options: object) -> Any:
        raise RuntimeError("gone")

    monkeypatch.setattr(service, "hosted", broken)
    reply = server.post(f"{PATH}{point}", {"name": "x", "text": "x", "result": 1})
    assert (reply.status, reply.json["allowed"]) == (200, False)


def test_events_can_be_switched_off(server: Running, service: Service) -> None:
    before = service.config
    service.config = replace(before, intercept=replace(before.intercept, enabled=False))
    try:
        assert server.post(PATH + "tool.before", {}).json["error"] == "intercept_disabled"
    finally:
        service.config = before
