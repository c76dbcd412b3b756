"""Every line that `doctor` can find open names a file and what to do next, to people and to programs."""

from __future__ import annotations

import ast
import fcntl
import json
import os
import socket
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import time_ns
from unittest.mock import patch

import pytest

import interpose
from interpose.composition.build import open_ledger, open_service
from interpose.core.config.load import load
from interpose.core.driving import drive
from interpose.doors.cli import main
from interpose.doors.hooks.clients import client_files
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.doors.hooks.install import own_environment
from interpose.doors.hooks.install.remedies import REMEDIES
from interpose.effects.environment.facts import environment_at
from interpose.record.store.protocols import NEVER
from tests.unit.doors.hooks.install.homes import installed, new_home, target


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home in which no server is started: who would start one finds it being started already."""
    home = new_home(tmp_path / "home", monkeypatch)
    (home / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    monkeypatch.chdir(home)
    lock = Path(load().config.hooks.socket).with_name("start.lock")
    lock.parent.mkdir(parents=True, mode=0o700)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    yield home
    os.close(handle)


Spoil = Callable[[Path, ExitStack], None]


def _client(name: str) -> Path:
    return load().places.state / "hooks" / name


def _settings(home: Path, text: str) -> None:
    file = home / ".config" / "interpose" / "interpose.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)


def _changed(name: str, old: str, new: str) -> None:
    path = target(name).path
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def _installed_deaf(name: str, *, fail_open: bool = False) -> None:
    """Without the hook that canaries are put to: running those takes long, and is not what such a case is about."""
    installed(target(name), fail_open=fail_open)
    _changed(name, '"PreToolUse"', '"Stop"')
    _changed(name, '"preToolUse"', '"stop"')


def never_decides(_home: Path, _stack: ExitStack) -> None:
    _installed_deaf("claude-code")


def no_json(_home: Path, _stack: ExitStack) -> None:
    installed(target("claude-code"))
    target("claude-code").path.write_text("{", encoding="utf-8")


def lets_everything_through(_home: Path, _stack: ExitStack) -> None:
    installed(target("kiro"))
    _client("kiro").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")


def client_gone(_home: Path, _stack: ExitStack) -> None:
    installed(target("codex"))
    _client("codex").unlink()


def no_way_back(_home: Path, _stack: ExitStack) -> None:
    """Somebody took away what refuses when the client is gone."""
    installed(target("kiro"))
    path = target("kiro").path
    hooks = json.loads(path.read_text(encoding="utf-8"))
    for entries in hooks["hooks"].values():
        for entry in entries:
            entry["command"] = str(_client("kiro"))
    path.write_text(json.dumps(hooks), encoding="utf-8")


def guard_off(home: Path, _stack: ExitStack) -> None:
    _settings(home, "interceptors: {builtin:command-safety-guard: {enabled: false}}\n")
    policy = home / ".config" / "interpose" / "policy"
    policy.mkdir()
    (policy / "rules.yaml").write_text("version: 1\ndisable: [baseline/write-vital]\n", encoding="utf-8")
    installed(target("windsurf"))


REFUSING = """version: 1
rules:
  - {id: mine/nothing, on: {tools: [exec]}, when: "true", action: deny, message: Nothing runs today.}
"""


def refuses_everything(home: Path, _stack: ExitStack) -> None:
    policy = home / ".config" / "interpose" / "policy"
    policy.mkdir(parents=True)
    (policy / "rules.yaml").write_text(REFUSING, encoding="utf-8")
    installed(target("windsurf"))


def no_fallback(_home: Path, stack: ExitStack) -> None:
    """`install` itself wrote a line without one: only such a line is tried, and doctor still has to notice."""
    stack.enter_context(patch.object(client_files, "_or_denied", lambda program, _: program))
    installed(target("kiro"))


def chosen(_home: Path, _stack: ExitStack) -> None:
    _installed_deaf("kiro", fail_open=True)


def configured(home: Path, _stack: ExitStack) -> None:
    _settings(home, "hooks: {fail_open: true}\n")
    _installed_deaf("kiro")


def anybody_s(_home: Path, _stack: ExitStack) -> None:
    _installed_deaf("kiro")
    target("kiro").path.chmod(0o666)


def old_agent(home: Path, _stack: ExitStack) -> None:
    _installed_deaf("claude-code")
    program = home / "bin" / "claude"
    program.write_text("#!/bin/sh\necho '2.1.294 (Claude Code)'\n", encoding="utf-8")
    program.chmod(0o755)


def switched_off(_home: Path, _stack: ExitStack) -> None:
    _installed_deaf("claude-code")
    _changed("claude-code", "{\n", '{\n  "disableAllHooks": true,\n')


def switched_off_by_a_variable(_home: Path, stack: ExitStack) -> None:
    _installed_deaf("claude-code")
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    patch.setenv("CLAUDE_CODE_SIMPLE", "1")


def never_heard(home: Path, _stack: ExitStack) -> None:
    _installed_deaf("qwen-code")
    trace = home / ".qwen" / "tmp" / "x"
    trace.parent.mkdir(parents=True)
    trace.touch()
    later = time_ns() + 3600 * 1_000_000_000
    os.utime(trace, ns=(later, later))


def bad_rules(home: Path, _stack: ExitStack) -> None:
    policy = home / ".config" / "interpose" / "policy"
    policy.mkdir(parents=True)
    (policy / "rules.yaml").write_text("version: 1\nrules: [{id: x}]\n", encoding="utf-8")


def _ledger() -> Path:
    directory = Path(load().config.ledger.directory)
    open_ledger(directory).close()
    return directory


def broken_ledger(_home: Path, _stack: ExitStack) -> None:
    (_ledger() / "ledger.db").write_bytes(b"no database" * 1000)


def lost_ledger(_home: Path, _stack: ExitStack) -> None:
    directory = _ledger()
    for path in directory.glob("ledger.db*"):
        path.unlink()


def loose_ledger(_home: Path, _stack: ExitStack) -> None:
    _ledger().chmod(0o777)


def deaf_server(_home: Path, stack: ExitStack) -> None:
    server = stack.enter_context(socket.socket(socket.AF_UNIX))
    server.bind(load().config.hooks.socket)
    server.listen(16)


def unapproved(_home: Path, _stack: ExitStack) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "git push --force origin topic"}, "tool_use_id": "t1"}
    event = {"session_id": "s", "permission_mode": "default", **call}
    with open_service(load().config, follow=False, serving=True) as service:
        for name in ("PreToolUse", "PostToolUse"):
            body = json.dumps({**event, "hook_event_name": name, "tool_response": {"stdout": "ok"}}).encode()
            drive(answer(service, HOSTS["claude-code"], body))
        service.ledger.flush()


def forged(_home: Path, _stack: ExitStack) -> None:
    directory = _ledger()
    with closing(sqlite3.connect(directory / "ledger.db")) as store:
        store.execute("INSERT INTO grants VALUES (?, ?, ?, ?, ?, ?)", ("forged01", b"x", 9, NEVER, time_ns(), b"{}"))
        store.commit()


def let_through(_home: Path, _stack: ExitStack) -> None:
    (_ledger() / "opened.jsonl").write_text('{"at": 1, "host": "kiro"}\n', encoding="utf-8")


def tampered_environment(home: Path, stack: ExitStack) -> None:
    """A library is not as its record says, a file runs at every start, and nothing says which Python was meant."""
    library = home / "env" / "lib" / "site-packages"
    info = library / "interpose-0.2.0.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_text("interpose.py,sha256=AAAA,3\n", encoding="utf-8")
    (library / "interpose.py").write_text("x=1", encoding="utf-8")
    (library / "more.pth").write_text("import more\n", encoding="utf-8")
    spoilt = environment_at(
        str(home / "env"), virtual=True, interpreter=sys.executable, libraries=(str(library),), package=""
    )
    stack.enter_context(patch.object(own_environment, "running", lambda: spoilt))


def nothing(_home: Path, _stack: ExitStack) -> None:
    """Nobody has installed anything."""


# What is wrong, the lines that are open (any others may be, too), the file that one of them names, and a word of what
# to do.
OPEN: list[tuple[Spoil, set[str], str, str]] = [
    (never_decides, {"installed", "asks"}, ".claude/settings.json", "interpose install claude-code"),
    (no_json, {"installed", "asks"}, ".claude/settings.json", "put that right, then run"),
    (lets_everything_through, {"installed", "asks"}, ".kiro/agents/interpose.json", "interpose install kiro"),
    (client_gone, {"asks", "files", "trust"}, ".codex/config.toml", "/hooks"),
    (no_way_back, {"installed", "asks"}, ".kiro/agents/interpose.json", "interpose install kiro"),
    (refuses_everything, {"allows"}, ".codeium/windsurf/hooks.json", "interpose check true"),
    (guard_off, {"refuses", "without a server"}, ".codeium/windsurf/hooks.json", "interpose policy test"),
    (no_fallback, {"if it crashes"}, ".kiro/agents/interpose.json", "interpose install kiro"),
    (chosen, {"fail-open"}, ".kiro/agents/interpose.json", "without --fail-open"),
    (configured, {"fail-open"}, ".config/interpose/interpose.yaml", "take `hooks.fail_open` out"),
    (anybody_s, {"files"}, ".kiro/agents/interpose.json", "run `chmod o-w "),
    (old_agent, {"version"}, "bin/claude", "update Claude Code to 2.1.295"),
    (switched_off, {"off switch"}, ".claude/settings.json", "interpose doctor claude-code"),
    (switched_off_by_a_variable, {"off switch"}, "CLAUDE_CODE_SIMPLE", "interpose doctor claude-code"),
    (never_heard, {"never asked"}, ".qwen", "start Qwen Code again"),
    (bad_rules, {"policy"}, "policy/rules.yaml", "interpose policy test"),
    (broken_ledger, {"ledger", "chain"}, "ledger/ledger.db", "interpose audit recover"),
    (lost_ledger, {"ledger", "chain"}, "ledger/ledger.db", "interpose audit recover"),
    (loose_ledger, {"files"}, "interpose/ledger", "run `chmod go-w "),
    (deaf_server, {"server"}, "hook.sock", "end that process"),
    (unapproved, {"unapproved"}, "ledger/ledger.db", "`interpose help agents` says which modes ask"),
    (forged, {"grants"}, "ledger/ledger.db", "interpose approvals grants revoke"),
    (let_through, {"let through"}, "ledger/opened.jsonl", "remove this file"),
    (
        tampered_environment,
        {"program files", "start files", "interpreter"},
        "site-packages/interpose.py",
        "-m pip install --force-reinstall",
    ),
    (nothing, {"hooks"}, "interpose/installs", "`interpose install` alone offers"),
]


@pytest.mark.parametrize(("spoil", "names", "file", "todo"), OPEN, ids=[case[0].__name__ for case in OPEN])
def test_an_open_line_says_where_and_what(
    spoil: Spoil, names: set[str], file: str, todo: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as stack:
        spoil(home, stack)
        capsys.readouterr()
        assert main(["doctor", "--json"]) == 1
        told = json.loads(capsys.readouterr().out)
        people = not told["hosts"] and "server" not in names  # where nothing is waited for: all lines are made alike
        assert not people or main(["doctor"]) == 1
        shown = capsys.readouterr().out
    checks = [check for host in told["hosts"] for check in host["checks"]] + told["around"]
    found = [check for check in checks if check["level"] == "open"]
    assert names <= {check["name"] for check in found}
    for check in found:
        assert check["file"], check
        assert check["todo"], check
        assert "{" not in check["todo"], check
    assert any(file in check["file"] and todo in check["todo"] for check in found if check["name"] in names), found
    lines = shown.splitlines()
    opened = [at for at, line in enumerate(lines) if line.startswith("  OPEN")]
    assert len(opened) == (len(found) if people else 0)
    assert all(lines[at + 1].startswith(" " * 25) and ": " in lines[at + 1] for at in opened)
    assert not any(check["todo"] for check in checks if check["level"] == "ok")


def test_every_remedy_is_tried() -> None:
    assert set().union(*(names for _, names, _, _ in OPEN)) == set(REMEDIES)


def test_every_line_that_can_be_open_has_a_remedy() -> None:
    """By the source: a new line needs a row of the table."""
    root = Path(interpose.__file__).parent
    files = [f"hooks/install/{name}.py" for name in ("doctor", "unguarded", "believed_files", "own_environment")]
    files.append("cli/doctor.py")
    nodes = [
        node for file in files for node in ast.walk(ast.parse((root / "doors" / file).read_text(encoding="utf-8")))
    ]
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    made = [node.args for node in calls if ast.unparse(node.func) in ("HostCheck", "Unguarded", "_expected")]
    named = {
        name.value
        for name, level, *_ in made
        if isinstance(name, ast.Constant) and (not isinstance(level, ast.Constant) or level.value == "open")
    }
    assert named == set(REMEDIES)
