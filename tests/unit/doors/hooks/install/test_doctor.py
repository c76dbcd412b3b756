"""Doctor: hooks that hold are said to hold, and every way in which they don't is found."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import repeat
from pathlib import Path
from time import time_ns

import pytest
from msgspec.structs import replace

from interpose.core.config.load import load
from interpose.doors.cli import main
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.events import Host
from interpose.doors.hooks.install import canary, doctor
from interpose.doors.hooks.install.canary import CanaryAnswer
from interpose.doors.hooks.install.doctor import examine, installed_targets
from interpose.doors.hooks.install.last_heard import LastHeard
from interpose.doors.hooks.install.plan import is_ours
from interpose.doors.hooks.install.remedies import HostCheck
from interpose.doors.hooks.install.situation import ListeningServer
from interpose.record.ledger.canaries import ALLOWED
from tests.support.timing.patience import PATIENCE
from tests.unit.doors.hooks.install.homes import installed, new_home, target
from tests.unit.doors.hooks.install.hook_runs import answered_in_process

NODE = shutil.which("node") or ""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home in which no server is started: who would start one finds it being started already."""
    home = new_home(tmp_path / "home", monkeypatch)
    (home / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    with no_server_starts():
        yield home


@contextmanager
def no_server_starts() -> Iterator[None]:
    """Hold the lock of those who start a server, unless it is held already."""
    lock = Path(load().config.hooks.socket).with_name("start.lock")
    if lock.exists():
        yield
        return
    lock.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(handle)


def checks(name: str, seen: LastHeard | None = None, *, as_processes: bool = False) -> dict[str, HostCheck]:
    """What is found at the one place of a host. Its hooks answer in this process, unless processes are wanted."""
    loaded = load()
    ((where, record),) = installed_targets(loaded, Path("/nowhere"), name)
    with nullcontext() if as_processes else answered_in_process(where):
        return {check.name: check for check in examine(where, record, loaded, seen).checks}


def opened(found: dict[str, HostCheck]) -> set[str]:
    return {name for name, check in found.items() if check.level == "open"}


@pytest.mark.parametrize("name", ["claude-code", "cline", "opencode", "windsurf"])
def test_hooks_that_hold(name: str, home: Path) -> None:
    """One host of each layout and language, and the first one as it is: as processes."""
    installed(target(name))
    found = checks(name, as_processes=name == "claude-code")
    assert opened(found) == set()
    assert "refused in" in found["refuses"].text
    assert "allowed in" in found["allows"].text
    assert (found["without a server"].milliseconds or 0) > 0
    assert found["if it crashes"].level == "ok"


def test_it_warms_up_before_it_measures(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call starts a server and loads what decides: it says nothing of those that an agent makes."""
    installed(target("claude-code"))
    commands: list[str] = []

    def first_is_slow(host: Host, words: Sequence[str], command: str, seconds: float) -> CanaryAnswer:
        commands.append(command)
        return replace(canary.sent(host, words, command, seconds), milliseconds=9.0 if commands[1:] else 900.0)

    monkeypatch.setattr(doctor, "sent", first_is_slow)
    found = checks("claude-code")
    assert commands[0] == ALLOWED
    assert (found["refuses"].text, found["allows"].text) == ("refused in 9 ms", "allowed in 9 ms")


@pytest.mark.parametrize(
    ("note", "seen", "listens_after", "looks"),
    [
        ("it is seen late, as on a busy machine", [0, 0, 0, 7, 7, 7], 6, 6),
        ("it ends", [7, 7, 0], 99, 3),
        ("it is never seen", [0], 99, 6),
        ("it is never ready", [7], 99, 20),
    ],
)
def test_a_server_that_starts_is_waited_for(
    note: str, seen: list[int], listens_after: int, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a second passes between two looks."""
    past, sent = [0], []
    listens = iter([*[0] * (listens_after + 1), *[4711] * 9]) if listens_after < 99 else repeat(0)

    def looked(_socket: str) -> int:
        past[0] += 1
        return seen[min(past[0], len(seen)) - 1]

    def heard(host: Host, words: Sequence[str], command: str, seconds: float) -> CanaryAnswer:
        sent.append(past[0])
        return CanaryAnswer("allowed", "", 1.0, 0)

    monkeypatch.setattr(doctor, "sent", heard)
    monkeypatch.setattr(doctor, "started_server", looked)
    monkeypatch.setattr(doctor, "listening", lambda at: ListeningServer(at, next(listens)))
    monkeypatch.setattr(doctor, "monotonic", lambda: past[0] / 2)
    monkeypatch.setattr(doctor, "sleep", lambda _seconds: None)
    doctor._warm_up(HOSTS["claude-code"], ["hook"], "/socket", 1.0)
    assert sent == [0, looks], note


def test_a_client_that_is_gone_is_found(home: Path) -> None:
    installed(target("codex"))
    (load().places.state / "hooks" / "codex").unlink()
    found = checks("codex")
    assert opened(found) == {"installed", "asks", "files", "trust"}
    assert "refuses" not in found


def test_a_client_that_somebody_changed_is_found_and_not_run(home: Path) -> None:
    installed(target("kiro"))
    client = load().places.state / "hooks" / "kiro"
    client.write_text(f"#!/bin/sh\ntouch {home}/ran\n", encoding="utf-8")
    found = checks("kiro")
    assert opened(found) == {"installed", "asks"}
    assert found["asks"].text.startswith("the hook was not tried")
    assert not (home / "ran").exists()


@pytest.mark.parametrize("line", ["touch {ran}; interpose hook claude-code", "{home}/interpose/hooks/claude-code"])
def test_what_a_repository_brings_is_not_run(home: Path, line: str) -> None:
    """It looks like ours. What runs in a person's terminal may answer for them."""
    own = home / "interpose" / "hooks" / "claude-code"
    own.parent.mkdir(parents=True)
    own.write_text(f"#!/bin/sh\ntouch {home}/ran\n", encoding="utf-8")
    own.chmod(0o755)
    where = target("claude-code")
    hook = {"type": "command", "command": line.format(home=home, ran=home / "ran")}
    where.path.parent.mkdir(parents=True, exist_ok=True)
    where.path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}}), encoding="utf-8")
    found = checks("claude-code")
    assert {"installed", "asks"} <= opened(found)
    assert not (home / "ran").exists()


def test_a_guard_that_was_switched_off(home: Path) -> None:
    config = home / ".config" / "interpose" / "interpose.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("interceptors: {builtin:command-safety-guard: {enabled: false}}\n", encoding="utf-8")
    config.chmod(0o600)
    (config.parent / "policy").mkdir()
    (config.parent / "policy" / "rules.yaml").write_text(
        "version: 1\ndisable: [baseline/write-vital]\n", encoding="utf-8"
    )
    installed(target("windsurf"))
    assert {"refuses", "without a server"} <= opened(checks("windsurf"))


def test_hooks_that_somebody_changed(home: Path) -> None:
    where = target("claude-code")
    installed(where)
    text = where.path.read_text(encoding="utf-8")
    where.path.write_text(text.replace('"onFailure": "block"', '"onFailure": "continue"'), encoding="utf-8")
    where.path.chmod(0o666)
    found = checks("claude-code")
    assert opened(found) == {"installed", "asks", "files"}
    assert "interpose install claude-code" in found["installed"].todo


def test_hooks_that_never_decide(home: Path) -> None:
    where = target("claude-code")
    installed(where)
    text = where.path.read_text(encoding="utf-8")
    where.path.write_text(text.replace('"PreToolUse"', '"Stop"'), encoding="utf-8")
    assert {"asks", "installed"} <= opened(checks("claude-code"))


def test_the_choice_to_fail_open_is_open(home: Path) -> None:
    installed(target("windsurf"), fail_open=True)
    assert opened(checks("windsurf")) == {"fail-open"}


def test_without_a_record_hooks_are_found_in_the_files(home: Path) -> None:
    installed(target("cursor"))
    for record in (load().places.state / "installs").glob("*.json"):
        record.unlink()
    ((where, record_of_it),) = installed_targets(load(), home)
    assert (where.facts.name, record_of_it) == ("cursor", None)


@pytest.mark.parametrize(
    ("note", "seen", "trace_after", "level"),
    [
        ("nothing happened yet", None, None, "note"),
        ("calls were asked about", LastHeard("a call", time_ns(), time_ns(), "s1"), None, "ok"),
        ("sessions, but no calls", LastHeard("SessionStart", time_ns(), 0, "s1"), None, "note"),
        ("it works and says nothing", None, 3600, "open"),
        ("it works and went silent", LastHeard("a call", time_ns(), time_ns(), "s1"), 3600, "open"),
        ("it worked just now", LastHeard("a call", time_ns(), time_ns(), "s1"), 60, "ok"),
    ],
)
def test_when_it_was_heard(note: str, seen: LastHeard | None, trace_after: int | None, level: str, home: Path) -> None:
    installed(target("claude-code"))
    if trace_after is not None:
        trace = home / ".claude" / "projects" / "p" / "session.jsonl"
        trace.parent.mkdir(parents=True)
        trace.touch()
        now = time_ns() + trace_after * 1_000_000_000
        os.utime(trace, ns=(now, now))
    found = checks("claude-code", seen)
    assert found.get("never asked", found["last event"]).level == level, note


def test_a_status_line_of_the_users_own_is_told_how_to_show_questions(home: Path) -> None:
    installed(target("claude-code"))
    assert "status line" not in checks("claude-code")
    file = target("claude-code").path
    file.write_text(json.dumps(json.loads(file.read_text()) | {"statusLine": {"type": "command", "command": "mine"}}))
    found = checks("claude-code")
    assert found["status line"].level == "note"
    assert "interpose/hooks/claude-code-line with the same input" in found["status line"].text
    assert opened(found) == set()


@pytest.mark.parametrize(
    ("said", "level"),
    [("2.1.325 (Claude Code)", "ok"), ("2.1.294 (Claude Code)", "open"), ("1.9", "open"), ("none", "ok")],
)
def test_the_version_of_the_agent(said: str, level: str, home: Path) -> None:
    from interpose.doors.hooks.install.doctor import _version

    program = home / "bin" / "claude"
    program.write_text(f"#!/bin/sh\necho '{said}'\n", encoding="utf-8")
    program.chmod(0o755)
    (check,) = _version(HOSTS["claude-code"])
    assert check.level == level


PROGRAM = """
import { Interpose } from "%s";
const hooks = await Interpose({ directory: "/" });
for (const command of ["true", "truncate -s +0 /etc/passwd"])
  await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, { args: { command } }).then(
    () => console.log("ran"),
    (error) => console.log("refused", error.message.length > 0),
  );
"""


@pytest.mark.skipif(not NODE, reason="needs node")
def test_an_installed_plugin_decides_without_a_server(home: Path) -> None:
    installed(target("opencode"))
    (home / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    program = home / "main.mjs"
    program.write_text(PROGRAM % target("opencode").path, encoding="utf-8")
    done = subprocess.run([NODE, str(program)], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.split("\n") == ["ran", "refused true", ""]


def test_the_commands_of_the_page(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a reader would type them, one after another."""
    monkeypatch.chdir(home)
    page = (Path(__file__).parents[5] / "docs" / "install.md").read_text(encoding="utf-8")
    lines = [line.partition("#")[0].split() for line in page.splitlines() if line.startswith("$ interpose ")]
    with ExitStack() as until_the_end:  # a hook starts a server after it answered
        for words in lines:
            until_the_end.enter_context(no_server_starts())  # `--purge` takes the lock away, too
            assert main(words[2:]) == 0, words
    assert {words[2] for words in lines} == {"install", "doctor", "uninstall"}
    assert not target("claude-code").path.exists()


def test_what_is_ours_is_strict() -> None:
    assert not is_ours("kiro")("sh -c 'interpose hook kiro'")
