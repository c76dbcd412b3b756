"""What the installed clients take for an answer, what they do when there is none, and what they pass on."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from time import time

import pytest

from interpose.doors.hooks.clients.client_files import LONGEST
from interpose.doors.hooks.clients.fail_open_log import spool_of
from interpose.doors.hooks.clients.programs.socket_client import STALLED_SECONDS, stalled_file
from tests.support.hosts.hooked import PROOF, TOKEN, Hooks, StandIn, answer_bytes, event_of, saying
from tests.support.timing.patience import PATIENCE

PATIENT, HASTY = "hooks: {deadline: 120}", "hooks: {deadline: 10}"
"""For those who get an answer, and for those who get none. A busy machine is slow in both."""
DENY = b'{"permission":"deny"}\n\n'
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")


@pytest.fixture
def stand_in(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path)


@pytest.fixture
def hooks(tmp_path: Path, stand_in: StandIn) -> Hooks:
    return Hooks(tmp_path, python=str(stand_in.path), settings=PATIENT)


@pytest.fixture
def hasty(tmp_path: Path, stand_in: StandIn) -> Hooks:
    return Hooks(tmp_path, python=str(stand_in.path), settings=HASTY)


TAKEN_APART = b"$(x) `y` %s \\n \xff * \"'"

ANSWERS = [
    ("no objection", answer_bytes(), (b"", "", 0)),
    ("an answer to the byte", answer_bytes(DENY), (DENY, "", 0)),
    ("what a shell would take apart", answer_bytes(TAKEN_APART), (TAKEN_APART, "", 0)),
    ("a refusal with its line", answer_bytes(code="2", stderr="no%2C %25 %5Cn %C3%A4"), (b"", "no, % \\n ä\n", 2)),
    ("a long answer", answer_bytes(b"x" * 300_000), (b"x" * 300_000, "", 0)),
]


@pytest.mark.parametrize(("note", "reply", "want"), ANSWERS, ids=[case[0] for case in ANSWERS])
@pytest.mark.parametrize("way", ["bash", "old bash", "python"])
def test_an_answer_is_passed_on(
    way: str, note: str, reply: bytes, want: tuple[bytes, str, int], hooks: Hooks, stand_in: StandIn
) -> None:
    with saying(reply, hooks.socket if way == "python" else None) as (port, heard):
        hooks.point_to(port)
        done = hooks.run(way, event_of("ls"))
    assert (done.stdout, done.stderr, done.code) == want, note
    assert heard[0].endswith(event_of("ls"))
    assert not stand_in.words


BODIES = [
    ("nothing", b""),
    ("line ends", b"\n {} \r\n\n"),
    ("what a shell would take apart", b'{"a":"$(x) `y` %s \\\\n \\u0000 * \'"}'),
    ("more bytes than letters", "ä€😀".encode()),
    ("no text", bytes(range(1, 256))),
    ("as much as bash sends", b"x" * (LONGEST - 1)),
    ("more than bash sends", b"y" * LONGEST),
    ("much more", b"z" * 400_000 + b"\n"),
]


@pytest.mark.parametrize(("note", "body"), BODIES, ids=[case[0] for case in BODIES])
@pytest.mark.parametrize("way", ["bash", "old bash", "python"])
def test_an_event_is_passed_on_to_the_byte(way: str, note: str, body: bytes, hooks: Hooks, stand_in: StandIn) -> None:
    with saying(answer_bytes(), hooks.socket if way == "python" else None) as (port, heard):
        hooks.point_to(port)
        hooks.run(way, body, environment={"LC_ALL": "C.UTF-8"})
    got = heard[0].partition(b"\r\n\r\n")[2] if heard else stand_in.event
    assert got == body, note
    hooks.address.unlink()
    hooks.socket.unlink(missing_ok=True)
    assert hooks.run(way, body).stdout == b"decided"
    assert stand_in.event == body, note


NO_ANSWERS = [
    ("says nothing", None),
    ("hangs up", b""),
    ("no HTTP", b"allow\n" * 40),
    ("half a head", answer_bytes()[:60]),
    ("half an answer", answer_bytes(DENY)[:-3]),
    ("no success", answer_bytes().replace(b"200 OK", b"500 Oops")),
    ("another success", answer_bytes().replace(b"200 OK", b"204 No Content")),
    ("no exit code", answer_bytes().replace(b"X-Interpose-Exit: 0\r\n", b"")),
    ("an exit code that is none", answer_bytes(code="-1")),
    ("two exit codes", answer_bytes().replace(b"X-Interpose-Exit", b"X-Interpose-Exit: 0\r\nX-Interpose-Exit")),
    ("no length", answer_bytes().replace(b"Content-Length: 0\r\n", b"")),
    ("no number as length", answer_bytes().replace(b"Length: 0", b"Length: 0x0")),
    ("two lengths", answer_bytes().replace(b"Content-Length", b"Content-Length: 0\r\nContent-Length")),
    ("more than it says", answer_bytes(DENY).replace(b"Length: 23", b"Length: 230")),
]


@pytest.mark.parametrize(("note", "reply"), NO_ANSWERS, ids=[case[0] for case in NO_ANSWERS])
@pytest.mark.parametrize("way", ["bash", "old bash", "python"])
def test_whatever_is_no_answer_is_decided_in_process(
    way: str, note: str, reply: bytes | None, hasty: Hooks, stand_in: StandIn
) -> None:
    with saying(reply, hasty.socket if way == "python" else None) as (port, _):
        hasty.point_to(port)
        done = hasty.run(way, event_of("ls"))
    assert (done.stdout, done.code) == (b"decided", 0), note
    assert "-m interpose hook claude-code" in stand_in.words
    assert "--in-process" in stand_in.words, "a server that gave no answer is not asked again"
    assert stand_in.event == event_of("ls")


@pytest.mark.parametrize("proof", ["q" * 43, "", PROOF + "x"], ids=["another", "none", "longer"])
def test_whoever_took_the_port_of_a_killed_server_is_not_believed(proof: str, hooks: Hooks, stand_in: StandIn) -> None:
    with saying(answer_bytes(proof=proof)) as (port, heard):
        hooks.point_to(port)
        assert hooks.run("bash", event_of("ls")).stdout == b"decided"
    assert f"Bearer {TOKEN}".encode() in heard[0]
    assert "--in-process" in stand_in.words


@pytest.mark.parametrize("first", ["bash", "old bash"])
def test_a_server_that_hangs_is_taken_out_of_the_way_of_the_next(first: str, hasty: Hooks, stand_in: StandIn) -> None:
    with saying(None) as (port, _), saying(None, hasty.socket):
        hasty.point_to(port)
        hasty.run(first, event_of("ls"))
        noted = Path(stalled_file(str(hasty.socket)))
        assert time() < int(noted.read_bytes()) <= time() + STALLED_SECONDS
        before = noted.stat().st_mtime_ns
        for way in ("bash", "old bash", "python"):
            hasty.run(way, event_of("ls"))
            assert "--in-process" in stand_in.words
    assert noted.stat().st_mtime_ns == before  # nobody waited again


def _gone(hooks: Hooks) -> None:
    hooks.address.unlink()


def _garbage(hooks: Hooks) -> None:
    hooks.address.write_text("127.0.0.1:80 and more", encoding="ascii")


def _linked(hooks: Hooks) -> None:
    elsewhere = hooks.address.rename(hooks.home / "elsewhere")
    hooks.address.symlink_to(elsewhere)


def _of_another_user(hooks: Hooks) -> None:
    os.chown(hooks.address, 65534, 65534)


def _of_a_dead_process(hooks: Hooks) -> None:
    port = hooks.address.read_text(encoding="ascii").split()[0]
    hooks.point_to(int(port), pid=2**22 - 1)


def _closed(hooks: Hooks) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    hooks.point_to(port)


@pytest.mark.parametrize(
    "spoil", [_gone, _garbage, _linked, pytest.param(_of_another_user, marks=AS_ROOT), _of_a_dead_process, _closed]
)
def test_an_address_that_is_not_ours_is_not_used(spoil: object, hooks: Hooks, stand_in: StandIn) -> None:
    assert callable(spoil)
    with saying(answer_bytes()) as (port, heard):
        hooks.point_to(port)
        spoil(hooks)
        assert hooks.run("bash", event_of("ls"), environment={"POSIXLY_CORRECT": "1"}).stdout == b"decided"
    assert not heard
    assert "__import__('claude-code')" in stand_in.words


@pytest.mark.parametrize(
    ("note", "mode", "owner"),
    [("others can write it", 0o666, 0), pytest.param("another user's", 0o600, 65534, marks=AS_ROOT)],
)
def test_a_socket_that_is_not_ours_alone_is_not_asked(
    note: str, mode: int, owner: int, hooks: Hooks, stand_in: StandIn
) -> None:
    with saying(answer_bytes(), hooks.socket) as (_, heard):
        hooks.socket.chmod(mode)
        if owner:
            os.chown(hooks.socket, owner, owner)
        assert hooks.run("python", event_of("ls")).stdout == b"decided", note
    assert not heard
    assert "--in-process" not in stand_in.words


def test_a_stale_socket_is_nobody(hooks: Hooks, stand_in: StandIn) -> None:
    with saying(answer_bytes(), hooks.socket):
        pass
    assert hooks.socket.exists()
    assert hooks.run("python", event_of("ls")).stdout == b"decided"
    assert "--in-process" not in stand_in.words


@pytest.mark.parametrize("code", [1, 3, 70, 126])
def test_a_program_that_fails_is_a_refusal(code: int, tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, python=str(StandIn(tmp_path, code).path))
    assert hooks.run("bash", event_of("ls")).code == 2


@pytest.mark.parametrize(
    ("way", "said"),
    [("bash", "its program is gone"), ("old bash", "its program is gone"), ("python", "interpose doctor")],
)
def test_an_interpreter_that_is_gone_is_a_refusal(way: str, said: str, tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, python="/nonexistent/python")
    done = hooks.run(way, event_of("ls"))
    assert (done.stdout, done.code) == (b"", 2)
    assert said in done.stderr


def test_a_call_that_runs_undecided_does_so_without_its_interpreter_too(tmp_path: Path) -> None:
    """Who chose --fail-open chose that, and it is noted."""
    hooks = Hooks(tmp_path, python="/nonexistent/python", fail_open=True)
    spool = spool_of(hooks.loaded.config)
    spool.parent.mkdir(parents=True)
    done = hooks.run("bash", event_of("ls"))
    assert (done.stdout, done.stderr, done.code) == (b"", "", 0)
    assert "the client got no answer" in spool.read_text(encoding="utf-8")


NO_CLIENTS = [
    ("gone", None),
    ("fails", "exit 1"),
    ("fails in another way", "exit 3"),
    ("is killed", "kill -9 $$"),
    ("refuses and says nothing", "exit 2"),
]
SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(shutil.which(name) is None, reason=f"NOT TRIED: needs {name}"))
    for name in ("sh", "bash", "dash", "zsh", "fish", "tcsh")
]
"""A host runs a command line with the shell of its user, or with the system's."""


@pytest.mark.parametrize(("note", "does"), NO_CLIENTS, ids=[case[0] for case in NO_CLIENTS])
@pytest.mark.parametrize("shell", SHELLS)
def test_a_client_that_is_none_is_a_refusal(shell: str, note: str, does: str | None, tmp_path: Path) -> None:
    """With a text: Codex and Gemini CLI go on after a 2 that has none. Its last line names the file with the hook."""
    hooks = Hooks(tmp_path)
    if does is None:
        shutil.rmtree(hooks.bash.parent)
    else:
        hooks.bash.write_text(f"#!/bin/sh\n{does}\n")
        hooks.bash.chmod(0o700)
    command = [shell, "-c", hooks.command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 2), note
    said = f"Denied by the Interpose hook in {tmp_path}/settings.json. If no reason is given, run interpose doctor."
    assert done.stderr.splitlines()[-1] == said, note


@pytest.mark.parametrize(("note", "does"), NO_CLIENTS, ids=[case[0] for case in NO_CLIENTS])
@pytest.mark.parametrize("shell", SHELLS)
def test_a_client_that_only_tells_holds_nothing_up(shell: str, note: str, does: str | None, tmp_path: Path) -> None:
    """Claude Code takes a 2 after `SubagentStop` for a wish that the agent goes on."""
    home = tmp_path / "a && exit 0; b"
    home.mkdir()
    hooks = Hooks(home)
    if does is None:
        shutil.rmtree(hooks.bash.parent)
    else:
        hooks.bash.write_text(f"#!/bin/sh\n{does}\n")
        hooks.bash.chmod(0o700)
    command = [shell, "-c", hooks.telling]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0), note


@pytest.mark.parametrize("name", ["my 'home' $HOME `id`", "a;b", 'a"b', "a&b"])
def test_a_place_that_a_shell_would_take_apart_is_not_named(name: str, tmp_path: Path) -> None:
    home = tmp_path / name
    home.mkdir()
    hooks = Hooks(home)
    shutil.rmtree(hooks.bash.parent)
    done = subprocess.run(["sh", "-c", hooks.command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    said = "Denied by the Interpose hook. If no reason is given, run interpose doctor."
    assert done.stderr.splitlines()[-1] == said


def test_the_line_in_the_settings_is_short(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path)
    behind = hooks.command.removeprefix(str(hooks.bash)).replace(f"{tmp_path}/settings.json", "FILE")
    assert behind.startswith(" && exit 0; ")
    assert len(behind) <= 125
    assert "test -e" not in behind


def test_a_refusal_is_what_the_host_understands(tmp_path: Path) -> None:
    done = Hooks(tmp_path, "cline", python="/nonexistent/python").run("bash", b"{}")
    assert json.loads(done.stdout)["cancel"] is True
    assert done.code == 0


@pytest.mark.parametrize("way", ["bash", "old bash", "python"])
def test_an_event_that_does_not_end_is_a_refusal(way: str, tmp_path: Path, stand_in: StandIn) -> None:
    hooks = Hooks(tmp_path, python=str(stand_in.path), settings="hooks: {deadline: 1}")
    process = hooks.start(way)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdin, process.stdout, process.stderr:
        process.stdin.write(b"{")
        process.stdin.flush()
        assert process.wait(PATIENCE) == 2


HOSTILE = {
    "BASH_ENV": "/dev/stdin",
    "BASH_FUNC_read%%": "() { exit 0; }",
    "BASH_FUNC_refuse%%": "() { exit 0; }",
    "SHELLOPTS": "posix:errexit",
    "POSIXLY_CORRECT": "1",
    "IFS": "0123456789",
    "INTERPOSE_HOOKS_FAIL_OPEN": "true",
    "INTERPOSE_CONFIG_DIR": "/nonexistent",
    "XDG_STATE_HOME": "/nonexistent",
    "XDG_RUNTIME_DIR": "/nonexistent",
    "PYTHONPATH": "/nonexistent",
}


@pytest.mark.parametrize("way", ["bash", "old bash", "python"])
def test_what_a_project_puts_into_the_environment_changes_nothing(way: str, hooks: Hooks, stand_in: StandIn) -> None:
    refusal = answer_bytes(code="2", stderr="no")
    with saying(refusal, hooks.socket if way == "python" else None) as (port, _):
        hooks.point_to(port)
        assert hooks.run(way, event_of("ls"), environment=HOSTILE).code == 2
    hooks.address.unlink()
    hooks.socket.unlink(missing_ok=True)
    hooks.run(way, event_of("ls"), environment=HOSTILE)
    told = stand_in.environment
    assert "INTERPOSE_HOOKS_FAIL_OPEN" not in told
    assert told["INTERPOSE_CONFIG_DIR"] == str(hooks.loaded.places.config)
    assert told["XDG_STATE_HOME"] == str(hooks.loaded.places.state.parent)


def test_an_event_is_named_where_the_host_does_not(hooks: Hooks, stand_in: StandIn) -> None:
    with saying(answer_bytes()) as (port, heard):
        hooks.point_to(port)
        hooks.run("bash", b"{}", "PreToolUse")
        assert heard[0].startswith(b"POST /hook/claude-code?event=PreToolUse HTTP/1.1\r\n")
        assert hooks.run("bash", b"{}", "x&y").code == 2
    hooks.address.unlink()
    hooks.run("bash", b"{}", "PreToolUse")
    assert stand_in.words.split()[-1] == "PreToolUse"


@pytest.mark.parametrize("way", ["bash", "old bash", "python"])
def test_letting_through_is_chosen_and_written_down(way: str, tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, python="/nonexistent/python", fail_open=True)
    spool = Path(hooks.loaded.config.ledger.directory) / "opened.jsonl"
    spool.parent.mkdir(parents=True)
    assert hooks.run(way, event_of("ls")).code == 0
    assert json.loads(spool.read_text(encoding="utf-8"))["host"] == "claude-code"
