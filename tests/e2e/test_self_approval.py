"""An agent that tries to approve itself, against a real server, real terminals and the default configuration."""

from __future__ import annotations

import http.client
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import time_ns

import pytest

from tests.e2e.mcp_over_http import SDK
from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import PYTHON, Terminal, interpose
from tests.e2e.trying_agents import (
    agent_in,
    alarms,
    database,
    disguise,
    orphan,
    supervise,
    terminal,
    wait_for,
    ways_to_run,
)  # fmt: skip
from tests.support.timing.patience import PATIENCE

ASKED = "git push --force origin feature"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    settings = tmp_path / ".config" / "interpose" / "interpose.yaml"
    settings.parent.mkdir(parents=True, mode=0o700)
    settings.write_text("approvals:\n  ask: queue\n")
    with ServerProcess(tmp_path) as started:
        yield started


def asked(server: ServerProcess, session: str = "s") -> str:
    """The question about a call that waits."""
    answer = server.intercept(ASKED, session=session)
    assert not answer["valid"], answer
    (question,) = server.ask("GET", "/api/v1/approvals").body["approvals"]
    return str(question["id"])


def runs(server: ServerProcess, session: str = "s") -> bool:
    return bool(server.intercept(ASKED, session=session)["valid"])


def test_a_person_approves_at_their_own_terminal(server: ServerProcess) -> None:
    with terminal(server) as own:
        id = asked(server)
        code, shown = own.run(*interpose("approvals", "approve", id))
        assert code == 0, shown
        assert "APPROVED" in shown
    assert runs(server)
    assert not runs(server)


def test_an_agent_does_not_approve_whatever_it_does(server: ServerProcess) -> None:
    with terminal(server) as own, terminal(server) as other:
        agent_in(other, server)
        id = asked(server)
        ways = ways_to_run(server.home, " ".join(interpose("approvals", "approve", id)))
        for note, line in ways.items():
            other.type(line + "\n")
            shown = other.until("code:")
            assert other.until(":") == "1", (note, shown)
        assert [one["state"] for one in server.ask("GET", "/api/v1/approvals").body["approvals"]] == ["waiting"]
        assert not runs(server)
        # The person, at another terminal that is older than the agent, may.
        code, shown = own.run(*interpose("approvals", "approve", id))
        assert (code, "APPROVED" in shown) == (0, True), shown
    assert runs(server)


ASKER = """\
import http.client, json, os, sys
JSON = {"Content-Type": "application/json"}
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
body = {"event": "tools/call", "phase": "request", "payload": {"name": "Bash", "arguments": {"command": sys.argv[2]}},
        "context": {"sessionId": "http"}}
connection.request("POST", "/api/v1/intercept", json.dumps(body), {headers})
said = json.loads(connection.getresponse().read())
assert not said["valid"], said
print("as" + "ked", flush=True)
id = sys.stdin.readline().strip()
code = os.waitstatus_to_exitcode(os.system(sys.argv[3].replace("ID", id)))
print("co" + "de:%d:" % code, flush=True)
"""


APPROVES = "script -qec '" + " ".join(interpose("approvals", "approve", "ID")) + "' /dev/null"


def only_the_person_approves(server: ServerProcess, own: Terminal, other: Terminal) -> None:
    """A program in the other terminal asked, and is told the question's id."""
    other.until("asked")
    (question,) = server.ask("GET", "/api/v1/approvals").body["approvals"]
    other.type(question["id"] + "\n")
    shown = other.until("code:")
    assert other.until(":") == "1", shown
    assert "an agent that asks here" in shown
    code, shown = own.run(*interpose("approvals", "approve", question["id"]))
    assert (code, "APPROVED" in shown) == (0, True), shown


def test_a_program_that_asks_over_http_does_not_approve(server: ServerProcess) -> None:
    """No hook asks for it: the kernel's tables say which process does."""
    program = server.home / "asker.py"
    program.write_text(ASKER.replace("{headers}", f"{{'Authorization': 'Bearer {server.token}', **JSON}}"))
    with terminal(server) as own, terminal(server) as other:
        other.type(f'{PYTHON} {program} {server.port} "{ASKED}" "{APPROVES}"\n')
        only_the_person_approves(server, own, other)


GATEWAY_ASKER = """\
import http.client, json, os, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | {headers}
def send(method, params, **more):
    body = {"jsonrpc": "2.0", "method": method, "params": params} | more
    connection.request("POST", "/mcp", json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.headers, answer.read().decode()
greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "asker", "version": "1"}}
told, _ = send("initialize", greeting, id=1)
headers |= {"Mcp-Session-Id": told["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-06-18"}
send("notifications/initialized", {})
_, said = send("tools/call", {"name": "toy__run_command", "arguments": {"command": sys.argv[2]}}, id=2)
print("as" + "ked", said[:300], flush=True)
id = sys.stdin.readline().strip()
code = os.waitstatus_to_exitcode(os.system(sys.argv[3].replace("ID", id)))
print("co" + "de:%d:" % code, flush=True)
"""


def test_a_client_of_a_gateway_over_http_does_not_approve(server: ServerProcess) -> None:
    """A person started the gateway, and decisions are its own: it tells the server who came to it."""
    settings = server.home / ".config" / "interpose" / "interpose.yaml"
    toy = {"command": sys.executable, "args": [SDK, "both"]}
    settings.write_text(json.dumps({"approvals": {"ask": "queue"}, "gateway": {"servers": {"toy": toy}, "wait": 0}}))
    program = server.home / "asker.py"
    program.write_text(GATEWAY_ASKER.replace("{headers}", f"{{'Authorization': 'Bearer {server.token}'}}"))
    with terminal(server) as own, terminal(server) as serving, terminal(server) as other:
        serving.type(" ".join(interpose("gateway", "--http", "--port", "0")) + "\n")
        serving.until("http://127.0.0.1:")
        port = int(serving.until("/"))
        other.type(f'{PYTHON} {program} {port} "{ASKED}" "{APPROVES}"\n')
        only_the_person_approves(server, own, other)


def test_an_orphan_that_a_subreaper_adopted_does_not_approve(server: ServerProcess) -> None:
    """A container's init or a supervisor of a person: its terminals are a person's, what it adopts is not."""
    with terminal(server) as own, terminal(server) as other:
        supervise(other, server.home)
        agent_in(other, server)
        id = asked(server)
        command = " ".join(interpose("approvals", "approve", id))
        for note, line in {
            "systemd": disguise(server.home, "systemd", command),
            "script": orphan("", command, "o"),
        }.items():
            other.type(line + "\n")
            shown = other.until("code:")
            assert other.until(":") == "1", (note, shown)
        code, shown = own.run(*interpose("approvals", "approve", id))
        assert (code, "APPROVED" in shown) == (0, True), shown
    assert runs(server)


OBEYS = """\
import os, pathlib, pty, sys, time
orders = pathlib.Path(sys.argv[1])
print("obe" + "ying", flush=True)
while not orders.exists():
    time.sleep(0.05)
pid = 0
if sys.argv[2] == "window":
    pid, master = pty.fork()
    if pid:
        try:
            while os.read(master, 65536):
                pass
        except OSError:
            pass
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
if not pid:
    code = os.waitstatus_to_exitcode(os.system(orders.read_text() + f" >{orders}.out 2>&1"))
    if sys.argv[2] == "window":
        os._exit(code)
pathlib.Path(f"{orders}.code").write_text(str(code))
"""


@pytest.mark.parametrize(
    ("kind", "around"), [("watcher", ""), ("window", "setsid ")], ids=["a watcher of files", "a terminal program"]
)
def test_an_older_program_that_runs_what_it_is_told_does_not_approve(
    server: ServerProcess, kind: str, around: str
) -> None:
    """`nodemon`, `pytest-watch`, `gnome-terminal -- COMMAND`, `swaymsg exec`: a person started it, and no agent."""
    program, orders = server.home / "obeys.py", server.home / "orders"
    program.write_text(OBEYS)
    with terminal(server) as own, terminal(server) as theirs, terminal(server) as other:
        theirs.type(f"{around}{PYTHON} {program} {orders} {kind}\n")
        theirs.until("obeying")
        agent_in(other, server)
        id = asked(server)
        draft = orders.with_suffix(".new")
        draft.write_text(f"exec {' '.join(interpose('approvals', 'approve', id))}")
        draft.rename(orders)
        wait_for(orders.with_suffix(".code").exists)
        shown = orders.with_suffix(".out").read_text()
        assert (orders.with_suffix(".code").read_text(), "not by keys" in shown) == ("1", True), shown
        code, shown = own.run(*interpose("approvals", "approve", id))
        assert (code, "APPROVED" in shown) == (0, True), shown
    assert runs(server)


def test_a_token_alone_does_not_approve_from_this_machine(server: ServerProcess) -> None:
    id = asked(server)
    refused = server.ask("POST", f"/api/v1/approvals/{id}/approve", {})
    assert (refused.status, refused.body["error"]) == (403, "not_proven")
    assert "interpose approvals approve" in refused.body["message"]
    assert not runs(server)


def test_a_process_without_a_terminal_does_not_approve(server: ServerProcess) -> None:
    id = asked(server)
    done = subprocess.run(
        interpose("approvals", "approve", id), env=clean_environment(server.home), capture_output=True, text=True,
        start_new_session=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "has no terminal" in done.stderr) == (1, True), done.stderr
    assert not runs(server)


def test_a_row_of_somebody_else_grants_nothing_and_is_an_alarm(server: ServerProcess) -> None:
    with terminal(server) as own:
        id = asked(server)
        assert own.run(*interpose("approvals", "approve", id))[0] == 0
        assert runs(server)
        with sqlite3.connect(database(server)) as store:
            (subject, ends, created, body) = store.execute(
                "SELECT subject, expires_ns, created_ns, body FROM grants WHERE id = ?", (id,)
            ).fetchone()
            rows = [("forged01", subject, 9, ends, created, b"{}"), ("forged02", subject, 9, ends, created, body)]
            store.executemany("INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?)", rows)
        store.close()
        assert not runs(server)
        wait_for(lambda: "alarm: grant forged01" in alarms(server) and "alarm: grant forged02" in alarms(server))
        code, shown = own.run(*interpose("grants", "list"))
        assert (code, shown.count("INVALID")) == (0, 2), shown
        for words in (("status",), ("doctor",), ("audit", "verify")):
            code, shown = own.run(*interpose(*words))
            assert shown.count("INVALID") == 2, (words, shown)
            assert (code == 0) == (words == ("status",)), (words, code)
        assert "interpose_grant_alarms_total 2.0" in metrics(server)


def metrics(server: ServerProcess) -> str:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)) as connection:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {server.token}"})
        return connection.getresponse().read().decode()


def test_an_answer_of_somebody_else_is_no_yes_and_an_alarm(server: ServerProcess) -> None:
    id = asked(server)
    with sqlite3.connect(database(server)) as store:
        said = json.dumps({"approved": True, "by": "operator", "at": "2026-01-01T00:00:00Z", "scope": {"kind": "once"}})
        store.execute(
            "UPDATE approvals SET answer = ?, approver = 'operator', answered_ns = ? WHERE id = ?",
            (said, time_ns(), id),
        )
    store.close()
    assert not runs(server)
    wait_for(lambda: f"the answer to question {id} in the store is INVALID" in alarms(server))


def test_a_question_that_was_changed_in_the_store_can_not_be_approved(server: ServerProcess) -> None:
    """What is shown is what was asked about: else a person would say yes to another call than they see."""
    with terminal(server) as own:
        id = asked(server)
        with sqlite3.connect(database(server)) as store:
            store.execute(
                "UPDATE approvals SET body = replace(body, 'push --force', 'status       ') WHERE id = ?", (id,)
            )
        store.close()
        code, shown = own.run(*interpose("approvals", "approve", id))
        assert (code, "no question" in shown) == (1, True), shown


@pytest.mark.parametrize("restarted", [False, True], ids=["the server runs", "the server is started again"])
@pytest.mark.parametrize("how", ["an older copy of the database", "uses set by SQL"])
def test_a_store_that_is_set_back_gives_no_use_back(tmp_path: Path, how: str, restarted: bool) -> None:
    settings = tmp_path / ".config" / "interpose" / "interpose.yaml"
    settings.parent.mkdir(parents=True, mode=0o700)
    settings.write_text("approvals:\n  ask: queue\n")
    copy = tmp_path / "copy.db"
    with ServerProcess(tmp_path) as server:
        with terminal(server) as own:
            id = asked(server)
            assert own.run(*interpose("approvals", "approve", id, "--uses", "2"))[0] == 0
        backup(database(server), copy)
        assert [runs(server) for _ in range(3)] == [True, True, False]
        if not restarted:
            set_back(server, copy, id, how)
            assert not runs(server)
            wait_for(lambda: "more uses left than there are" in alarms(server))
            return
    set_back(server, copy, id, how)
    with ServerProcess(tmp_path) as server:
        assert not runs(server)
        wait_for(lambda: "more uses left than there are" in alarms(server))


def set_back(server: ServerProcess, copy: Path, id: str, how: str) -> None:
    if how == "uses set by SQL":
        with sqlite3.connect(database(server)) as store:
            store.execute("UPDATE grants SET uses = 2 WHERE id = ?", (id,))
        store.close()
    else:
        backup(copy, database(server))


def backup(from_file: Path, to_file: Path) -> None:
    """As `sqlite3 FILE .backup`, and `.restore` the other way round."""
    with sqlite3.connect(from_file) as source, sqlite3.connect(to_file) as target:
        source.backup(target)
    source.close()
    target.close()


def test_a_grant_that_was_revoked_stays_revoked_when_the_store_is_set_back(server: ServerProcess) -> None:
    copy = server.home / "copy.db"
    with terminal(server) as own:
        id = asked(server)
        assert own.run(*interpose("approvals", "approve", id, "--session"))[0] == 0
        assert runs(server)
        backup(database(server), copy)
        assert own.run(*interpose("grants", "revoke", id))[0] == 0
        assert not runs(server)
        backup(copy, database(server))
        assert not runs(server)
        wait_for(lambda: "was revoked" in alarms(server))


def test_hooks_and_run_without_a_server_honour_no_grant(tmp_path: Path) -> None:
    settings = tmp_path / ".config" / "interpose" / "interpose.yaml"
    settings.parent.mkdir(parents=True, mode=0o700)
    settings.write_text("approvals:\n  ask: queue\n")
    environment = clean_environment(tmp_path)
    line = ["git", "push", "--force", "origin", "feature"]
    program = shutil.which("true") or "/bin/true"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(program)
    environment["PATH"] = f"{tmp_path / 'bin'}:{environment['PATH']}"

    def run() -> tuple[int, str]:
        """In a terminal of a person: a program that runs it would be an agent."""
        with Terminal(environment, tmp_path) as own:
            return own.run(*interpose("run", "--", *line), "</dev/null")

    with ServerProcess(tmp_path) as server:
        assert run()[0] != 0
        (question,) = server.ask("GET", "/api/v1/approvals").body["approvals"]
        with terminal(server) as own:
            assert own.run(*interpose("approvals", "approve", question["id"], "--until", "2h"))[0] == 0
        assert run()[0] == 0
    code, shown = run()
    assert code != 0
    assert "no server runs" in shown
