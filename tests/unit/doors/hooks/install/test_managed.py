"""Hooks in an agent's managed settings: for everybody on a machine, against what a user or a project says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from interpose.core.config.load import load
from interpose.core.errors import SetupError
from interpose.doors.cli import main
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.doctor import installed_targets
from interpose.doors.hooks.install.places import file_for
from interpose.doors.hooks.install.records import Records
from interpose.effects.agents import switch_reader
from interpose.effects.systems import MACOS, OTHER, System
from tests.unit.doors.hooks.install.homes import installed, loose, new_home, target, tree, uninstalled

MANAGED = [
    name
    for name, host in HOSTS.items()
    if any(file.scope == "managed" for file in host.facts.setup.files)
]  # fmt: skip
BEFORE = '{\n  // the administrator\'s\n  "env": {"A": "1"},\n}\n'


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of our own, on which we are root."""
    new_home(tmp_path / "home", monkeypatch)
    monkeypatch.setattr(switch_reader, "SYSTEM", tmp_path / "system")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (tmp_path / "system" / "etc").mkdir(parents=True)
    return tmp_path / "system"


@pytest.mark.parametrize("other", [MACOS, OTHER], ids=lambda other: other.title)
@pytest.mark.parametrize("name", HOSTS)
def test_where_they_are_not_known_nothing_is_written(name: str, other: System, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent would not read them, and a person would take it for guarded."""
    monkeypatch.setattr("interpose.doors.hooks.install.places.this_system", lambda: other)
    assert file_for(HOSTS[name].facts, "managed") is None
    with pytest.raises(SetupError, match=f"managed settings on {other.title} is not known.*--user"):
        target(name, "managed")
    assert file_for(HOSTS[name].facts, "user") is not None


def test_who_has_managed_settings() -> None:
    assert set(MANAGED) == {"claude-code", "codex", "copilot", "cursor", "gemini-cli", "qwen-code", "windsurf"}


@pytest.mark.parametrize("name", MANAGED)
def test_put_there_and_taken_out_to_the_byte(name: str, system: Path) -> None:
    where = target(name, "managed")
    assert where.path.is_relative_to(system / "etc")
    before = tree(system)
    installed(where)
    assert where.path.is_file()
    assert where.path.stat().st_mode & 0o777 == 0o644
    assert where.path.parent.stat().st_mode & 0o777 == 0o755
    assert not installed(where).changed
    uninstalled(where)
    assert tree(system) == before


@pytest.mark.parametrize("name", [name for name in MANAGED if HOSTS[name].facts.setup.layout == "groups"])
def test_an_administrator_s_file_keeps_what_it_has(name: str, system: Path) -> None:
    where = loose(target(name, "managed"))
    where.path.parent.mkdir(parents=True)
    where.path.write_text(BEFORE, encoding="utf-8")
    installed(where)
    assert BEFORE[:40] in where.path.read_text(encoding="utf-8")
    uninstalled(where)
    assert where.path.read_text(encoding="utf-8") == BEFORE


def test_what_holds_them_on_is_written_too(system: Path) -> None:
    for name in ("gemini-cli", "qwen-code", "codex"):
        installed(target(name, "managed"))
    etc = system / "etc"
    assert json.loads((etc / "gemini-cli/settings.json").read_text())["hooksConfig"] == {"enabled": True}
    assert json.loads((etc / "qwen-code/settings.json").read_text())["disableAllHooks"] is False
    assert tomllib.loads((etc / "codex/requirements.toml").read_text())["features"]["hooks"] is True


def test_a_repository_can_t_name_them(system: Path) -> None:
    """Gemini CLI leaves out the hooks that any settings file names."""
    installed(target("gemini-cli", "managed"))
    hooks = json.loads((system / "etc/gemini-cli/settings.json").read_text())["hooks"]
    name = hooks["BeforeTool"][0]["hooks"][0]["name"]
    assert name.startswith("interpose-")
    assert len(name) > 20


def test_another_word_in_its_place_is_not_overwritten(system: Path) -> None:
    file = system / "etc/gemini-cli/settings.json"
    file.parent.mkdir()
    file.write_text('{"hooksConfig": {"enabled": false}}')
    with pytest.raises(SetupError, match="hooksConfig"):
        installed(target("gemini-cli", "managed"))
    requirements = system / "etc/codex/requirements.toml"
    requirements.parent.mkdir()
    requirements.write_text("[features]\nother = true\n")
    with pytest.raises(SetupError, match="put that into it"):
        installed(target("codex", "managed"))
    requirements.write_text("[features]\nother = true\nhooks = true\n")
    installed(target("codex", "managed"))
    uninstalled(target("codex", "managed"))
    assert requirements.read_text() == "[features]\nother = true\nhooks = true\n"


def test_a_host_without_them_says_so(system: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "opencode", "--managed", "--yes"]) == 1
    assert "OpenCode has no managed settings" in capsys.readouterr().err


def test_it_needs_root(system: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["install", "claude-code", "--managed", "--yes"]) == 1
    assert "sudo interpose install claude-code --managed" in capsys.readouterr().err
    assert main(["install", "claude-code", "--managed", "--dry-run"]) == 0
    assert tree(system) == {"etc": ((system / "etc").lstat().st_mode, b"")}


def test_the_command_is_nobody_s_file(system: Path) -> None:
    """INVARIANT of managed hooks: a user can change nothing that they start."""
    plan = installed(target("claude-code", "managed"))
    (change,) = plan.changed
    assert str(load().places.state) not in (change.after or b"").decode()


def test_doctor_finds_them_without_a_record(system: Path) -> None:
    installed(target("windsurf", "managed"))
    for record in Records(load().places).all():
        Records(load().places).forget(record.host, Path(record.path))
    ((where, record_of_it),) = installed_targets(load(), Path("/nowhere"))
    assert (where.scope, record_of_it) == ("managed", None)


AS_ANOTHER = """
import pwd, sys
from types import SimpleNamespace
pwd.getpwuid = lambda user: SimpleNamespace(pw_dir=sys.argv[1])
from interpose.doors.cli.hook import main
sys.exit(main(sys.argv[2:]))
"""
"""`interpose hook` of a user whose home the system says is another: the real one has a ledger that is none of ours."""


def test_a_project_s_variables_move_nothing(system: Path, tmp_path: Path) -> None:
    """A configuration that switches every guard off, in a place that only the environment names."""
    loose = tmp_path / "loose" / "interpose"
    (loose / "policy").mkdir(parents=True)
    guards = "builtin:command-safety-guard: {enabled: false}, builtin:security-audit: {enabled: false}"
    (loose / "interpose.yaml").write_text(f"interceptors: {{{guards}}}\n")
    (loose / "interpose.yaml").chmod(0o600)
    (loose / "policy" / "rules.yaml").write_text("version: 1\ndisable: [baseline/write-vital]\n")
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/", "tool_name": "run_shell_command",
             "tool_input": {"command": "truncate -s +0 /etc/passwd"}, "tool_use_id": "t", "tool_call_id": "t",
             "timestamp": "x", "transcript_path": "/x"}  # fmt: skip
    given = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "loose"), "XDG_CONFIG_HOME": str(tmp_path / "loose"),
             "INTERPOSE_CONFIG_DIR": str(loose)}  # fmt: skip
    for flags, refused in ((["--managed"], True), ([], False)):
        words = [sys.executable, "-c", AS_ANOTHER, str(tmp_path / "home"), "qwen-code", "--in-process", *flags]
        done = subprocess.run(words, input=json.dumps(event), capture_output=True, text=True, env=given, check=False)
        assert ('"deny"' in done.stdout) is refused, (flags, done.stdout, done.stderr)
    assert (tmp_path / "home" / ".local" / "state" / "interpose" / "ledger").is_dir()


def test_the_command_line_is_the_program_with_that_word(system: Path) -> None:
    installed(target("qwen-code", "managed"))
    hooks = json.loads(target("qwen-code", "managed").path.read_text())["hooks"]
    command = hooks["PreToolUse"][0]["hooks"][0]["command"]
    program = f"{sys.executable} -I -m interpose hook qwen-code --managed --within 30 --wait 240"
    assert command.startswith(f"{program} && exit 0; /bin/sh -c 'echo Denied by the Interpose hook")
    assert hooks["PreToolUse"][0]["hooks"][0]["timeout"] == 30 + 240 + 5
