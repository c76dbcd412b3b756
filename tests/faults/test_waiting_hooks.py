"""Hooks that wait for a person: what the person says, what becomes of server and hook meanwhile, and what it costs."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import ServerProcess
from tests.faults.test_hooks import _end_server
from tests.support.hosts.hooked import Hooks, event_of, until
from tests.support.timing.patience import PATIENCE
from tests.support.timing.waiting import ASKED, SETTINGS, answer, ended, heard, put, question, questions, said, started

WAYS = ["bash", "python", "program"]
MANY = 200


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Hooks]:
    made = Hooks(tmp_path, settings=SETTINGS % 120)
    yield made
    _end_server(made)


@pytest.fixture
def server(hooks: Hooks) -> Iterator[ServerProcess]:
    with ServerProcess(hooks.home) as made:
        yield made


@pytest.mark.parametrize("way", WAYS)
def test_a_yes_lets_it_go_on_and_meanwhile_it_says_where_to_answer(
    hooks: Hooks, server: ServerProcess, way: str
) -> None:
    hook = started(hooks, way, event_of(ASKED))
    id = question(server)
    assert hook.poll() is None
    answer(server, id)
    done = ended(hook)
    assert said(done) == {}, done
    assert f"interpose approvals approve {id} (or: interpose approvals watch)" in done.stderr
    assert questions(server) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_no_is_a_refusal(hooks: Hooks, server: ServerProcess, way: str) -> None:
    hook = started(hooks, way, event_of(ASKED))
    answer(server, question(server), "deny", reason="not on a Friday")
    told = said(ended(hook))
    assert told["permissionDecision"] == "deny"
    assert "not on a Friday" in told["permissionDecisionReason"]


@pytest.mark.parametrize("way", WAYS)
def test_the_server_dies_and_the_call_is_refused(hooks: Hooks, server: ServerProcess, way: str) -> None:
    hook = started(hooks, way, event_of(ASKED))
    question(server)
    server.child.kill()
    told = said(ended(hook))
    assert told["permissionDecision"] == "deny", told
    assert "Nobody can be asked now" in told["permissionDecisionReason"]


def test_the_server_stops_and_nobody_waits_for_it(hooks: Hooks, server: ServerProcess) -> None:
    """It lets its hooks go, and the question can be answered at the next one."""
    hook = started(hooks, "bash", event_of(ASKED))
    id = question(server)
    server.signal(signal.SIGTERM)
    told = said(ended(hook))
    assert told["permissionDecision"] == "deny"
    assert f"The question waits as {id}" in told["permissionDecisionReason"]
    server.child.wait(PATIENCE)
    with ServerProcess(hooks.home) as other:
        assert [one["id"] for one in questions(other)] == [id]
        answer(other, id)
        assert said(hooks.run("bash", event_of(ASKED))) == {}


@pytest.mark.parametrize("way", WAYS)
def test_an_edited_call_is_what_goes_on(hooks: Hooks, server: ServerProcess, way: str) -> None:
    hook = started(hooks, way, event_of(ASKED))
    answer(server, question(server), arguments={"command": "git push origin feature"})
    told = said(ended(hook))
    assert told["permissionDecision"] == "allow"
    assert told["updatedInput"] == {"command": "git push origin feature"}


def test_an_edit_is_shown_where_the_host_runs_only_what_it_has(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, "kiro", settings=SETTINGS % 120)
    event = {"hook_event_name": "preToolUse", "cwd": "/home/dev/proj", "session_id": "s1", "tool_name": "execute_bash"}
    with ServerProcess(tmp_path) as server:
        hook = started(hooks, "bash", json.dumps(event | {"tool_input": {"command": ASKED}}).encode())
        answer(server, question(server), arguments={"command": "git push origin feature"})
        done = ended(hook)
        assert done.code == 2
        assert "make this one instead: git push origin feature" in done.stderr
        edited = json.dumps(event | {"tool_input": {"command": "git push origin feature"}}).encode()
        assert ended(started(hooks, "bash", edited)).code == 0


def test_two_hooks_for_one_call_have_one_question_and_one_answer(hooks: Hooks, server: ServerProcess) -> None:
    """As where the settings of a user and of a project both name our hook."""
    both = [started(hooks, way, event_of(ASKED)) for way in ("bash", "python")]
    id = question(server)
    for hook in both:  # each says where to answer when it waits; one that came later would be a question of its own
        assert hook.stderr is not None
        assert id.encode() in hook.stderr.readline()
    third = put(hooks, event_of(ASKED), 100)
    assert third.recv(13) == b"HTTP/1.1 102 "
    answer(server, id)
    assert [said(ended(hook)) for hook in both] == [{}, {}]
    assert b"HTTP/1.1 200 OK" in heard(third)
    assert questions(server) == []


def test_two_equal_calls_are_two_questions(hooks: Hooks, server: ServerProcess) -> None:
    """The host names them, so one yes is for one of them."""
    both = [started(hooks, "bash", event_of(ASKED, tool_use_id=name)) for name in ("t1", "t2")]
    id = question(server)
    answer(server, id)
    other = question(server, but=(id,))
    until(lambda: any(hook.poll() is not None for hook in both))
    assert sorted(hook.poll() is None for hook in both) == [False, True]
    answer(server, other, "deny")
    told = sorted(said(ended(hook)).get("permissionDecision", "") for hook in both)
    assert told == ["", "deny"]


def test_calls_that_their_host_does_not_name_are_never_taken_for_one(hooks: Hooks, server: ServerProcess) -> None:
    """Kiro names none. Two of its calls that look the same are two calls, and one yes lets one of them run."""
    event = {"hook_event_name": "preToolUse", "cwd": "/home/dev/proj", "session_id": "s1", "tool_name": "execute_bash"}
    told = json.dumps(event | {"tool_input": {"command": ASKED}}).encode()
    both = [put(hooks, told, 100, "kiro") for _ in range(2)]
    assert {connection.recv(13) for connection in both} == {b"HTTP/1.1 102 "}
    id = question(server)
    answer(server, id)
    answer(server, question(server, but=(id,)), "deny")
    codes = sorted(b"X-Interpose-Exit: 2" in heard(connection) for connection in both)
    assert codes == [False, True]


@pytest.mark.parametrize("way", WAYS)
def test_a_hook_that_was_killed_uses_up_no_answer(hooks: Hooks, server: ServerProcess, way: str) -> None:
    hook = started(hooks, way, event_of(ASKED))
    id = question(server)
    hook.kill()
    hook.communicate()
    until(lambda: "hook.sock" not in _connections(server, hooks))
    answer(server, id)
    assert said(hooks.run("bash", event_of(ASKED, tool_use_id="t2"))) == {}


def _connections(server: ServerProcess, hooks: Hooks) -> str:
    """Those of hooks that the server holds, by their places; the one that listens is none."""
    lines = Path(f"/proc/{server.child.pid}/net/unix").read_text().splitlines()
    held = [line for line in lines if line.endswith(str(hooks.socket)) and line.split()[5] == "03"]
    port = hooks.address.read_text().split()[0]
    there = f":{int(port):04X} "
    tcp = Path(f"/proc/{server.child.pid}/net/tcp").read_text().splitlines()
    held += [f"{line} hook.sock" for line in tcp if there in line and line.split()[3] == "01"]
    return "\n".join(held)


def test_when_time_is_up_it_is_refused_and_a_later_yes_counts_once(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, settings=SETTINGS % 1)
    with ServerProcess(tmp_path) as server:
        told = said(ended(started(hooks, "bash", event_of(ASKED))))
        (waiting,) = questions(server)
        assert told["permissionDecision"] == "deny"
        assert f"The question waits as {waiting['id']}" in told["permissionDecisionReason"]
        answer(server, waiting["id"])
        assert said(hooks.run("bash", event_of(ASKED, tool_use_id="t2"))) == {}
        assert questions(server) == []
        told = said(hooks.run("bash", event_of(ASKED, tool_use_id="t3")))
        assert told["permissionDecision"] == "deny"
        assert len(questions(server)) == 1


def test_who_can_not_wait_is_refused_at_once(hooks: Hooks, server: ServerProcess) -> None:
    """A client of an older version does not say that it can."""
    told = heard(put(hooks, event_of(ASKED), 0))
    assert told.startswith(b"HTTP/1.1 200 OK")
    assert b"The question waits as" in told
    assert len(questions(server)) == 1


def test_many_wait_and_cost_no_worker(hooks: Hooks, server: ServerProcess) -> None:
    """Two hundred hooks wait at once. The server has no threads for them, and answers others and each of them."""
    for number in range(8):  # whatever it starts for deciding and asking is there
        heard(put(hooks, event_of(f"git push --force origin warm-{number}", session_id="warm"), 0))
    before = _threads(server)
    waiting = [
        put(hooks, event_of(f"{ASKED}-{number}", session_id=f"s{number % 10}", tool_use_id=f"t{number}"), 100)
        for number in range(MANY)
    ]
    try:
        assert {connection.recv(13) for connection in waiting} == {b"HTTP/1.1 102 "}
        assert _threads(server) - before < MANY // 4  # those of short visits to the store, and one that looks for all
        for number in range(20):
            assert b'"deny"' in heard(put(hooks, event_of("rm -rf /", tool_use_id=f"o{number}"), 0))
            assert said(hooks.run("python", event_of("git status"))) == {}
        found = {one["arguments"]["command"]: one["id"] for one in questions(server)}
        assert len(found) == MANY + 8
        for number in (0, 77, MANY - 1):
            answer(server, found[f"{ASKED}-{number}"])
            assert b"HTTP/1.1 200 OK" in heard(waiting[number])
    finally:
        for connection in waiting:
            connection.close()
    until(lambda: "hook.sock" not in _connections(server, hooks))


def _threads(server: ServerProcess) -> int:
    return len([*Path(f"/proc/{server.child.pid}/task").iterdir()])


def test_long_events_wait_outside_the_threads_that_read_them(hooks: Hooks, server: ServerProcess) -> None:
    """There are two such threads. Five long calls wait, and a sixth is answered."""
    long = "x" * 8000
    waiting = [
        put(hooks, event_of(f"{ASKED} # {long}", session_id=f"l{number}", tool_use_id=f"t{number}"), 100)
        for number in range(5)
    ]
    try:
        assert {connection.recv(13) for connection in waiting} == {b"HTTP/1.1 102 "}
        told = heard(put(hooks, event_of(f"ls # {long}", session_id="other"), 100))
        assert told.startswith(b"HTTP/1.1 200 OK")
        (last,) = [one for one in questions(server) if one["session"] == "l4"]
        answer(server, last["id"])
        assert b"HTTP/1.1 200 OK" in heard(waiting[4])
    finally:
        for connection in waiting[:4]:
            connection.close()


def test_who_answers_later_lets_the_hook_go(hooks: Hooks, server: ServerProcess) -> None:
    hook = started(hooks, "bash", event_of(ASKED))
    answer(server, question(server), "defer", comment="after lunch")
    told = said(ended(hook))
    assert told["permissionDecision"] == "deny"
    assert "after lunch" in told["permissionDecisionReason"]
    assert len(questions(server)) == 1


PROMPT = {"event": "permission.asked", "session": "s1", "cwd": "/home/dev/proj", "tool": "bash", "call": "c1"}


def prompt(hooks: Hooks, command: str, **more: str) -> socket.socket:
    """OpenCode says that it asks its own person."""
    event = PROMPT | {"arguments": {"command": command}} | more
    return put(hooks, json.dumps(event).encode(), 100, "opencode")


def body(connection: socket.socket) -> dict[str, object]:
    told: dict[str, object] = json.loads(heard(connection).rpartition(b"\r\n\r\n")[2])
    return told


def test_a_prompt_of_the_host_is_answered_by_a_person_at_the_desk(hooks: Hooks, server: ServerProcess) -> None:
    asked = prompt(hooks, "make release")
    answer(server, question(server))
    assert body(asked) == {"decision": "allow", "agreed": True}
    refused = prompt(hooks, "make other")
    answer(server, question(server), "deny", reason="not now")
    told = body(refused)
    assert told["decision"] == "deny"
    assert "not now" in str(told["reason"])
    edited = prompt(hooks, "make third")
    answer(server, question(server), arguments={"command": "make -n third"})
    told = body(edited)
    assert told["decision"] == "deny"
    assert "make -n third" in str(told["reason"])


def test_what_is_no_persons_word_leaves_the_prompt_as_it_is(hooks: Hooks, server: ServerProcess) -> None:
    """A pause answers what we ask. What the host asks by its own settings it does not."""
    paused = server.ask("POST", "/api/v1/pause", {"minutes": 10, "reason": "moving files"})
    assert paused.status in (200, 201), paused
    assert body(prompt(hooks, "make release")) == {"decision": "allow"}
    assert body(prompt(hooks, "rm -rf /"))["decision"] == "deny"
    assert questions(server) == []


def test_a_prompt_is_its_own_persons_where_nobody_said_queue(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, settings=(SETTINGS % 120).replace("queue", "host"))
    with ServerProcess(tmp_path) as server:
        assert body(prompt(hooks, "make release")) == {"decision": "allow"}
        assert questions(server) == []


def test_a_yes_is_told_to_a_host_with_prompts_of_its_own(hooks: Hooks, server: ServerProcess) -> None:
    asked = prompt(hooks, ASKED, event="tool.execute.before")
    answer(server, question(server))
    assert body(asked) == {"decision": "allow", "agreed": True}
    assert body(prompt(hooks, "ls", event="tool.execute.before")) == {"decision": "allow"}


LOOKED_AT = """version: 1
rules:
  - id: look-at-it
    on: {tools: [exec], point: tool.after}
    when: result.text.contains("LOOK")
    action: ask
    message: Somebody has to see this first.
"""


def test_a_result_waits_for_its_person_too(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, settings=SETTINGS % 120)
    rules = tmp_path / ".config" / "interpose" / "policy" / "rules.yaml"
    rules.parent.mkdir()
    rules.write_text(LOOKED_AT)
    shape = {"stdout": "LOOK here", "stderr": "", "interrupted": False, "isImage": False}
    result = event_of("cat notes", hook_event_name="PostToolUse", tool_response=shape)
    with ServerProcess(tmp_path) as server:
        shown = started(hooks, "bash", result)
        answer(server, question(server))
        assert said(ended(shown)) == {}
        withheld = started(hooks, "bash", result.replace(b"LOOK here", b"LOOK there"))
        answer(server, question(server), "deny")
        assert "LOOK there" not in json.dumps(said(ended(withheld)))
