"""A second user of the machine against a real server: it can neither read, steer, starve nor speak for the first.

The other user is a child process under a uid that nobody has. That takes root: without it these tests are skipped.
"""

from __future__ import annotations

import atexit
import encodings.idna  # noqa: F401 - a stranger may not read it where it lies, and sockets need it
import http.client
import json
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import ServerProcess, clean_environment
from tests.support.timing.patience import PATIENCE

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="ANOTHER USER CAN'T BE PLAYED: these tests need root")

STRANGER = 64_123
DENY_ALL = "version: 1\nrules:\n  - {id: nothing, when: 'true', action: deny, message: nothing runs here}\n"
ASKED = "git push --force origin feature"
"""A command about which a person is asked."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where the server lives: others can't look into it."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return home


@pytest.fixture
def server(home: Path) -> Iterator[ServerProcess]:
    # A slow machine asks slowly: the rate must be one that it can exceed.
    few = {"INTERPOSE_SERVER_LIMITS_ANONYMOUS_PER_SECOND": "4"}
    with ServerProcess(home, **few, INTERPOSE_APPROVALS_PROOF="token") as server:
        yield server


def as_stranger(work: Callable[[], Any]) -> Any:
    """What the other user gets: in a child process that has nothing of ours but its memory."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
            os.write(writing, json.dumps(work()).encode())
        except BaseException as error:
            os.write(writing, json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        answer = told.read()
    os.waitpid(child, 0)
    return json.loads(answer)


def post(port: int, path: str, body: Any, **headers: str) -> dict[str, Any]:
    """A request over loopback TCP without a token."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        named = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request("POST", path, json.dumps(body), named)
        answer = connection.getresponse()
        return {"status": answer.status, "body": json.loads(answer.read()), "retry": answer.getheader("Retry-After")}
    finally:
        connection.close()


def event(command: str, *, session: str = "s", cwd: str = "", result: Any = None, who: str = "ann") -> dict[str, Any]:
    payload: dict[str, Any] = {"name": "Bash", "arguments": {"command": command}}
    if result is not None:
        payload["result"] = result
    return {
        "event": "tools/call", "phase": "request" if result is None else "response", "payload": payload,
        "context": {"sessionId": session, "agentId": "claude", "principal": {"id": who}},
        "config": {"working_directory": cwd},
    }  # fmt: skip


def intercept(server: ServerProcess, body: dict[str, Any]) -> dict[str, Any]:
    """As the other user."""
    found: dict[str, Any] = as_stranger(lambda: post(server.port, "/api/v1/intercept", body))
    assert "failed" not in found, found
    return found


def records(server: ServerProcess) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.ask("GET", "/api/v1/audit").body["records"]
    return found


def test_the_published_example_works_as_it_stands(server: ServerProcess) -> None:
    body = {
        "event": "tools/call",
        "phase": "request",
        "payload": {"name": "Bash", "arguments": {"command": "rm -rf /"}},
    }
    found = intercept(server, body)
    assert (found["status"], found["body"]["valid"], found["body"]["severity"]) == (200, False, "error")
    assert intercept(server, body | {"payload": {"name": "Bash", "arguments": {"command": "ls"}}})["body"]["valid"]


SECRETS: list[tuple[str, str]] = [
    ("keys of YAML", "hunter2_of_the_bank: 0123\n"),
    ("the first line of /etc/shadow", "root:$6$hunter2$0123456789:19000:0:99999:7:::\n"),
    ("a key twice", "hunter2: 1\nhunter2: 2\n"),
    ("a rule with a secret for its id", "version: 1\nrules:\n  - {id: hunter2, when: '1 +'}\n"),
]


@pytest.mark.parametrize("text", [case[1] for case in SECRETS], ids=[case[0] for case in SECRETS])
def test_it_reads_no_file_of_the_server_through_a_link(server: ServerProcess, tmp_path: Path, text: str) -> None:
    secret = server.home / "secret.yaml"
    secret.write_text(text)
    secret.chmod(0o600)
    project = strangers_project(link=secret)
    found = intercept(server, event("ls", cwd=str(project)))
    assert "hunter2" not in json.dumps(found)
    # Nor does the owner, who works there, get it told, or lose more than that project.
    named = server.ask("POST", "/api/v1/intercept", event("ls", session="mine", cwd=str(project))).body
    assert "hunter2" not in json.dumps(named)
    assert not named["valid"]
    assert "hunter2" not in json.dumps(server.ask("GET", "/api/v1/policy").body)
    assert "hunter2" not in (server.home / "stderr").read_text()


def strangers_project(*, link: Path | None = None, text: str = "") -> Path:
    """A directory that the other user made, in a place that both can reach."""
    project = Path(tempfile.mkdtemp(prefix="stranger", dir="/tmp"))
    atexit.register(shutil.rmtree, project, ignore_errors=True)
    (project / ".interpose").mkdir()
    file = project / ".interpose" / "policy.yaml"
    if link is not None:
        file.symlink_to(link)
    else:
        file.write_text(text)
    for each in (project, project / ".interpose", file):
        os.chown(each, STRANGER, STRANGER, follow_symlinks=False)
    project.chmod(0o755)
    return project


def test_broken_rules_of_a_project_are_told_without_their_content(server: ServerProcess, tmp_path: Path) -> None:
    file = tmp_path / "project" / ".interpose" / "policy.yaml"
    file.parent.mkdir(parents=True)
    for _note, text in SECRETS:
        file.write_text(text)
        file.chmod(0o600)
        said = server.ask("POST", "/api/v1/intercept", event("ls", cwd=str(tmp_path / "project"))).body
        assert not said["valid"]
        assert "hunter2" not in json.dumps(said)
        assert "interpose policy lint" in said["messages"][0]["message"]


def test_it_binds_nobodys_session_to_its_rules(server: ServerProcess) -> None:
    project = strangers_project(text=DENY_ALL)
    assert intercept(server, event("ls", session="mine", cwd=str(project)))["status"] == 200
    assert server.intercept("ls", session="mine")["valid"]


def test_a_file_that_it_puts_where_everybody_may_write_binds_nobody(server: ServerProcess, tmp_path: Path) -> None:
    shared = Path("/tmp") / f"shared-{os.getpid()}"
    shared.mkdir()
    try:
        shared.chmod(0o1777)

        def put() -> str:
            (shared / ".interpose").mkdir()
            (shared / ".interpose" / "policy.yaml").write_text(DENY_ALL)
            return "done"

        assert as_stranger(put) == "done"
        work = shared / "work"
        work.mkdir()
        assert server.ask("POST", "/api/v1/intercept", event("ls", cwd=str(work))).body["valid"]
        # The owner's own file in the same place does.
        (work / ".interpose").mkdir()
        (work / ".interpose" / "policy.yaml").write_text(DENY_ALL)
        (work / "below").mkdir()
        assert not server.ask("POST", "/api/v1/intercept", event("ls", cwd=str(work / "below"))).body["valid"]
    finally:
        shutil.rmtree(shared)


def test_it_uses_up_nobodys_grant(server: ServerProcess) -> None:
    asked = server.intercept(ASKED)
    id = asked["info"]["approval_id"]
    assert server.ask("POST", f"/api/v1/approvals/{id}/approve", {}).status == 200
    body = event(ASKED, cwd="/home/dev/project", who="tester")
    for who in ({"type": "agent", "id": "tester"}, {"id": "agent:tester via operator"}, {"id": "operator"}):
        body["context"]["principal"] = who
        assert not intercept(server, body)["body"]["valid"]
    assert server.intercept(ASKED)["valid"]


def test_it_asks_no_person(server: ServerProcess) -> None:
    found = intercept(server, event(ASKED))["body"]
    assert (found["valid"], found["info"]["decision"]) == (False, "ask")
    assert "approval_id" not in found["info"]
    assert server.ask("GET", "/api/v1/approvals").body["approvals"] == []


def test_it_does_not_fill_the_queue_or_keep_others_from_asking(server: ServerProcess) -> None:
    def flood() -> list[dict[str, Any]]:
        """What is refused of as much as it can ask."""
        bodies = (event(f"{ASKED}-{number}", session=f"s{number}") for number in range(400))
        answers = [post(server.port, "/api/v1/intercept", body) for body in bodies]
        return [answer for answer in answers if answer["status"] != 200]

    refused, *_ = as_stranger(flood)
    assert (refused["status"], refused["body"]["error"], refused["retry"]) == (429, "too_many_requests", "1")
    assert "token" in refused["body"]["message"]
    assert server.ask("GET", "/api/v1/approvals").body["approvals"] == []
    assert server.intercept(ASKED)["info"]["approval_id"]
    assert server.intercept("ls")["valid"]


def test_its_results_join_nothing(server: ServerProcess) -> None:
    assert server.intercept("ls", session="mine")["valid"]
    forged = event("ls", session="mine", cwd="/home/dev/project", result={"content": "forged"}, who="tester")
    forged["context"]["principal"]["type"] = "agent"
    assert intercept(server, forged)["status"] == 200
    (mine,) = [each for each in records(server) if each["session"] == "mine"]
    assert (mine["outcome"], "forged" in json.dumps(mine)) == ("unknown", False)


@pytest.mark.parametrize("claim", ["operator", "ann via operator", "user:root", "anonymous"])
def test_it_speaks_for_nobody(server: ServerProcess, claim: str) -> None:
    name = f"speak{abs(hash(claim))}"
    body = event(f"ls {name}", session="mine", who=claim)
    assert intercept(server, body)["status"] == 200
    found = as_stranger(
        lambda: post(
            server.port, "/api/v1/cli/validate",
            {"command": "ls", "arguments": [name], "client_info": {"username": claim}}, X_Interpose_Client_ID=claim,
        )
    )  # fmt: skip
    assert found["status"] == 200
    found = as_stranger(
        lambda: post(
            server.port, "/api/v1/action/validate",
            {"target": "exec", "parameters": {"command": f"ls {name}"}, "actor": claim},
        )
    )  # fmt: skip
    assert found["status"] == 200
    mine = [each for each in records(server) if name in json.dumps(each["arguments"])]
    assert len(mine) == 3
    assert {each["principal"] for each in mine} == {"anonymous"}
    assert {each["session"] + each["agent"] + each["claimed"] for each in mine} == {""}


STATE = [
    ("GET", "/api/v1/approvals"), ("GET", "/api/v1/grants"), ("GET", "/api/v1/sessions"), ("GET", "/api/v1/policy"),
    ("GET", "/metrics"), ("POST", "/api/v1/reload"), ("POST", "/api/v1/policy/reload"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), STATE, ids=[path for _, path in STATE])
def test_what_has_state_asks_for_a_token(server: ServerProcess, method: str, path: str) -> None:
    def ask() -> int:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        try:
            connection.request(method, path)
            return connection.getresponse().status
        finally:
            connection.close()

    assert as_stranger(ask) == 401


@pytest.mark.parametrize("name", ["api.sock", "hook.sock"])
def test_the_unix_sockets_are_not_for_it_even_if_it_can_open_them(server: ServerProcess, name: str) -> None:
    runtime = Path(clean_environment(server.home)["XDG_RUNTIME_DIR"])
    path = runtime / "interpose" / name
    opened = [runtime, runtime / "interpose", path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for each in opened:
        each.chmod(0o777)

    def ask() -> str:
        with socket.socket(socket.AF_UNIX) as connected:
            connected.settimeout(PATIENCE)
            connected.connect(str(path))
            route = "/hook/claude-code" if name == "hook.sock" else "/api/v1/intercept"
            body = b"{}"
            connected.sendall(
                f"POST {route} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
                "Content-Type: application/json\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            return connected.recv(4096).decode()

    try:
        said = as_stranger(ask)
    finally:
        for each in opened:
            each.chmod(0o700)
    assert said.startswith("HTTP/1.1 403 ")
    assert "forbidden_user" in said
    assert str(STRANGER) in said


def test_the_port_for_hooks_asks_for_the_token_that_only_its_owner_can_read(server: ServerProcess) -> None:
    runtime = Path(clean_environment(server.home)["XDG_RUNTIME_DIR"]) / "interpose"
    address = runtime / "hook.addr"
    assert stat.S_IMODE(address.stat().st_mode) == 0o600
    port = int(address.read_text().split()[0])
    assert as_stranger(lambda: post(port, "/hook/claude-code", {}))["status"] == 401
    assert "PermissionError" in as_stranger(address.read_text)["failed"]


def test_its_connections_leave_the_owners_socket_open(home: Path) -> None:
    with ServerProcess(home, INTERPOSE_SERVER_LIMITS_MAX_CONNECTIONS="64") as server:
        path = Path(clean_environment(home)["XDG_RUNTIME_DIR"]) / "interpose" / "api.sock"
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(80)]
        try:
            for one in held:
                try:
                    one.sendall(b"POST /api/v1/intercept HTTP/1.1\r\nHost:")  # never whole, so never idle
                except OSError:
                    pass  # this one found no room
            with socket.socket(socket.AF_UNIX) as connected:
                connected.settimeout(PATIENCE)
                connected.connect(str(path))
                connected.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert connected.recv(4096).startswith(b"HTTP/1.1 200 ")
        finally:
            for one in held:
                one.close()


def test_an_operator_may_open_the_port_and_is_warned(home: Path) -> None:
    with ServerProcess(home, INTERPOSE_SERVER_LOOPBACK="open") as server:
        assert "every user of this machine can act as any other" in (home / "stderr").read_text()
        found = intercept(server, event(ASKED))["body"]
        assert found["info"]["approval_id"]
    with ServerProcess(home, INTERPOSE_SERVER_LOOPBACK="closed") as server:
        assert intercept(server, event("ls"))["status"] == 401
