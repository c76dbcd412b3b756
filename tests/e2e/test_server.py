"""The decision server as a process: stopped, reloaded and killed under load, alone and three over one PostgreSQL."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import ServerProcess, clean_environment
from tests.support.servers.postgres import Server as Postgres
from tests.support.timing.patience import PATIENCE

ASKED = "git push --force origin feature"
"""Honest work that a person should see first."""
RULE = """version: 1
rules:
  - id: no-tea
    when: command.exists(one, one.name == "tea")
    action: deny
    message: No tea here.
"""


def test_a_newcomer_gets_the_published_answers(tmp_path: Path) -> None:
    with ServerProcess(tmp_path, INTERPOSE_INTERCEPT_IDENTITY="maybe-dont") as server:
        allowed, denied = server.intercept("gh pr create --title x"), server.intercept("rm -rf /")
    assert list(allowed) == ["interceptor", "type", "phase", "valid", "severity", "messages", "durationMs", "info"]
    assert list(allowed["info"]) == ["request_id", "server_version", "results"]
    assert (allowed["interceptor"], allowed["valid"], allowed["severity"]) == ("maybe-dont", True, "info")
    assert (denied["valid"], denied["severity"]) == (False, "error")


def test_a_stop_answers_every_request_that_was_accepted(tmp_path: Path) -> None:
    answered: list[Any] = []
    with ServerProcess(tmp_path) as server:
        connections = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        body = b'{"event":"tools/call","phase":"request","payload":{"name":"Bash","arguments":{"command":"ls"}}}'
        head = (
            b"POST /api/v1/intercept HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n" % server.port
        )
        for connection in connections:
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        server.signal(signal.SIGTERM)
        for connection in connections:
            connection.settimeout(PATIENCE)
            answered.append(connection.recv(65536))
            connection.close()
        assert server.child.wait(PATIENCE) == 0
    assert all(answer.startswith(b"HTTP/1.1 200") for answer in answered)
    with ServerProcess(tmp_path) as server:
        assert len(server.ask("GET", "/api/v1/audit?limit=100").body["records"]) == 20


def test_what_was_answered_is_recorded_although_the_server_is_killed(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server, ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda number: server.intercept(f"echo {number}", session="k"), range(200)))
        server.signal(signal.SIGKILL)
        server.child.wait(PATIENCE)
    assert all(answer["valid"] for answer in said)
    with ServerProcess(tmp_path) as server:
        found = server.ask("GET", "/api/v1/audit?session=k&limit=500").body["records"]
    assert {one["arguments"]["command"] for one in found} == {f"echo {number}" for number in range(200)}


def test_rules_and_configuration_are_reloaded_by_signal_and_by_the_api(tmp_path: Path) -> None:
    rules = tmp_path / ".config" / "interpose" / "policy" / "tea.yaml"
    settings = tmp_path / ".config" / "interpose" / "interpose.yaml"
    with ServerProcess(tmp_path) as server:
        assert server.intercept("tea --strong")["valid"]
        rules.parent.mkdir(parents=True, exist_ok=True)
        rules.write_text(RULE)
        done = server.ask("POST", "/api/v1/reload").body
        assert (done["changed"], done["problems"]) == (True, [])
        assert not server.intercept("tea --strong")["valid"]

        settings.write_text("intercept:\n  enabled: false\n")
        server.signal(signal.SIGHUP)
        until(lambda: server.intercept("ls").get("error") == "intercept_disabled")

        settings.write_text("intercept:\n  enabld: true\n")
        said = server.ask("POST", "/api/v1/reload")
        done = said.body
        assert (said.status, done["error"], done["changed"]) == (409, "not_reloaded", False)
        assert "interpose.yaml:2: intercept.enabld" in done["problems"][0]
        assert server.intercept("ls")["error"] == "intercept_disabled"

        settings.write_text("server:\n  port: 1\n")
        assert server.ask("POST", "/api/v1/reload").body["restart"] == []  # the flag --port stands above the file
        assert server.intercept("ls")["valid"]


def test_reloads_under_load_lose_nothing(tmp_path: Path) -> None:
    rules = tmp_path / ".config" / "interpose" / "policy" / "tea.yaml"
    rules.parent.mkdir(parents=True)
    stop = threading.Event()
    refused: list[Any] = []

    def load(number: int) -> int:
        count = 0
        while not stop.is_set():
            answer = server.intercept(f"cat notes/{number}.txt")
            if not answer.get("valid"):
                refused.append(answer)
            count += 1
        return count

    with ServerProcess(tmp_path) as server, ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(load, number) for number in range(4)]
        for turn in range(10):
            rules.write_text(RULE + f"# {turn}\n" if turn % 3 else "version: 1\nrules: [")
            server.signal(signal.SIGHUP)
            server.ask("POST", "/api/v1/reload")
        stop.set()
        assert min(one.result() for one in asking) > 0
    assert refused == []


@pytest.fixture(scope="module")
def postgres() -> Any:
    with Postgres() as server:
        yield server


def test_three_servers_share_approvals_and_grants_while_one_is_killed(tmp_path: Path, postgres: Postgres) -> None:
    url = postgres.new_database()
    key = tmp_path / "one"
    shared = {
        "INTERPOSE_STORE_URL": url,
        "INTERPOSE_APPROVALS_PROOF": "token",
        "INTERPOSE_APPROVALS_KEY": str(key / "approvals.key"),
    }
    with ServerProcess(key, **shared) as one:
        share_keys(key, tmp_path / "two", tmp_path / "three")
        with (
            ServerProcess(tmp_path / "two", **shared) as two,
            ServerProcess(tmp_path / "three", **shared) as three,
            ThreadPoolExecutor(16) as pool,
        ):
            asked = one.intercept(ASKED)
            question = asked["info"]["approval_id"]
            assert (asked["valid"], asked["info"]["decision"]) == (False, "ask")
            assert two.intercept(ASKED)["info"]["approval_id"] == question

            waiting = pool.submit(two.intercept, ASKED, Prefer="wait=30")
            one.signal(signal.SIGKILL)
            answer = three.ask("POST", f"/api/v1/approvals/{question}/approve", {"scope": "uses", "uses": 3})
            assert answer.status == 200, answer.body
            assert waiting.result(PATIENCE)["valid"]

            left = list(pool.map(lambda number: (two, three)[number % 2].intercept(ASKED)["valid"], range(16)))
            assert left.count(True) == 2, "three uses, and one of them was waited for"
            assert three.ask("GET", "/api/v1/grants").body["grants"] == []

            found = two.ask("GET", "/api/v1/audit?limit=100").body["records"]
            assert sum(record["decision"] == "allow" for record in found) == 3
            assert {record["approver"] for record in found if record["decision"] == "allow"} != {""}


def share_keys(home: Path, *others: Path) -> None:
    """Machines that share a store have the same keys."""
    ledger = Path(".local") / "state" / "interpose" / "ledger"
    for other in others:
        (other / ledger).mkdir(parents=True, mode=0o700)
        for file in (home / ledger).glob("*key*"):
            (other / ledger / file.name).write_bytes(file.read_bytes())
            (other / ledger / file.name).chmod(0o600)


def until(holds: Any) -> None:
    """Ask again until it holds: signals come when they come."""
    for _ in range(500):
        if holds():
            return
    raise AssertionError("it never held")


def test_a_port_for_hooks_that_is_taken_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = tmp_path / ".config" / "interpose" / "interpose.yaml"
        settings.parent.mkdir(parents=True, mode=0o700)
        settings.write_text(f"hooks: {{port: {port}}}\n")
        done = subprocess.run(
            [sys.executable, "-m", "interpose", "serve", "--port", "0"], env=clean_environment(tmp_path), cwd=tmp_path,
            capture_output=True, text=True, check=False, timeout=PATIENCE,
        )  # fmt: skip
    assert done.returncode == 69, done.stderr
    assert f"hooks.port: 127.0.0.1:{port}: can't listen here" in done.stderr
    assert "0 for any free one" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reload_takes_over_all_or_nothing(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        token = server.token
        config = tmp_path / ".config" / "interpose" / "interpose.yaml"
        config.write_text("intercept: {enabled: false}\n")
        config.chmod(0o600)
        tokens = config.with_name("tokens")
        good = tokens.read_text()
        tokens.write_text(f"{good}broken line\n")
        said = server.ask("POST", "/api/v1/reload")
        done = said.body
        assert (said.status, done["error"], done["changed"]) == (409, "not_reloaded", False), "a script would go on"
        assert "tokens:" in done["problems"][0]
        assert "tokens:" in done["message"]
        assert server.intercept("ls")["valid"]  # the configuration was right, and was not taken either
        tokens.write_text(good)
        assert server.ask("POST", "/api/v1/reload").body["changed"]
        assert server.intercept("ls")["error"] == "intercept_disabled"
        assert server.token == token
