"""Hooks whose server is killed, hangs, is not there or can't record: no call runs that nobody decided about."""

from __future__ import annotations

import http.client
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from interpose.doors.hooks.clients.fail_open_log import let_through_in, spool_of
from tests.e2e.processes import ServerProcess
from tests.support.hosts.hooked import Done, Hooks, event_of, finished, until
from tests.support.timing.patience import PATIENCE

SETTINGS = "hooks: {deadline: 8, idle_timeout: 20}"
BAD = "rm -rf /"
WAYS = ["bash", "python", "program"]


@pytest.fixture
def hooks(tmp_path: Path) -> Iterator[Hooks]:
    made = Hooks(tmp_path, settings=SETTINGS)
    yield made
    _end_server(made)


def _end_server(hooks: Hooks) -> None:
    """The server that hooks started, if they did."""
    lock = hooks.socket.with_name("start.lock")
    for pid in _servers(hooks):
        os.kill(pid, signal.SIGKILL)
    lock.unlink(missing_ok=True)


def _servers(hooks: Hooks) -> list[int]:
    """The processes of this home that were started on demand."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"--on-demand" in (entry / "cmdline").read_bytes().split(b"\0"):
                told = (entry / "environ").read_bytes().split(b"\0")
                if f"HOME={hooks.home}".encode() in told and (entry / "stat").read_text().split()[2] != "Z":
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


def _denied(done: Done) -> bool:
    return done.code == 0 and json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def _refused(done: Done) -> bool:
    """Denied in words, or by the exit code that refuses: on a busy machine its time may be up."""
    return done.code == 2 or _denied(done)


def test_every_way_gives_the_same_answer(hooks: Hooks) -> None:
    with ServerProcess(hooks.home):
        for body in (event_of("git status"), event_of(BAD), b"{", event_of("ls", hook_event_name="Nothing")):
            said = {way: hooks.run(way, body) for way in hooks.ways()}
            assert len(set(said.values())) == 1, said
    assert not _servers(hooks)


def _kill(server: ServerProcess) -> None:
    server.child.kill()
    server.child.wait(PATIENCE)


def _stop(server: ServerProcess) -> None:
    server.signal(signal.SIGSTOP)


def _open_files(pid: int) -> list[str]:
    """What a process has open. A file that it closes between the listing and the look is not open."""
    targets: list[str] = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            targets.append(str(fd.readlink()))
    return targets


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", [_kill, _stop], ids=["killed", "hanging"])
def test_a_server_that_is_gone_or_hangs_opens_nothing(
    way: str, fault: Callable[[ServerProcess], None], hooks: Hooks
) -> None:
    with ServerProcess(hooks.home) as server:
        assert hooks.socket.exists()
        fault(server)
        assert _refused(hooks.run(way, event_of(BAD)))


@pytest.mark.parametrize("way", ["bash", "python"])
def test_a_server_that_is_killed_while_it_answers_opens_nothing(way: str, hooks: Hooks) -> None:
    with ServerProcess(hooks.home) as server:
        server.signal(signal.SIGSTOP)
        hook = hooks.start(way)
        assert hook.stdin is not None
        hook.stdin.write(event_of(BAD))
        hook.stdin.close()
        hook.stdin = None
        # The event is read and a socket is there: it waits for its answer.
        until(lambda: any("socket:" in target for target in _open_files(hook.pid)))
        _kill(server)
        assert _refused(finished(hook, b""))


def test_a_wrong_token_is_no_answer(hooks: Hooks) -> None:
    with ServerProcess(hooks.home):
        port, pid, token, proof = hooks.address.read_text(encoding="ascii").split()
        hooks.address.write_text(f"{port} {pid} {token[::-1]} {proof}\n", encoding="ascii")
        assert _denied(hooks.run("bash", event_of(BAD)))
        refused = (hooks.home / "stderr").read_text(encoding="utf-8")
    assert "401" in refused


def test_the_port_is_for_those_who_know_the_token(hooks: Hooks) -> None:
    with ServerProcess(hooks.home):
        port, _pid, token, proof = hooks.address.read_text(encoding="ascii").split()
        for headers, status in (({}, 401), ({"Authorization": f"Bearer {token}"}, 200)):
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE)
            connection.request("POST", "/hook/claude-code", event_of(BAD), headers)
            answer = connection.getresponse()
            assert (answer.status, answer.getheader("X-Interpose-Proof")) == (status, proof if status == 200 else None)
            connection.close()


def test_a_stop_leaves_no_address_behind(hooks: Hooks) -> None:
    with ServerProcess(hooks.home) as server:
        assert oct(hooks.address.stat().st_mode) == "0o100600"
        assert oct(hooks.socket.stat().st_mode) == "0o140600"
        server.signal(signal.SIGTERM)
        assert server.child.wait(PATIENCE) == 0
    assert not hooks.address.exists()
    assert not hooks.socket.exists()


def test_a_hook_starts_a_server_which_makes_room_for_a_persons(hooks: Hooks) -> None:
    assert _denied(hooks.run("bash", event_of(BAD)))
    until(hooks.address.exists)
    (pid,) = _servers(hooks)
    process = Path(f"/proc/{pid}")
    assert (process / "cwd").readlink() == Path("/")
    assert os.getsid(pid) not in (os.getsid(0), pid)
    inherited = {str((process / "fd" / fd).readlink()) for fd in ("0", "1", "2")}
    assert inherited == {"/dev/null", str(hooks.socket.with_name("server.log"))}
    assert _denied(hooks.run("bash", event_of(BAD)))
    with ServerProcess(hooks.home) as server:
        until(lambda: not _servers(hooks))
        assert _denied(hooks.run("bash", event_of(BAD)))
        assert int(hooks.address.read_text(encoding="ascii").split()[1]) == server.child.pid


def test_a_server_that_nobody_asks_ends(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, settings="hooks: {idle_timeout: 0.5}")
    assert _denied(hooks.run("program", event_of(BAD)))
    until(hooks.address.exists)
    until(lambda: not _servers(hooks))
    assert not hooks.address.exists()


def test_a_server_whose_directory_was_removed_ends(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path / "home", settings="hooks: {idle_timeout: 600}")
    assert _denied(hooks.run("program", event_of(BAD)))
    until(hooks.address.exists)
    assert len(_servers(hooks)) == 1
    shutil.rmtree(hooks.socket.parent)
    until(lambda: not _servers(hooks))


def test_a_server_whose_directory_was_removed_while_it_started_ends(tmp_path: Path) -> None:
    """It makes the directory anew, but the lock of its start is gone."""
    hooks = Hooks(tmp_path / "home", settings="hooks: {idle_timeout: 600}")
    assert _denied(hooks.run("program", event_of(BAD)))
    until(lambda: bool(_servers(hooks)))
    shutil.rmtree(hooks.socket.parent)
    hooks.socket.parent.mkdir(mode=0o700)
    until(lambda: not _servers(hooks))


START = "import sys; from interpose.doors.hooks.clients.on_demand import start_server; start_server(sys.argv[1])"


def test_fifty_hooks_at_once_start_one_server(hooks: Hooks) -> None:
    starting = [
        subprocess.Popen([sys.executable, "-I", "-c", START, str(hooks.socket)], env=hooks.environment)
        for _ in range(50)
    ]
    assert [process.wait(PATIENCE) for process in starting] == [0] * 50
    until(hooks.address.exists)
    assert len(_servers(hooks)) == 1


def test_a_server_that_can_not_start_is_not_tried_at_every_event(tmp_path: Path) -> None:
    hooks = Hooks(tmp_path, settings="hooks: {idle_timeout: 0.2}")
    lock = hooks.socket.with_name("start.lock")
    lock.write_text("1\n", encoding="ascii")  # as if it had just been tried, by a process that is gone
    subprocess.run([sys.executable, "-I", "-c", START, str(hooks.socket)], env=hooks.environment, check=True)
    assert lock.read_text(encoding="ascii") == "1\n"
    os.utime(lock, (1, 1))
    subprocess.run([sys.executable, "-I", "-c", START, str(hooks.socket)], env=hooks.environment, check=True)
    until(lambda: lock.read_text(encoding="ascii") != "1\n")
    until(lambda: not _servers(hooks))


def _full_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.parametrize("flags", [[], ["--fail-open"]], ids=["closed", "open"])
def test_what_can_not_be_recorded_anywhere_does_not_run(flags: list[str], hooks: Hooks) -> None:
    done = subprocess.run(
        [*hooks.ways()["in process"], *flags], input=event_of("git status"), capture_output=True, env=hooks.environment,
        preexec_fn=_full_disk, check=False,
    )  # fmt: skip
    assert done.returncode == 2 or b'"deny"' in done.stdout, done


def _broken_rules(hooks: Hooks) -> None:
    rules = hooks.home / ".config" / "interpose" / "policy" / "mine.yaml"
    rules.parent.mkdir(parents=True)
    rules.write_text("version: 1\nrules: [{id: x, when: 'nonsense(', action: deny}]\n", encoding="utf-8")


def test_rules_that_can_not_be_loaded_refuse_and_say_why(hooks: Hooks) -> None:
    _broken_rules(hooks)
    done = hooks.run("in process", event_of("git status"))
    assert (done.stdout, done.code) == (b"", 2)
    assert "mine.yaml" in done.stderr
    assert done.stderr.count("\n") == 1


def test_letting_through_is_in_the_ledger(hooks: Hooks) -> None:
    _broken_rules(hooks)
    done = hooks.run("in process", event_of("git status"), "--fail-open")
    assert (done.stdout, done.code) == (b"", 0)
    assert "let through undecided" in done.stderr
    told = subprocess.run(
        [sys.executable, "-I", "-m", "interpose", "audit", "export"], env=hooks.environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "fail-open" in told.stdout
    (opened,) = let_through_in(spool_of(hooks.loaded.config))
    assert (opened.host, opened.session, opened.tool) == ("claude-code", "s1", "Bash")
    assert hooks.run("in process", b"{", "--fail-open").code == 2, "what can't be read does not run"


@pytest.mark.parametrize("way", ["program", "in process"])
def test_a_wrong_command_line_is_a_refusal(way: str, hooks: Hooks) -> None:
    for words in (["--no-such-option"], ["Event", "another"], ["--within", "soon"]):
        assert hooks.run(way, event_of("ls"), *words).code == 2


@pytest.mark.parametrize("way", WAYS)
def test_the_first_call_after_a_cold_start_has_one_record(way: str, hooks: Hooks) -> None:
    """It is decided without a server, which is started then and gets the result of a call that it never saw."""
    result = event_of("git status", hook_event_name="PostToolUse", tool_response={"stdout": "clean"})
    assert not _denied_or_broken(hooks.run(way, event_of("git status")))
    until(hooks.address.exists)
    assert not _denied_or_broken(hooks.run(way, result))
    command = [sys.executable, "-m", "interpose", "audit", "search", "--session", "s1", "--json"]
    found: list[dict[str, object]] = []

    def has_outcome() -> bool:
        shown = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE, env=hooks.environment)
        found[:] = [json.loads(line) for line in shown.stdout.splitlines()]
        return any(record["outcome"] == "success" for record in found)

    until(has_outcome)
    (record,) = found
    assert (record["decision"], record["findings"]) == ("allow", [])


def _denied_or_broken(done: Done) -> bool:
    return done.code != 0 or b"deny" in done.stdout
