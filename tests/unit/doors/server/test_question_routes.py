"""Questions of a gateway that is no server: put to the desk of one that is, and answered there."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.build import open_service
from interpose.composition.service.service import Service
from interpose.core.answers import Approved, Pending
from interpose.core.types import Context, Deny, Finding, PermissionRequest, ToolCall, ToolOutcome
from interpose.doors.hooks.clients.remote_desk import RemoteDesk
from interpose.doors.http_server.listener import Unix
from interpose.doors.mcp.gate.contract import Gated
from interpose.doors.mcp.gate.gate import McpGate
from interpose.doors.server.question_routes import routes
from tests.support.hosts.gating import ByWord, call, forwarded, recorded, said, watched
from tests.support.servers.servers import running, service_in

RULES = """
version: 1
rules:
  - {id: careful, on: {tools: ["mcp__shop__wave"]}, action: ask, when: "true", message: The neighbours see it.}
  - {id: never, on: {tools: ["mcp__shop__rob"]}, action: deny, when: "true", message: No robbery.}
"""
HERE = Context(session_id="s", cwd="/w", source="mcp")
SAID = Finding(interceptor="x", said="ask", reason="Sure?", rule="sure")


@contextmanager
def desk_at(service: Service, path: Path) -> Iterator[str]:
    with running(routes(service), more=[Unix(str(path))]):
        yield str(path)


def question(tool: str = "mcp__shop__go", message: str = "Sure?", **arguments: Any) -> PermissionRequest:
    return PermissionRequest(message, ToolCall(tool, arguments, context=HERE, original_name=tool), (SAID,))


def asked(path: str, request: PermissionRequest, wait: float = 0.0) -> Any:
    return asyncio.run(RemoteDesk(path, wait, start=False).confirm(request))


def test_a_gateway_without_a_key_asks_the_server(tmp_path: Path) -> None:
    """The whole way: the gateway decides, the server asks, a person answers, the gateway lets it run, once."""
    with service_in(tmp_path, packs=()) as server, desk_at(server, tmp_path / "hook.sock") as path:
        config = replace(server.config, hooks=replace(server.config.hooks, socket=path))
        with open_service(config, follow=False) as gateway:
            watched(gateway, ByWord())
            gate = McpGate(gateway, start_server=False)

            def before() -> Gated:
                return asyncio.run(gate.before(call({"do": "ask"})))

            assert gateway.answering is None
            assert "The question waits as" in said(before())
            (put,) = server.desk.asked()
            assert (put.tool, put.message, put.instead, put.source) == ("mcp__shop__go", "Sure?", "nothing", "mcp")
            server.desk.approve(put.id, "ann")
            forwarded(before())
            assert "The question waits as" in said(before())
            ran = recorded(gateway)[1]
            assert (ran.decision, ran.approver) == ("allow", f"grant:{put.id} of ann")


def test_it_waits_as_long_as_it_may(tmp_path: Path) -> None:
    with service_in(tmp_path) as server, desk_at(server, tmp_path / "hook.sock") as path:
        answering = threading.Thread(target=_approve_first, args=(server,))
        answering.start()
        assert asked(path, question(), wait=30.0) == Approved("ann")
        answering.join()


def _approve_first(server: Service) -> None:
    waiting = threading.Event()
    while not (found := server.desk.asked()):
        waiting.wait(0.01)
    server.desk.approve(found[0].id, "ann")


def test_a_no_is_a_no(tmp_path: Path) -> None:
    with service_in(tmp_path) as server, desk_at(server, tmp_path / "hook.sock") as path:
        pending = asked(path, question())
        assert isinstance(pending, Pending)
        server.desk.deny(pending.approval, "ann", "not today")
        denied = asked(path, question())
        assert isinstance(denied, Deny)
        assert (denied.rule, "not today" in denied.reason) == ("approval-denied", True)


def test_a_question_can_t_be_made_to_look_harmless(tmp_path: Path) -> None:
    """Whoever is at the socket says what it likes. What the server itself says of the call comes first."""
    with service_in(tmp_path, RULES, packs=()) as server, desk_at(server, tmp_path / "hook.sock") as path:
        asked(path, question("mcp__shop__wave", "Just a greeting.", hands=2))
        (put,) = server.desk.asked()
        assert put.message.startswith("The neighbours see it.")
        assert [found.rule for found in put.findings] == ["careful", "sure"]
        assert put.findings[1].interceptor == "gateway: x"
        refused = asked(path, question("mcp__shop__rob", "Just a greeting."))
        assert isinstance(refused, Deny)
        assert refused.rule == "never"
        assert len(server.desk.asked()) == 1


def test_a_result_is_asked_about(tmp_path: Path) -> None:
    with service_in(tmp_path) as server, desk_at(server, tmp_path / "hook.sock") as path:
        outcome = ToolOutcome(ToolCall("mcp__shop__go", {}, context=HERE), {"content": []})
        assert isinstance(asked(path, PermissionRequest("Show it?", outcome)), Pending)
        (put,) = server.desk.asked()
        assert (put.point, put.arguments) == ("tool.after", {"arguments": {}, "result": {"content": []}})


BODIES: list[tuple[str, Any, int]] = [
    ("no object", [], 400),
    ("no tool", {"arguments": {}, "context": {}, "message": "x"}, 400),
    ("arguments that are a text", {"tool": "x", "arguments": "x", "context": {}, "message": "x"}, 400),
    ("a context that is none", {"tool": "x", "arguments": {}, "context": 5, "message": "x"}, 400),
    ("a time that is none", {"tool": "x", "arguments": {}, "context": {}, "message": "x", "wait": "long"}, 400),
    ("enough", {"tool": "x", "arguments": {}, "context": {}, "message": "x"}, 200),
    ("a wait that is too long is cut", {"tool": "x", "arguments": {}, "context": {}, "message": "x", "wait": -5}, 200),
]


@pytest.mark.parametrize(("note", "body", "status"), BODIES)
def test_bodies(note: str, body: Any, status: int, tmp_path: Path) -> None:
    with service_in(tmp_path) as server, running(routes(server)) as listening:
        assert listening.post("/question", body).status == status


# --- nobody, or somebody else ----------------------------------------------------------------------------------------


def reason(answer: Any) -> str:
    assert isinstance(answer, Deny)
    assert answer.rule == "approval-no-server"
    return answer.reason


def test_where_nobody_listens_nobody_can_be_asked(tmp_path: Path) -> None:
    assert "no server runs" in reason(asked(str(tmp_path / "hook.sock"), question()))
    assert "hooks.socket is empty" in reason(asked("", question()))


def test_a_socket_that_others_can_reach_is_not_believed(tmp_path: Path) -> None:
    with service_in(tmp_path) as server, desk_at(server, tmp_path / "hook.sock") as path:
        Path(path).chmod(0o666)
        assert "not ours alone" in reason(asked(path, question()))
        Path(path).chmod(0o600)
        assert isinstance(asked(path, question()), Pending)


def head(body: bytes, status: str = "200 OK", length: int | None = None) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


YES = json.dumps({"said": "approved", "by": "ann"}).encode()
ODD: list[tuple[str, bytes]] = [
    ("nothing", b""),
    ("no HTTP", b"approved"),
    ("a yes with another status", head(YES, "404 Not Found")),
    ("half a yes", head(YES[:-4], length=len(YES))),
    ("more than a yes", head(YES + b"x", length=len(YES))),
    ("no length", b"HTTP/1.1 200 OK\r\n\r\n" + YES),
    ("no JSON", head(b"yes")),
    ("a list", head(b"[]")),
    ("a word that nobody knows", head(b'{"said": "ok", "by": "ann"}')),
    ("too much", head(b" " * (2 << 20) + YES)),
]


@pytest.mark.parametrize(("note", "answer"), ODD)
def test_what_is_no_whole_answer_is_a_no(note: str, answer: bytes, tmp_path: Path) -> None:
    path = str(tmp_path / "odd.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        Path(path).chmod(0o600)
        listening.listen()
        serving = threading.Thread(target=_say, args=(listening, answer))
        serving.start()
        reason(asked(path, question()))
        serving.join()


NOT_QUITE: list[tuple[str, bytes]] = [
    ("a yes of nobody", b'{"said": "approved"}'),
    ("a question without a name", b'{"said": "pending"}'),
]


@pytest.mark.parametrize(("note", "body"), NOT_QUITE)
def test_an_answer_without_its_half_is_a_no(note: str, body: bytes, tmp_path: Path) -> None:
    path = str(tmp_path / "odd.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        Path(path).chmod(0o600)
        listening.listen()
        serving = threading.Thread(target=_say, args=(listening, head(body)))
        serving.start()
        assert isinstance(asked(path, question()), Deny)
        serving.join()


def _say(listening: socket.socket, answer: bytes) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(65536)
        try:
            connection.sendall(answer)
        except OSError:
            pass  # it has heard enough
