"""A real hook that waits, a person at a real terminal, and a server that nobody started but the hook."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import time

import pytest

from tests.e2e.processes import ServerProcess
from tests.e2e.terminals import Terminal, interpose
from tests.support.hosts.hooked import Hooks, event_of, until
from tests.support.timing.patience import PATIENCE
from tests.support.timing.waiting import ASKED, put

SETTINGS = "hooks: {deadline: 20, wait: {all: %d}}\n"
LONG = 290
"""Seconds, less than a question is open. What a test does meanwhile takes long on a busy machine."""


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Hooks]:
    made = Hooks(tmp_path, settings=SETTINGS % LONG)
    yield made
    if made.address.exists():
        os.kill(int(made.address.read_text().split()[1]), signal.SIGKILL)


def _calls(shell: Terminal, hooks: Hooks, name: str) -> Path:
    """An agent's shell runs the hook about a call; what it says goes into a file, its end into another."""
    return _run(shell, hooks, name, ASKED)


def _run(shell: Terminal, hooks: Hooks, name: str, command: str) -> Path:
    event, out = hooks.home / f"{name}.event", hooks.home / f"{name}.out"
    event.write_bytes(event_of(command, tool_use_id=name))
    shell.type(f"sh -c '{hooks.bash} <{event} >{out} 2>{out}.err; echo $? >{out}.code'\n")
    return out


def _done(out: Path) -> dict[str, object]:
    code = out.with_name(f"{out.name}.code")
    until(lambda: code.exists() and bool(code.read_text()))
    assert code.read_text() == "0\n"
    text = out.read_text()
    return dict(json.loads(text)["hookSpecificOutput"]) if text else {}


def _question(person: Terminal) -> str:
    while True:
        code, shown = person.run(*interpose("approvals", "list", "--json"))
        start = shown.find("{")
        if code == 0 and start >= 0 and (found := json.loads(shown[start : shown.rindex("}") + 1])["approvals"]):
            return str(found[0]["id"])


def test_the_hook_starts_a_server_waits_and_goes_on_when_the_person_says_yes(hooks: Hooks) -> None:
    with Terminal(hooks.environment, hooks.home) as person, Terminal(hooks.environment, hooks.home) as agent:
        out = _calls(agent, hooks, "t1")
        id = _question(person)
        assert not out.with_name("t1.out.code").exists()
        code, shown = person.run(*interpose("approvals", "approve", id))
        assert (code, "APPROVED" in shown) == (0, True), shown
        assert _done(out) == {}
        assert f"interpose approvals approve {id}" in out.with_name("t1.out.err").read_text()


def test_a_yes_that_comes_late_lets_the_same_call_through_once(tmp_path: Path, hooks: Hooks) -> None:
    settings = tmp_path / ".config" / "interpose" / "interpose.yaml"
    settings.write_text(SETTINGS % 1)  # the server waits no longer than this, whatever the client could
    with Terminal(hooks.environment, hooks.home) as person, Terminal(hooks.environment, hooks.home) as agent:
        first = _done(_calls(agent, hooks, "t1"))
        assert first["permissionDecision"] == "deny"
        id = _question(person)
        assert f"The question waits as {id}" in str(first["permissionDecisionReason"])
        assert person.run(*interpose("approvals", "approve", id))[0] == 0
        assert _done(_calls(agent, hooks, "t2")) == {}
        third = _done(_calls(agent, hooks, "t3"))
        assert third["permissionDecision"] == "deny"
        assert _question(person) != id


def test_the_agent_that_waits_does_not_answer_itself(hooks: Hooks) -> None:
    """What it could start while its hook waits has no say."""
    with Terminal(hooks.environment, hooks.home) as person, Terminal(hooks.environment, hooks.home) as agent:
        out = _calls(agent, hooks, "t1")
        id = _question(person)
        event = hooks.home / "other.event"
        event.write_bytes(event_of("ls"))
        tries = f"sh -c '{hooks.bash} <{event} >/dev/null; {' '.join(interpose('approvals', 'approve', id))}'"
        with Terminal(hooks.environment, hooks.home) as other:
            code, shown = other.run(tries)
        assert code != 0, shown
        assert not out.with_name("t1.out.code").exists()
        assert person.run(*interpose("approvals", "deny", id))[0] == 0
        assert _done(out)["permissionDecision"] == "deny"


def shown_in_the_agent(hooks: Hooks) -> str:
    """What a status line says, which the host runs each second."""
    told = json.dumps({"session_id": "s1"}).encode()
    done = subprocess.run([str(hooks.line)], check=True, capture_output=True, input=told, timeout=PATIENCE)
    return done.stdout.decode()


@pytest.mark.parametrize("ends", ["answered", "killed"])
def test_the_question_is_shown_while_its_hook_waits_and_stays_open_after(hooks: Hooks, ends: str) -> None:
    with Terminal(hooks.environment, hooks.home) as person, Terminal(hooks.environment, hooks.home) as agent:
        assert _done(_run(agent, hooks, "t0", "ls")) == {}
        assert shown_in_the_agent(hooks) == "", "a call without a question says nothing"
        out = _calls(agent, hooks, "t1")
        id = _question(person)
        until(lambda: f"s left: Interpose asks {id} (git-push-force): Overwrites" in shown_in_the_agent(hooks))
        shown = shown_in_the_agent(hooks)
        assert f"interpose approvals approve {id}" in shown
        over = time() + int(shown.partition(" s left")[0]) - 5
        if ends == "killed":
            agent.type("\x03")
        else:
            assert person.run(*interpose("approvals", "approve", id))[0] == 0
            assert _done(out) == {}
        until(lambda: shown_in_the_agent(hooks) == "")
        assert time() < over, "it is gone with its hook, and not when its time is up"
        if ends == "killed":
            assert person.run(*interpose("approvals", "approve", id))[0] == 0
            assert _done(_calls(agent, hooks, "t2")) == {}
            _calls(agent, hooks, "t3")
            assert _question(person) != id, "a late approval counts once"


@pytest.mark.parametrize(
    ("note", "settings", "seconds"),
    [
        ("only this machine's person can answer", "", 30),
        ("somebody is told elsewhere", "approvals: {webhook: {url: 'http://127.0.0.1:1/x'}}\n", 240),
        ("the user said how long", "hooks: {wait: {claude-code: 77}}\n", 77),
    ],
)
def test_how_long_a_hook_waits_by_itself(tmp_path: Path, note: str, settings: str, seconds: int) -> None:
    hooks = Hooks(tmp_path, settings=settings or "{}")
    with ServerProcess(tmp_path):
        connection = put(hooks, event_of(ASKED, permission_mode="auto"), 240)
        head = connection.recv(65536).decode()
        connection.close()
    assert head.startswith("HTTP/1.1 102 "), head
    assert f"X-Interpose-Wait: {seconds}\r\n" in head, note
