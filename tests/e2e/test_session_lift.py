"""An agent that tries to let its own halted session go on, against a real server, real terminals and the defaults."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interpose.record.store import open_store
from tests.e2e.processes import ServerProcess, clean_environment
from tests.e2e.terminals import interpose
from tests.e2e.trying_agents import agent_in, alarms, database, terminal, wait_for, ways_to_run
from tests.support.governance.governed import kept, session_of
from tests.support.timing.patience import PATIENCE


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path) as started:
        put(started)
        yield started


def put(server: ServerProcess) -> None:
    """A governed session in the server's store."""
    store = open_store(database(server))
    try:
        kept(store, session_of("s-12"))
    finally:
        store.close()


def shown(server: ServerProcess) -> dict[str, Any]:
    found = server.ask("GET", "/api/v1/sessions/s-12/governance")
    assert found.status == 200, found.body
    body: dict[str, Any] = found.body
    return body


def halted(server: ServerProcess) -> None:
    said = server.ask("POST", "/api/v1/sessions/s-12/halt", {"reason": "it deletes too much"})
    assert (said.status, said.body["state"]) == (200, "halted")


def test_a_person_halts_and_lifts_at_their_own_terminal(server: ServerProcess) -> None:
    with terminal(server) as own:
        code, text = own.run(*interpose("session", "halt", "s-12", "--reason", "'too much'"))
        assert (code, "HALTED" in text) == (0, True), text
        assert shown(server)["halt"]["reason"] == "too much"
        code, text = own.run(*interpose("session", "list", "--since", "3650d", "--state", "halted"))
        assert (code, "too much" in text) == (0, True), text
        code, text = own.run(*interpose("session", "lift", "s-12", "--comment", "fine"))
        assert (code, "ACTIVE" in text) == (0, True), text
    assert shown(server)["state"] == "active"
    lines = (server.home / ".local" / "state" / "interpose" / "governance.log").read_text().splitlines()
    assert [line.split()[1] for line in lines] == ["halt", "lift"]


def test_an_agent_lifts_nothing_whatever_it_does(server: ServerProcess) -> None:
    halted(server)
    with terminal(server) as own, terminal(server) as other:
        agent_in(other, server)
        ways = ways_to_run(server.home, " ".join(interpose("session", "lift", "s-12")))
        for note, line in ways.items():
            other.type(line + "\n")
            text = other.until("code:")
            assert other.until(":") == "1", (note, text)
            assert shown(server)["state"] == "halted", note
        # The person, at another terminal that is older than the agent, may.
        code, text = own.run(*interpose("session", "lift", "s-12"))
        assert (code, "ACTIVE" in text) == (0, True), text


def test_a_token_alone_and_a_process_without_a_terminal_lift_nothing(server: ServerProcess) -> None:
    halted(server)
    refused = server.ask("POST", "/api/v1/sessions/s-12/lift", {})
    assert (refused.status, refused.body["error"]) == (403, "not_proven")
    assert "interpose governance session lift s-12" in refused.body["message"]
    done = subprocess.run(
        interpose("session", "lift", "s-12"), env=clean_environment(server.home), capture_output=True, text=True,
        start_new_session=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "has no terminal" in done.stderr) == (1, True), done.stderr
    assert shown(server)["state"] == "halted"


TAMPERING = {
    "its row is changed": """UPDATE sessions SET body = CAST(replace(CAST(body AS TEXT), '"halt":{', '"x":{') AS BLOB)
                             WHERE session = 'gov:s-12'""",
    "its row is taken away": "DELETE FROM sessions WHERE session = 'gov:s-12'",
}


@pytest.mark.parametrize("restarted", [False, True], ids=["the server runs", "the server is started again"])
@pytest.mark.parametrize("how", [*TAMPERING, "an older row is put in its place"])
def test_what_is_done_to_the_store_lifts_nothing(tmp_path: Path, how: str, restarted: bool) -> None:
    with ServerProcess(tmp_path) as server:
        put(server)
        with sqlite3.connect(database(server)) as store:
            (before,) = store.execute("SELECT body FROM sessions WHERE session = 'gov:s-12'").fetchone()
        store.close()
        halted(server)
        if not restarted:
            tamper(server, how, before)
            assert still_halted(server, how)
            return
        server.signal(signal.SIGTERM)
        assert server.child.wait(PATIENCE) == 0
    tamper(server, how, before)
    with ServerProcess(tmp_path) as server:
        assert still_halted(server, how)


def tamper(server: ServerProcess, how: str, before: bytes) -> None:
    with sqlite3.connect(database(server)) as store:
        if how in TAMPERING:
            store.execute(TAMPERING[how])
        else:
            store.execute("UPDATE sessions SET body = ? WHERE session = 'gov:s-12'", (before,))
    store.close()


def still_halted(server: ServerProcess, how: str) -> bool:
    if how == "its row is changed":  # it is no session any more, and that is said
        return server.ask("GET", "/api/v1/sessions/s-12/governance").status == 503
    wait_for(lambda: shown(server)["state"] == "halted" and "alarm: session 's-12' was halted" in alarms(server))
    return True


def test_without_a_server_one_is_started_and_believes_nobody(tmp_path: Path) -> None:
    with ServerProcess(tmp_path) as server:
        put(server)
        halted(server)
    environment = clean_environment(tmp_path)
    try:
        done = subprocess.run(
            interpose("session", "lift", "s-12"), env=environment, capture_output=True, text=True,
            start_new_session=True, check=False,
        )  # fmt: skip
        assert (done.returncode, "this answer does not count" in done.stderr) == (1, True), done.stderr
        done = subprocess.run(
            interpose("session", "show", "s-12", "--json"), env=environment, capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout)["state"] == "halted"
    finally:
        lock = Path(environment["XDG_RUNTIME_DIR"]) / "interpose" / "start.lock"
        if lock.is_file() and (pid := lock.read_text().strip()):
            os.kill(int(pid), signal.SIGTERM)
