"""The programs that run inside a host, with a real node and a real server."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from interpose.composition.service.service import Service
from interpose.doors.hooks.clients.plugins import Reach, plugin_files
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.server.hook_routes import routes
from tests.support.servers import hosting
from tests.support.servers.servers import running
from tests.support.timing.patience import PATIENCE

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")

BASH = {"tool": "bash", "sessionID": "s1", "callID": "c1"}

OPENCODE = """
import { Interpose } from "./plugin.mjs";
const [, , point, input, output, settings] = process.argv;
const hooks = await Interpose({ directory: "/home/dev/proj" });
await hooks.config(JSON.parse(settings));
const given = JSON.parse(output);
const args = given.args;
try {
  await hooks[point](JSON.parse(input), given);
  console.log(JSON.stringify({ output: given, same: given.args === args }));
} catch (error) {
  console.log(JSON.stringify({ thrown: error.message }));
}
"""

OPENCLAW = """
import plugin from "./index.js";
const [, , point, event] = process.argv;
const hooks = {};
plugin.register({ on: (name, handler, options) => (hooks[name] = { handler, options }) });
const context = { sessionId: "s1", agentId: "main", workspaceDir: "/home/dev/proj" };
try {
  const said = await hooks[point].handler(JSON.parse(event), context);
  console.log(JSON.stringify({ said, options: hooks[point].options }));
} catch (error) {
  console.log(JSON.stringify({ thrown: error.message }));
}
"""


def _run(directory: Path, program: str, *words: str) -> Any:
    (directory / "main.mjs").write_text(program, encoding="utf-8")
    done = subprocess.run(
        ["node", str(directory / "main.mjs"), *words], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    return json.loads(done.stdout)


def _opencode(
    directory: Path, reach: Reach, point: str, output: dict[str, Any], servers: tuple[str, ...] = (), **more: Any
) -> Any:
    files = plugin_files(HOSTS["opencode"].facts, reach)
    assert list(files) == [""]
    (directory / "plugin.mjs").write_text(files[""], encoding="utf-8")
    settings: dict[str, Any] = {"mcp": {server: {} for server in servers}} if servers else {}
    return _run(directory, OPENCODE, point, json.dumps(BASH | more), json.dumps(output), json.dumps(settings))


def _openclaw(directory: Path, reach: Reach, point: str, event: dict[str, Any]) -> Any:
    for name, text in plugin_files(HOSTS["openclaw"].facts, reach).items():
        (directory / name).write_text(text, encoding="utf-8")
    return _run(directory, OPENCLAW, point, json.dumps(event))


@contextmanager
def _server(verdict: str, **choices: str) -> Iterator[tuple[Reach, hosting.Scripted]]:
    service = hosting.Scripted(**choices)
    service.verdict = verdict
    with running(routes(cast("Service", service))) as server:
        yield Reach(port=server.port, deadline=10), service


def test_what_may_run_runs_as_it_is(tmp_path: Path) -> None:
    with _server("allow") as (reach, service):
        done = _opencode(tmp_path, reach, "tool.execute.before", {"args": {"command": "echo hi"}})
        assert done == {"output": {"args": {"command": "echo hi"}}, "same": True}
        shown = service.recorder.log[0][1].payload
        assert (shown.name, shown.context.session_id, shown.context.cwd) == ("exec", "s1", "/home/dev/proj")


def test_a_refusal_throws(tmp_path: Path) -> None:
    with _server("deny") as (reach, _):
        done = _opencode(tmp_path, reach, "tool.execute.before", {"args": {"command": "echo hi"}})
        assert done == {"thrown": hosting.DENIED}


def test_a_rewrite_changes_the_hosts_own_object(tmp_path: Path) -> None:
    with _server("rewrite") as (reach, _):
        given = {"args": {"command": "echo hi", "timeout": 5}}
        done = _opencode(tmp_path, reach, "tool.execute.before", given)
        assert done == {"output": {"args": {"command": "echo safe", "timeout": 5}}, "same": True}


@pytest.mark.parametrize(("verdict", "shown"), [("redact", "[hidden]"), ("withhold", hosting.WITHHELD)])
def test_a_result_is_replaced(verdict: str, shown: str, tmp_path: Path) -> None:
    with _server(verdict) as (reach, _):
        given = {"title": "t", "output": "SECRET", "metadata": {}}
        done = _opencode(tmp_path, reach, "tool.execute.after", given, args={"command": "echo hi"})
        assert done["output"] == given | {"output": shown}


@pytest.mark.parametrize(
    ("tool", "servers", "want"),
    [
        ("notes_leave_note", ("notes",), "mcp__notes__leave_note"),
        ("my_notes_leave", ("my.notes", "other"), "mcp__my.notes__leave"),
        ("leave_note", ("notes",), "leave_note"),
        ("notes", ("notes",), "notes"),
    ],
)
def test_a_tool_of_a_server_is_named_by_both(tool: str, servers: tuple[str, ...], want: str, tmp_path: Path) -> None:
    with _server("allow") as (reach, service):
        _opencode(tmp_path, reach, "tool.execute.before", {"args": {"note": "x"}}, servers, tool=tool)
        assert service.recorder.log[0][1].payload.name == want


def test_a_tool_that_two_servers_could_have_is_refused(tmp_path: Path) -> None:
    """A project may name a server so that a rule about another would not fit."""
    with _server("allow") as (reach, _):
        servers = ("notes", "notes_leave")
        done = _opencode(tmp_path, reach, "tool.execute.before", {"args": {}}, servers, tool="notes_leave_note")
        assert done == {"thrown": "Interpose can't tell which server notes_leave_note is of: notes, notes_leave"}


def test_the_result_of_a_server_is_replaced_part_by_part(tmp_path: Path) -> None:
    with _server("redact") as (reach, _):
        given = {"content": [{"type": "text", "text": "one SECRET"}, {"type": "text", "text": "two"}]}
        done = _opencode(tmp_path, reach, "tool.execute.after", given, ("notes",), tool="notes_leave_note")
        assert done["output"] == {
            "content": [{"type": "text", "text": "one [hidden]"}, {"type": "text", "text": "two"}]
        }


def test_a_result_of_an_unknown_shape_is_withheld(tmp_path: Path) -> None:
    with _server("allow") as (reach, _):
        done = _opencode(tmp_path, reach, "tool.execute.after", {"title": "t"})
        assert done == {"thrown": "Interpose can't read this result, so it is withheld"}


@contextmanager
def _listening(reply: bytes | None, path: Path | None = None) -> Iterator[int]:
    """A server that says these bytes to whoever connects, or nothing at all, and keeps the connection open."""
    kept: list[socket.socket] = []
    family = socket.AF_INET if path is None else socket.AF_UNIX
    with socket.create_server(("127.0.0.1", 0) if path is None else str(path), family=family) as server:

        def serve() -> None:
            try:
                peer, _ = server.accept()
            except OSError:
                return
            kept.append(peer)
            peer.recv(65536)
            if reply is not None:
                peer.sendall(reply)
                peer.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1] if path is None else 0
        server.shutdown(socket.SHUT_RDWR)  # wakes the thread if no client came; closing alone would not
        for peer in kept:
            peer.close()
    thread.join(PATIENCE)


def _http(body: str, status: str = "200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    ("note", "reply"),
    [
        ("a server that hangs", None),
        ("a server that hangs up", b""),
        ("a server error", _http('{"decision": "allow"}', "500 Oops")),
        ("half an answer", _http('{"decision": "allow"}', length=500)),
        ("no JSON", _http("allow")),
        ("no decision", _http("{}")),
        ("null", _http("null")),
        ("another word", _http('{"decision": "allowed"}')),
        ("a decision that is no word", _http('{"decision": true}')),
        ("silence", _http("")),
    ],
)
def test_whatever_is_no_yes_keeps_the_call_from_running(note: str, reply: bytes | None, tmp_path: Path) -> None:
    with _listening(reply) as port:
        reach = Reach(port=port, deadline=0.5)
        done = _opencode(tmp_path, reach, "tool.execute.before", {"args": {"command": "echo hi"}})
    assert done["thrown"], note


@pytest.mark.parametrize("reply", [None, _http('{"decision": "allowed"}')], ids=["hangs", "a word"])
def test_openclaw_runs_nothing_without_a_yes(reply: bytes | None, tmp_path: Path) -> None:
    with _listening(reply) as port:
        event = {"toolName": "exec", "params": {"command": "echo hi"}}
        done = _openclaw(tmp_path, Reach(port=port, deadline=0.5), "before_tool_call", event)
    assert "thrown" in done or done["said"]["block"] is True


@pytest.mark.parametrize(
    ("mode", "want"), [(0o600, {"thrown": "over the socket"}), (0o666, {"thrown": "by the command"})]
)
def test_a_unix_socket_is_asked_if_it_is_ours_alone(mode: int, want: dict[str, str], tmp_path: Path) -> None:
    command = ("printf", '{"decision": "deny", "reason": "by the command"}')
    with _listening(_http('{"decision": "deny", "reason": "over the socket"}'), tmp_path / "s"):
        (tmp_path / "s").chmod(mode)
        reach = Reach(socket=str(tmp_path / "s"), command=command, deadline=5)
        done = _opencode(tmp_path, reach, "tool.execute.before", {"args": {"command": "echo hi"}})
    assert done == want


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.mark.parametrize(
    ("note", "command", "runs"),
    [
        ("the command decides", ["printf", '{"decision": "allow"}'], True),
        ("the command refuses", ["printf", '{"decision": "deny", "reason": "no"}'], False),
        ("the command fails", ["false"], False),
        ("the command hangs", ["sleep", "60"], False),
        ("there is no such command", ["/nonexistent/interpose"], False),
        ("there is no command", [], False),
    ],
)
def test_where_nobody_listens_the_command_is_asked(note: str, command: list[str], runs: bool, tmp_path: Path) -> None:
    reach = Reach(port=_closed_port(), command=tuple(command), deadline=1)
    done = _opencode(tmp_path, reach, "tool.execute.before", {"args": {"command": "echo hi"}})
    assert ("thrown" not in done) is runs, note


def test_a_missing_socket_is_nobody_who_listens(tmp_path: Path) -> None:
    reach = Reach(socket=str(tmp_path / "no.sock"), command=("printf", '{"decision": "allow"}'), deadline=5)
    done = _opencode(tmp_path, reach, "tool.execute.before", {"args": {"command": "echo hi"}})
    assert "thrown" not in done


def test_what_only_informs_stops_nobody(tmp_path: Path) -> None:
    reach = Reach(port=_closed_port(), deadline=1)
    done = _openclaw(tmp_path, reach, "session_start", {})
    assert "thrown" not in done


@pytest.mark.parametrize(
    ("verdict", "want"),
    [
        ("allow", None),
        ("deny", {"block": True, "blockReason": hosting.DENIED}),
        ("rewrite", {"params": {"command": "echo safe"}}),
        ("ask", {"requireApproval": {
            "title": "Interpose asks about exec", "description": hosting.QUESTION, "severity": "warning"}}),
        ("error", {"block": True, "blockReason": hosting.BROKEN}),
    ],
)  # fmt: skip
def test_openclaw_hears_its_own_words(verdict: str, want: Any, tmp_path: Path) -> None:
    with _server(verdict) as (reach, _):
        event = {"toolName": "exec", "params": {"command": "echo hi"}, "toolCallId": "c1"}
        done = _openclaw(tmp_path, reach, "before_tool_call", event)
    assert done.get("said") == want
    assert done["options"]["timeoutMs"] > reach.deadline * 1000
