"""`hooks.ask: host` with real hooks and a real server: what is handed over, what counts as asked, and what ends it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import ServerProcess
from tests.e2e.terminals import Terminal, interpose
from tests.support.hosts.hooked import Hooks, event_of, until
from tests.support.timing.patience import PATIENCE
from tests.support.timing.waiting import ASKED, questions, said

SETTINGS = "hooks: {deadline: 8, idle_timeout: 20, wait: {all: 0}, ask: %s}\napprovals: {proof: %s}\n"
VERSION = {"AI_AGENT": "claude-code_2-1-327_harness"}
OTHER_VERSION = {"AI_AGENT": "claude-code_2-1-328_harness"}
RESULT = {"stdout": "pushed", "stderr": "", "interrupted": False, "isImage": False}


class Agent:
    """Claude Code, as far as its hooks see it."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks

    def wants(self, command: str, key: str, *, mode: str = "auto", version: Any = VERSION, **more: object) -> str:
        """What the host is told to do with a call."""
        body = event_of(command, tool_use_id=key, permission_mode=mode, **more)
        return str(said(self.hooks.run("bash", body, environment=version)).get("permissionDecision", "allow"))

    def asks(self, command: str, **more: object) -> None:
        """It shows its prompt: its event names no call, as that of 2.1.327."""
        event = json.loads(event_of(command, hook_event_name="PermissionRequest", permission_mode="auto", **more))
        if "tool_use_id" not in more:
            del event["tool_use_id"]
        assert self.hooks.run("bash", json.dumps(event).encode(), environment=VERSION).code == 0

    def ran(self, command: str, key: str, version: Any = VERSION) -> str:
        """The result as the model sees it."""
        event = event_of(command, hook_event_name="PostToolUse", tool_use_id=key, permission_mode="auto")
        body = json.dumps(json.loads(event) | {"tool_response": RESULT}).encode()
        told = said(self.hooks.run("bash", body, environment=version))
        return str(told.get("updatedToolOutput", RESULT)["stdout"])


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(Hooks(tmp_path, settings=SETTINGS % ("host", "token")))


@pytest.fixture
def server(agent: Agent) -> Iterator[ServerProcess]:
    with ServerProcess(agent.hooks.home) as made:
        yield made


def choose(server: ServerProcess) -> None:
    made = server.ask("POST", "/api/v1/operator/hand-overs", {"host": "claude-code"})
    assert made.status == 200, made


def record_of(server: ServerProcess, decision: str) -> dict[str, Any]:
    found = server.ask("GET", f"/api/v1/audit?decision={decision}&limit=1")
    assert found.status == 200, found
    record: dict[str, Any] = found.body["records"][0]
    return record


def test_nothing_is_handed_over_until_a_person_chooses_it(agent: Agent, server: ServerProcess) -> None:
    assert agent.wants(ASKED, "t1") == "deny"
    assert len(questions(server)) == 1
    choose(server)
    assert agent.wants("git push --force origin other", "t2") == "ask"
    assert len(questions(server)) == 1
    assert server.ask("DELETE", "/api/v1/operator/hand-overs/claude-code").status == 200
    assert agent.wants("git push --force origin third", "t3") == "deny"


def test_a_choice_alone_does_not_count(tmp_path: Path) -> None:
    agent = Agent(Hooks(tmp_path, settings=SETTINGS % ("queue", "token")))
    with ServerProcess(tmp_path) as server:
        choose(server)
        assert agent.wants(ASKED, "t1") == "deny"


KEPT_HERE = [
    ("a secret", "cat ~/.ssh/id_rsa", {}),
    ("what runs later by itself", "echo x >> ~/.bashrc", {}),
    ("what guards the agent", "git config core.hooksPath /tmp/none", {}),
    ("another mode that may run it", ASKED, {"mode": "bypassPermissions"}),
    ("a mode that is not known", ASKED, {"mode": "newest"}),
    ("a host of no known version", ASKED, {"version": {}}),
    ("a call without a name", ASKED, {"key": ""}),
]


@pytest.mark.parametrize(("note", "command", "more"), KEPT_HERE, ids=[case[0] for case in KEPT_HERE])
def test_what_is_never_handed_over(
    agent: Agent, server: ServerProcess, note: str, command: str, more: dict[str, Any]
) -> None:
    choose(server)
    key = more.pop("key", "t1")
    assert agent.wants(command, key, **more) == "deny", note
    assert len(questions(server)) == 1


def test_a_call_that_leaves_its_sandbox_is_asked_about_here(agent: Agent, server: ServerProcess) -> None:
    choose(server)
    told = {"command": "npm test", "dangerouslyDisableSandbox": True}
    assert agent.wants("npm test", "t1", tool_input=told) == "deny"
    assert questions(server)[0]["findings"][0]["rule"] == "leaves-sandbox"


@pytest.mark.parametrize("names", [False, True])
def test_what_the_host_asked_about_runs(agent: Agent, server: ServerProcess, names: bool) -> None:
    choose(server)
    assert agent.wants(ASKED, "t1") == "ask"
    agent.asks(ASKED, **({"tool_use_id": "t1"} if names else {}))
    assert agent.ran(ASKED, "t1") == "pushed"
    assert record_of(server, "ask")["approver"] == "host:claude-code"


def test_an_event_of_another_call_is_no_proof(agent: Agent, server: ServerProcess) -> None:
    choose(server)
    assert agent.wants(ASKED, "t1") == "ask"
    agent.asks(ASKED, tool_use_id="t2")
    agent.asks("git push --force origin other")
    agent.asks(ASKED, session_id="s2")
    assert "without asking its person" in agent.ran(ASKED, "t1")


def test_one_event_is_proof_for_one_call(agent: Agent, server: ServerProcess) -> None:
    """Two equal calls at once, and one prompt."""
    choose(server)
    assert [agent.wants(ASKED, key) for key in ("t1", "t2")] == ["ask", "ask"]
    agent.asks(ASKED)
    seen = [agent.ran(ASKED, key) for key in ("t1", "t2")]
    assert sorted("without asking" in one for one in seen) == [False, True]


def test_a_result_without_a_question_is_withheld_and_ends_it(agent: Agent, server: ServerProcess) -> None:
    choose(server)
    assert agent.wants(ASKED, "t1") == "ask"
    seen = agent.ran(ASKED, "t1")
    assert "pushed" not in seen
    assert "claude-code 2.1.327 in mode auto ran it without asking its person" in seen
    assert not record_of(server, "ask")["approver"]
    assert agent.wants("git push --force origin second", "t2") == "deny"
    assert agent.wants("git push --force origin third", "t3", version=OTHER_VERSION) == "ask"
    listed = server.ask("GET", "/api/v1/operator/hand-overs").body
    assert listed["ended"] == ["claude-code 2.1.327 auto"]
    choose(server)  # a person looked into it
    assert agent.wants("git push --force origin fourth", "t4") == "ask"


def test_all_of_it_survives_a_server_that_is_killed(agent: Agent, server: ServerProcess) -> None:
    choose(server)
    assert agent.wants(ASKED, "asked") == "ask"
    agent.asks(ASKED)
    assert agent.wants("git push --force origin second", "unasked") == "ask"
    server.child.kill()
    server.child.wait(PATIENCE)
    with ServerProcess(agent.hooks.home) as other:
        for number in range(20):
            agent.wants(f"ls {number}", f"other{number}")
        assert agent.ran(ASKED, "asked") == "pushed"
        assert "without asking" in agent.ran("git push --force origin second", "unasked")
        other.child.kill()
        other.child.wait(PATIENCE)
    with ServerProcess(agent.hooks.home):
        assert agent.wants("git push --force origin third", "t3") == "deny"


def test_a_person_chooses_it_at_a_terminal_and_an_agent_can_not(tmp_path: Path) -> None:
    agent = Agent(Hooks(tmp_path, settings=SETTINGS % ("host", "terminal")))
    hooks = agent.hooks
    with Terminal(hooks.environment, hooks.home) as person, Terminal(hooks.environment, hooks.home) as shell:
        event = hooks.home / "first.event"
        event.write_bytes(event_of("ls"))
        hand_over = " ".join(interpose("operator", "handover", "claude-code"))
        code, shown = shell.run(f"sh -c '{hooks.bash} <{event} >/dev/null; sleep 1; {hand_over}'")
        try:
            until(hooks.address.exists)
            code, shown = shell.run(f"sh -c '{hooks.bash} <{event} >/dev/null; {hand_over}'")
            assert code == 1, shown
            code, shown = person.run(hand_over)
            assert (code, "may ask ordinary questions" in shown) == (0, True), shown
            assert agent.wants(ASKED, "t1") == "ask"
        finally:
            os.kill(int(hooks.address.read_text().split()[1]), signal.SIGKILL)
