"""The flow of one event: nothing is let through by accident, and what is decided and what came of it are one record."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.core.driving import drive
from interpose.doors.hooks.hosts.all_hosts import HOSTS, host_named, speaking
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.doors.hooks.hosts.events import Host, Reply
from interpose.doors.hooks.hosts.host_sessions import HookSession, heard
from tests.support.servers.hosting import Scripted, answered, asks, events_of, refuses, shell_event
from tests.support.servers.servers import service_in

WIPE = "rm -rf /"  # only ever analysed

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def _gates() -> list[tuple[str, dict[str, Any]]]:
    """Every event of the fixtures that decides about a call and can be understood."""
    return [
        (name, raw)
        for name in HOSTS
        for case, raw in events_of(name)
        if case.get("verdict") == "deny" and HOSTS[name].read(raw).point == "tool.before"
    ]


GATES = _gates()


def test_every_host_has_a_gate() -> None:
    assert {name for name, _ in GATES} == set(HOSTS)


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
@settings(max_examples=40, deadline=None)
@given(body=st.binary(max_size=60) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_garbage_is_refused(host: Host, body: bytes) -> None:
    assert refuses(host, answered(Scripted(), host, body))


@pytest.mark.parametrize(("name", "raw"), GATES, ids=[name for name, _ in GATES])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_damaged_event_is_let_through(name: str, raw: dict[str, Any], data: st.DataObject) -> None:
    """Fields that are gone or have other types: the verdict is a refusal, or the event is refused as unreadable."""
    key = data.draw(st.sampled_from(sorted(raw)))
    names = {"hook_event_name", "hookEventName", "hookName", "agent_action_name", "event", "cursor_version"}
    value = data.draw(JSON_VALUES if key not in names else JSON_VALUES.filter(lambda value: not isinstance(value, str)))
    damaged = raw | {key: value} if data.draw(st.booleans()) else {k: v for k, v in raw.items() if k != key}
    service = Scripted()
    service.verdict = "deny"
    if key == "cursor_version" and key not in damaged:
        return  # it says that Cursor speaks
    reply = answered(service, HOSTS[name], json.dumps(damaged).encode())
    assert refuses(HOSTS[name], reply)


@pytest.mark.parametrize(("name", "raw"), GATES, ids=[name for name, _ in GATES])
@pytest.mark.parametrize("verdict", ["deny", "ask", "rewrite", "error"])
def test_what_is_not_allowed_never_runs_as_it_came(name: str, raw: dict[str, Any], verdict: str) -> None:
    """A question is put to a person or refused; a rewrite carries other arguments or is refused."""
    service = Scripted(ask="queue")
    service.verdict = verdict
    host = speaking(raw, HOSTS[name])
    reply = answered(service, HOSTS[name], json.dumps(raw).encode())
    if verdict == "rewrite" and not refuses(host, reply):
        assert b"echo safe" in reply.stdout
        assert host.read(raw).name in host.facts.rewrites
    else:
        assert refuses(host, reply)


def test_text_that_readers_understand_differently_is_refused() -> None:
    twice = b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls","command":"id"}}'
    reply = answered(Scripted(), HOSTS["claude-code"], twice)
    assert (reply.exit_code, "stands twice" in reply.stderr) == (2, True)


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b'"' + b"x" * 1_000_000 + b'"'])
def test_depth_and_length_are_no_way_around(body: bytes) -> None:
    assert refuses(HOSTS["claude-code"], answered(Scripted(), HOSTS["claude-code"], body))


def test_a_name_can_hide_nothing_on_standard_error() -> None:
    raw = {"hook_event_name": "x\x1b[2J\r\nok", "tool_input": {}}
    reply = answered(Scripted(), HOSTS["claude-code"], json.dumps(raw).encode())
    assert reply.stderr.isprintable()


def test_cancellation_is_not_an_answer() -> None:
    service = Scripted()

    def cancelled(_context: object) -> None:
        raise asyncio.CancelledError

    service.policies = cast("Any", SimpleNamespace(engine=cancelled))
    with pytest.raises(asyncio.CancelledError):
        drive(answer(cast("Any", service), HOSTS["claude-code"], _claude("PreToolUse")))


def _claude(event: str, **fields: Any) -> bytes:
    base = {"hook_event_name": event, "session_id": "s", "cwd": "/w", "tool_name": "Bash", "permission_mode": "default"}
    return json.dumps(base | {"tool_input": {"command": "ls"}, "tool_use_id": "t1"} | fields).encode()


def _log(service: Scripted) -> list[tuple[str, str, bool]]:
    """What was recorded: which half, of which call, and whether the call was denied."""
    return [
        (word, what.payload.call_id, False) if word == "decided" else (word, what.call.call_id, what.denied)
        for word, what in service.recorder.log
    ]


@pytest.mark.parametrize("verdict", ["allow", "deny", "warn"])
@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_prompt_that_is_a_command_is_judged_as_one_and_once(host: str, verdict: str) -> None:
    service = Scripted()
    service.verdict = verdict
    answered(service, HOSTS[host], _claude("UserPromptSubmit", prompt="/review 12"))
    assert service.commands == [("review", "12")]
    answered(service, HOSTS[host], _claude("UserPromptSubmit", prompt="/etc/passwd is a file"))
    assert service.commands == [("review", "12")]


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_command_that_is_refused_is_refused_although_the_message_is_fine(host: str) -> None:
    service = Scripted()
    service.verdict = "command"
    assert refuses_message(answered(service, HOSTS[host], _claude("UserPromptSubmit", prompt="/review 12")))
    assert not refuses_message(answered(service, HOSTS[host], _claude("UserPromptSubmit", prompt="review 12")))


def refuses_message(reply: Reply) -> bool:
    return bool(reply.stdout) and json.loads(reply.stdout).get("decision") == "block"


def test_a_host_that_tells_of_its_commands_is_believed_there_alone() -> None:
    """A text of OpenCode that begins with a slash is what its command says, and not the command."""
    service, host = Scripted(), HOSTS["opencode"]
    event = {"session": "s", "cwd": "/w"}
    answered(
        service, host, json.dumps(event | {"event": "command.execute.before", "command": "a", "arguments": ""}).encode()
    )
    assert service.commands == [("a", "")]
    assert host.facts.commands == ("command.execute.before",)


def test_a_message_is_judged_as_one_besides_the_command_in_it() -> None:
    """A command that is fine says nothing about the message that it came in."""
    service, seen = Scripted(), list[str]()
    service.verdict = "rewrite"  # what the script does to messages only
    reply = answered(service, HOSTS["codex"], _claude("UserPromptSubmit", prompt="/review 12"))
    seen.append(reply.stdout.decode())
    assert service.commands == [("review", "12")]
    assert "safe words" in seen[0]


def test_both_halves_are_one_record() -> None:
    service, host = Scripted(), HOSTS["claude-code"]
    answered(service, host, _claude("PreToolUse"))
    answered(service, host, _claude("PostToolUse", tool_response={"stdout": "a"}))
    (first, call_id, _), (second, same, denied) = _log(service)
    assert (first, second, call_id == same, denied) == ("decided", "finished", True, False)


def test_halves_of_a_host_without_call_ids_are_found_by_what_ran() -> None:
    service, host = Scripted(), HOSTS["gemini-cli"]
    base = {"session_id": "s", "cwd": "/w", "tool_name": "run_shell_command", "tool_input": {"command": "ls"}}
    answered(service, host, json.dumps(base | {"hook_event_name": "BeforeTool"}).encode())
    done = base | {"hook_event_name": "AfterTool", "tool_response": {"llmContent": "a"}}
    answered(service, host, json.dumps(done).encode())
    assert len({call_id for _, call_id, _ in _log(service)}) == 1


def test_an_outcome_that_nobody_decided_is_recorded_as_such() -> None:
    service = Scripted()
    answered(service, HOSTS["claude-code"], _claude("PostToolUse", tool_response="a"))
    decided = service.recorder.log[0][1]
    assert [finding.rule for finding in decided.findings] == ["undecided"]


def test_a_rewrite_that_the_host_can_not_run_is_recorded_as_not_run() -> None:
    service = Scripted()
    service.verdict = "rewrite"
    answered(service, HOSTS["qwen-code"], _claude("PreToolUse", tool_name="run_shell_command"))
    assert [(word, denied) for word, _, denied in _log(service)] == [("decided", False), ("finished", True)]
    said = answered(
        service, HOSTS["qwen-code"], _claude("PostToolUse", tool_name="run_shell_command", tool_response="a")
    )
    assert [(word, denied) for word, _, denied in _log(service)][2:] == [("finished", False)], "it ran all the same"
    assert b"was refused and ran all the same" in said.stdout


def test_a_question_of_the_host_is_recorded_only_if_we_refuse() -> None:
    service = Scripted()
    answered(service, HOSTS["claude-code"], _claude("PermissionRequest"))
    assert not service.recorder.log
    service.verdict = "deny"
    answered(service, HOSTS["claude-code"], _claude("PermissionRequest"))
    assert [word for word, _, _ in _log(service)] == ["decided", "finished"]


def test_a_rewritten_call_that_needs_a_person_is_not_shown_as_it_came() -> None:
    """The host's prompt would show, and run, the original."""
    service = Scripted()
    service.verdict = "rewrite-ask"
    reply = answered(service, HOSTS["claude-code"], _claude("PreToolUse"))
    assert refuses(HOSTS["claude-code"], reply)
    assert b"echo safe" in reply.stdout


def test_sessions_are_remembered() -> None:
    service, host = Scripted(), HOSTS["claude-code"]
    for event in ("SessionStart", "SubagentStart", "PreCompact", "SubagentStart"):
        answered(service, host, _claude(event, agent_id="a"))
    (kept,) = heard(cast("Any", service.store))
    assert (kept.host, kept.session, kept.cwd, kept.agents, kept.ended_ns) == ("claude-code", "s", "/w", 2, 0)
    answered(service, host, _claude("SessionEnd"))
    (ended,) = heard(cast("Any", service.store))
    assert (ended.event, ended.ended_ns > 0, ended.started_ns) == ("SessionEnd", True, kept.started_ns)


def test_a_store_that_fails_stops_nobody() -> None:
    service = Scripted()

    def broken(_session: str) -> None:
        raise OSError("disk full")

    cast("Any", service.store).load_session = broken
    assert answered(service, HOSTS["claude-code"], _claude("SessionStart")) == Reply()


def test_what_others_keep_in_the_store_is_not_a_session_of_a_host() -> None:
    service = Scripted()
    service.store.save_session("another", b"{}", version=0, now_ns=1)
    assert heard(cast("Any", service.store)) == []
    assert HookSession(host="x").ended_ns == 0


@pytest.mark.parametrize(
    ("name", "want"),
    [("claude", "claude-code"), ("Claude_Code", "claude-code"), ("gemini", "gemini-cli"), ("vs-code", "vscode")],
)
def test_other_names_of_hosts(name: str, want: str) -> None:
    found = host_named(name)
    assert found is not None
    assert found.facts.name == want
    assert host_named("nobody") is None


@pytest.mark.parametrize(
    ("command", "cwd", "held"),
    [
        ("git status", "/home/dev/proj", False),
        (WIPE, "/home/dev/proj", True),
        ("interpose approvals approve K3M9QX2A", "/home/dev/proj", True),
        ("Remove-Item -Recurse -Force C:\\", "C:\\Users\\dev\\proj", True),
        ("if (Test-Path out) { Remove-Item -Recurse -Force C:\\Windows }", "C:\\Users\\dev\\proj", True),
        ("Get-ChildItem -Path .", "C:\\Users\\dev\\proj", False),
    ],
)
def test_every_host_gets_the_same_decision_of_a_real_service(
    command: str, cwd: str, held: bool, tmp_path: Path
) -> None:
    with service_in(tmp_path) as service:
        for name, host in HOSTS.items():
            event = shell_event(name, command, cwd)
            reply = drive(answer(service, host, json.dumps(event).encode()))
            assert (refuses(host, reply) or asks(reply)) is held, (name, reply)


TYPED_LATER = [
    ("a shell", "sh", True),
    ("an interpreter behind something honest", "npm test; python3", True),
    ("a client of a database", "psql shop", True),
    ("the tests of a project", "npm test", False),
    ("a shell that was told what to do", "bash -lc 'npm test'", False),
]


@pytest.mark.parametrize(("note", "command", "held"), TYPED_LATER, ids=[case[0] for case in TYPED_LATER])
def test_what_is_typed_later_is_a_question_where_no_hook_sees_it(
    note: str, command: str, held: bool, tmp_path: Path
) -> None:
    """Codex asks no hook about `write_stdin`, and does not show whether a command has a terminal."""
    with service_in(tmp_path) as service:
        for name, host in HOSTS.items():
            event = shell_event(name, command, "/home/dev/proj")
            reply = drive(answer(service, host, json.dumps(event).encode()))
            assert (refuses(host, reply) or asks(reply)) is (held and name == "codex"), (note, name, reply)
        waiting = [question.findings[0].rule for question in service.desk.asked()]
    assert waiting == (["unseen-input"] if held else [])


def test_the_hosts_that_do_not_see_what_is_typed_later() -> None:
    assert {name for name, host in HOSTS.items() if host.facts.unasked_input} == {"codex"}
