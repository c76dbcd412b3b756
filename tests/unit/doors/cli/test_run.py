"""`interpose run`: who decides, what runs, and what happens when nobody can decide."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from interpose.composition.build import open_service
from interpose.core.config.load import load
from interpose.core.errors import StoreError
from interpose.doors.cli import main, run
from interpose.doors.http import validate
from interpose.doors.http_server.listener import Listener, Tcp, Unix
from interpose.doors.http_server.trust import make_trust
from interpose.record.ledger import search
from interpose.record.store import open_store
from interpose.record.store.protocols import Query
from tests.support.timing.patience import PATIENCE

RULES = """version: 1
rules:
  - id: say-please
    on: {tools: [exec]}
    when: args.command.contains("please")
    action: ask
    message: Somebody must agree.
  - id: no-mischief
    on: {tools: [exec]}
    when: args.command.contains("mischief")
    action: deny
    message: No mischief.
  - id: in-colour
    on: {tools: [exec]}
    when: args.command.contains("dull")
    action: transform
    rewrite: {command: '"echo bright"'}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("INTERPOSE_", "MAYBE_DONT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".config/interpose/policy").mkdir(parents=True)
    (tmp_path / ".config/interpose/policy/mine.yaml").write_text(RULES)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have replaced the process."""
    commands: list[list[str]] = []
    monkeypatch.setattr(run, "_replace", commands.append)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    return commands


def kept(home: Path) -> list[Any]:
    file = home / ".local/state/interpose/ledger/ledger.db"
    if not file.exists():
        return []
    store = open_store(file, read_only=True)
    try:
        return search(store, Query(), 100, oldest_first=True)
    finally:
        store.close()


def child(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "interpose", "run", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, **options)


def test_the_command_takes_our_place(home: Path) -> None:
    """Same process, same input and output, its own exit code; and a signal that Python ignores is not ignored."""
    script = "echo $$; cat; grep SigIgn /proc/self/status; exit 3"
    command = [sys.executable, "-m", "interpose", "run", "--", "sh", "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        out, _ = process.communicate("from stdin\n", timeout=PATIENCE)
    pid, text, ignored = out.splitlines()
    assert (int(pid), text, process.returncode) == (process.pid, "from stdin", 3)
    assert int(ignored.split()[1], 16) & 0x1001000 == 0, "SIGPIPE and SIGXFSZ"
    assert [record.decision for record in kept(home)] == ["allow"]


def test_what_is_denied_does_not_run(home: Path) -> None:
    done = child("--", "touch", "mischief")
    assert done.returncode == 77
    assert done.stderr.startswith("Error: Command denied by policy\n  Request ID: ")
    assert "  Policy: no-mischief\n  Reason: No mischief.\n" in done.stderr
    assert not (home / "work/mischief").exists()
    (record,) = kept(home)
    assert record.call_id in done.stderr
    assert (record.decision, record.source) == ("deny", "cli")


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("n\n", 77), ("\x04", 77)])
def test_a_person_at_the_terminal_is_asked(home: Path, typed: str, status: int) -> None:
    (home / ".config/interpose/interpose.yaml").write_text("approvals: {proof: token}\n")  # a test has no person
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "interpose", "run", "--", "touch", "please"]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while b"[y/N]" not in said:
            said += os.read(ours, 1000)
        os.write(ours, typed.encode())
        assert process.wait(timeout=PATIENCE) == status
    said += os.read(ours, 10_000)
    os.close(ours)
    assert (b"Denied at the terminal" in said) == (status != 0)
    assert b"Somebody must agree." in said
    assert (home / "work/please").exists() == (status == 0)
    last = kept(home)[-1]
    assert (" at the terminal" in last.approver) == (status == 0)


def test_a_question_whose_server_is_gone_does_not_run_open(
    serving: str, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was decided that somebody must agree. --fail-open is for calls that nobody could decide about."""

    def gone(*_: object) -> bool:
        raise StoreError("the server went away")

    monkeypatch.setattr(run, "_at_a_terminal", lambda: True)
    monkeypatch.setattr(run, "answered_at_terminal", gone)
    assert main(["run", "--fail-open", "--", "echo", "please"]) == 77
    assert started == []


def test_a_terminal_that_is_no_persons_answers_nothing(home: Path) -> None:
    """One that a program opened, as an agent would, and that types yes into it."""
    ours, theirs = pty.openpty()
    os.write(ours, b"y\ny\n")
    command = [sys.executable, "-m", "interpose", "run", "--", "touch", "please"]
    done = subprocess.run(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, check=False, timeout=PATIENCE)
    said = os.read(ours, 10_000)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 77
    assert b"approval-not-proven" in said
    assert not (home / "work/please").exists()


@pytest.mark.parametrize(
    ("note", "words", "status", "said"),
    [
        ("allowed", ["--", "true", "-x"], 0, ""),
        ("denied", ["--", "echo", "mischief"], 77, "Reason: No mischief."),
        ("nobody to ask", ["--", "echo", "please"], 77, "start one with `interpose serve`"),
        ("only in another form", ["--", "echo", "dull"], 77, "Instead: echo bright"),
        ("one word stays one word", ["--", "echo hello"], 77, "where the name of a command is expected"),
        ("no --", ["ls"], 64, "behind `--`"),
        ("nothing to run", ["--"], 64, "behind `--`"),
        ("nothing at all", [], 64, "behind `--`"),
        ("a server that is none", ["--server", "ftp://h", "--", "true"], 64, "--server needs"),
        ("no time", ["--timeout", "0", "--", "true"], 64, "--timeout needs"),
        ("no text", ["--", "echo", "\udcff"], 77, "not UTF-8"),
    ],
)  # fmt: skip
def test_decided_here(
    home: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str],
    note: str, words: list[str], status: int, said: str,
) -> None:  # fmt: skip
    result = main(["run", *words])
    assert started == ([words[1:]] if status == 0 else []), note
    assert (result or 0) == status, note
    assert said in capsys.readouterr().err, note


def printed_id(err: str) -> str:
    (line,) = [line for line in err.splitlines() if line.startswith("  Request ID: ")]
    return line.removeprefix("  Request ID: ")


@pytest.mark.parametrize("words", [["echo", "mischief"], ["echo", "please"], ["echo", "dull"]])
def test_the_id_that_is_printed_leads_to_the_record(
    home: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["run", "--", *words]) == 77
    id = printed_id(capsys.readouterr().err)
    (record,) = kept(home)
    assert (record.call_id, record.request_id) == (id, id)
    for act in (["show", id], ["search", "--request", id]):
        assert main(["audit", *act]) == 0
        assert ("echo bright" if "dull" in words else " ".join(words)) in capsys.readouterr().out


def test_no_id_is_printed_where_nothing_was_recorded(
    home: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", "--dry-run", "--", "echo", "mischief"]) == 77
    said = capsys.readouterr().err
    assert "Reason: No mischief." in said
    assert "Request ID" not in said

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("interpose.record.ledger.folder.AppendFile.append", full)
    assert main(["run", "--", "true"]) == 77
    said = capsys.readouterr().err
    assert "audit_unavailable" in said
    assert "Request ID" not in said


def test_the_record_says_what_did_not_run(home: Path, started: list[list[str]]) -> None:
    assert main(["run", "--", "echo", "dull"]) == 77
    assert [(record.decision, record.outcome) for record in kept(home)] == [("rewrite", "denied")]


def test_a_dry_run_leaves_no_trace(home: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--dry-run", "--", "true"]) == 0
    assert capsys.readouterr().out == "would run: true\n"
    assert main(["run", "--dry-run", "--", "echo", "mischief"]) == 77
    assert main(["run", "--dry-run", "--", "echo", "please"]) == 77
    assert started == []
    assert kept(home) == []


def test_only_the_commands_that_are_listed_are_validated(
    home: Path, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERPOSE_CLI_VALIDATION_VALIDATE_COMMANDS", "gh")
    main(["run", "--", "echo", "mischief"])
    assert main(["run", "--", "/usr/bin/gh", "mischief"]) == 77
    assert started == [["echo", "mischief"]]


BROKEN = {"rules": ("policy/mine.yaml", "version: 1\nrules: [{}]"), "config": ("interpose.yaml", "server: {prot: 1}")}


@pytest.mark.parametrize(
    ("note", "broken", "flags", "status"),
    [
        ("rules that can't be loaded", "rules", [], 78),
        ("by choice it runs", "rules", ["--fail-open"], 0),
        ("nothing would run", "rules", ["--fail-open", "--dry-run"], 78),
        ("a configuration that can't be loaded", "config", [], 78),
        ("might have forbidden that choice", "config", ["--fail-open"], 78),
    ],
)
def test_when_nothing_can_be_decided(
    home: Path,
    started: list[list[str]],
    capsys: pytest.CaptureFixture[str],
    note: str,
    broken: str,
    flags: list[str],
    status: int,
) -> None:
    name, text = BROKEN[broken]
    file = home / ".config/interpose" / name
    file.write_text(text)
    file.chmod(0o600)
    assert (main(["run", *flags, "--", "true"]) or 0) == status, note
    assert started == ([["true"]] if status == 0 else []), note
    found = [finding for record in kept(home) for finding in record.findings]
    assert [(finding.interceptor, finding.said) for finding in found] == (
        [("interpose", "error")] if status == 0 else []
    )
    assert all("--fail-open was chosen" in finding.reason for finding in found)
    assert "\\n" not in capsys.readouterr().err
    file.unlink()
    main(["audit", "search", "--text", "fail-open"])
    assert ("fail-open" in capsys.readouterr().out) is bool(found), "as the page says"


def test_what_can_not_be_recorded_does_not_run_open(home: Path, started: list[list[str]]) -> None:
    (home / ".local").write_text("no directory")
    assert main(["run", "--fail-open", "--", "true"]) == 70
    assert started == []


@pytest.fixture
def serving(home: Path) -> Iterator[str]:
    """A real server of this user, on its socket and on a port."""
    config = load(environ={"HOME": str(home)}).config
    loop = asyncio.new_event_loop()
    with open_service(config, follow=False, serving=True) as service:
        trust = make_trust(loopback="open")
        listener = Listener(validate.routes(service), [Unix(config.server.socket), Tcp("127.0.0.1")], trust)
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(listener.start(), loop).result(PATIENCE)
            yield next(address for address in listener.addresses if address.startswith("http:"))
            asyncio.run_coroutine_threadsafe(listener.stop(), loop).result(PATIENCE)
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


@pytest.mark.parametrize("flags", [[], ["--dry-run", "--server"]])
def test_the_id_that_is_printed_leads_to_the_servers_record(
    serving: str, home: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    at = [*flags, serving] if flags else []
    assert main(["run", *at, "--", "echo", "mischief"]) == 77
    id = printed_id(capsys.readouterr().err)
    file = home / ".local/state/interpose/ledger/ledger.db"
    until(lambda: [record.request_id for record in kept(home)] == [id])
    for act in (["show", id], ["search", "--request", id]):
        assert main(["audit", *act, "--ledger", str(file)]) == 0
        assert "echo mischief" in capsys.readouterr().out


def until(holds: Callable[[], bool]) -> None:
    """Wait for what a server does in the background."""
    end = monotonic() + PATIENCE
    while not holds():
        assert monotonic() < end


@pytest.mark.parametrize("by", ["its socket", "an address"])
def test_a_server_decides(
    serving: str, started: list[list[str]], capsys: pytest.CaptureFixture[str], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_here(*_: object) -> None:
        raise AssertionError("decided here")

    monkeypatch.setattr("interpose.doors.cli.explaining.run_deciding.Here.answer", not_here)
    server = ["--server", serving] if by == "an address" else []
    main(["run", *server, "--", "true"])
    assert started == [["true"]]
    for words, want in (
        (["echo", "mischief"], "Reason: No mischief."), (["echo", "dull"], "Instead: echo bright"),
        (["echo", "please"], "Approval: "), (["echo hello"], "Policy: odd-command"),
    ):  # fmt: skip
        assert main(["run", *server, "--", *words]) == 77
        assert want in capsys.readouterr().err
    assert started == [["true"]]


ANOTHER = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
os.setuid(12345)
listening.listen()
print("ready", flush=True)
listening.accept()
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_users_server_is_not_believed(
    home: Path, started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(home / "api.sock")
    command = [sys.executable, "-c", ANOTHER, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert main(["run", "--server", f"unix:{path}", "--", "echo", "mischief"]) == 77
        process.kill()
    assert "belongs to user 12345; decided here" in capsys.readouterr().err
    assert started == []


@pytest.fixture
def stub() -> Iterator[Callable[[int, object], str]]:
    """A server that gives one answer, whatever it is asked."""
    servers: list[HTTPServer] = []

    def start(status: int, body: object) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("note", "status", "body", "here"),
    [
        ("another's server that allows", 200, {"allowed": True}, False),
        ("another's server that denies", 200, {"allowed": False, "denial": {"policy_name": "p"}}, False),
        ("words that don't go together", 200, {"allowed": True, "decision": "deny"}, False),
        ("a word that we don't know", 200, {"allowed": True, "decision": "perhaps"}, False),
        ("a truth that is none", 200, {"allowed": "true"}, True),
        ("no answer", 200, {}, True),
        ("no JSON", 200, b"<html>", True),
        ("a depth that nobody needs", 200, b"[" * 100_000, True),
        ("another status", 404, {"allowed": True}, True),
        ("switched off", 400, {"error": "cli_validation_disabled"}, True),
        ("a way elsewhere", 302, {"allowed": True}, True),
    ],
)  # fmt: skip
def test_what_a_server_says_is_read_strictly(
    home: Path, started: list[list[str]], stub: Callable[[int, object], str], capsys: pytest.CaptureFixture[str],
    note: str, status: int, body: Any, here: bool,
) -> None:  # fmt: skip
    """An answer that is not understood decides nothing: the rules here do, and they deny."""
    result = main(["run", "--server", stub(status, body), "--", "echo", "mischief"])
    allows = status == 200 and isinstance(body, dict) and body == {"allowed": True}
    assert started == ([["echo", "mischief"]] if allows else []), note
    assert (result or 0) == (0 if allows else 77), note
    assert ("decided here" in capsys.readouterr().err) == here, note
    assert len(kept(home)) == here, note
