"""`interpose install`, `uninstall` and `doctor` as people type them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from interpose.core.config import load as config_load
from interpose.core.config.load import load
from interpose.doors.cli import main
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.install.records import Records
from tests.unit.doors.hooks.install.homes import answered, new_home, target, tree

TEXT = '{\n  "model": "opus"\n}\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = new_home(tmp_path / "home", monkeypatch)
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def settings(home: Path) -> Path:
    path = target("claude-code").path
    path.parent.mkdir()
    path.write_text(TEXT, encoding="utf-8")
    return path


LABELS = ["agent", "file", "events", "changes", "if it fails"]


def test_five_lines_are_shown_and_undone(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "claude"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line[:12].strip() for line in shown[:5]] == LABELS
    assert shown[1] == "file        ~/.claude/settings.json; a copy of it is kept"
    assert shown[2] == "events      10: PreToolUse and PermissionRequest decide, 8 report"
    changes = (
        "adds 10 hooks and the statusLine, and changes nothing else; writes 3 files in ~/.local/state/interpose/hooks"
    )
    assert shown[3] == f"changes     {changes}"
    assert shown[5] == "Claude Code: installed at ~/.claude/settings.json."
    assert shown[6].startswith("What was there before is kept in ~/.local/state/")
    assert any(line.startswith("- Cursor, VS Code may run this file, too") for line in shown)
    assert shown[-1].startswith("Next: `interpose doctor` ")
    assert not [line for line in shown if line.startswith("+")]
    assert main(["install", "claude-code"]) == 0
    again = capsys.readouterr().out
    assert "changes     nothing: it is as it should be" in again
    assert "Claude Code is already installed at ~/.claude/settings.json." in again
    assert main(["uninstall", "claude-code"]) == 0
    gone = capsys.readouterr().out
    assert "changes     removes 10 hooks and the statusLine, and nothing else; removes 3 files in" in gone
    assert "Claude Code: uninstalled at" in gone
    assert settings.read_text(encoding="utf-8") == TEXT
    assert main(["uninstall", "claude-code"]) == 0
    assert "Claude Code is not installed at" in capsys.readouterr().out


def test_the_difference_is_shown_to_those_who_ask(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "claude", "--diff"]) == 0
    shown = capsys.readouterr().out
    assert [line[:12].strip() for line in shown.splitlines()[:5]] == LABELS
    for part in (
        "--- ~/.claude/settings.json", '-  "model": "opus"', '+  "model": "opus",', '+    "PreToolUse": [',
        "writes ~/.local/state/interpose/hooks/claude-code",
    ):  # fmt: skip
        assert part in shown
    assert main(["uninstall", "claude", "--diff"]) == 0
    assert '-    "PreToolUse": [' in capsys.readouterr().out


def program(home: Path, name: str, says: str) -> None:
    place = home / "bin" / name
    place.parent.mkdir(exist_ok=True)
    place.write_text(f"#!/bin/sh\necho {says}\n")
    place.chmod(0o755)


@pytest.fixture
def found(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with two agents: one by its program, one by its directory."""
    monkeypatch.setenv("PATH", str(home / "bin"))
    program(home, "claude", "2.1.400")
    (home / ".codex").mkdir()
    return home


def test_without_an_agent_those_that_are_here_are_listed(found: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(found)
    assert main(["install"]) == 64
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "interpose install: which agent? These were found here:",
        "  interpose install claude-code  # Claude Code: ~/bin/claude",
        "  interpose install codex        # Codex CLI: ~/.codex",
    ]
    assert main(["install", "--yes"]) == 64
    assert main(["install", "--project"]) == 64
    assert "  interpose install codex --project " in capsys.readouterr().err
    assert main(["install", "--json"]) == 64
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], [one["command"] for one in told["agents"]]) == (
        False, ["interpose install claude-code", "interpose install codex"],
    )  # fmt: skip
    assert tree(found) == before


def test_an_agent_that_has_hooks_says_so(found: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install", "claude-code"])
    capsys.readouterr()
    assert main(["install"]) == 64
    assert "~/bin/claude, has our hooks in ~/.claude/settings.json" in capsys.readouterr().err


def test_where_no_agent_is_found(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["install"]) == 64
    assert "interpose install --list" in capsys.readouterr().err


def typing(monkeypatch: pytest.MonkeyPatch, *lines: str | None) -> None:
    """A person at a terminal, who types these lines."""
    left = iter(lines)

    def read(prompt: str) -> str:
        return answered(next(left))(prompt)

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", read)


@pytest.mark.parametrize(
    ("lines", "code", "guarded"),
    [
        (["1", "y"], 0, ["claude-code"]),
        (["codex", "y"], 0, ["codex"]),
        (["2, claude", "y", "y"], 0, ["claude-code", "codex"]),
        (["all", "y", "n"], 1, ["claude-code"]),
        (["3", "1", "y"], 0, ["claude-code"]),
        (["gemini-cli", "0", "x", ""], 1, []),
        (["1", ""], 1, []),
        ([""], 1, []),
        ([None], 1, []),
    ],
)
def test_at_a_terminal_a_person_chooses(
    lines: list[str | None], code: int, guarded: list[str], found: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    typing(monkeypatch, *lines)
    assert main(["install"]) == code
    assert [each.host for each in Records(load().places).all()] == guarded
    shown = capsys.readouterr().out
    assert "1  Claude Code  ~/bin/claude" in shown
    assert ("Next: `interpose doctor`" in shown) is bool(guarded)


@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_a_dry_run_changes_nothing(verb: str, settings: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if verb == "uninstall":
        main(["install", "claude-code"])
        capsys.readouterr()
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert main([verb, "claude-code", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "10 hooks" in shown
    assert "this was a dry run" in shown
    assert "Next:" not in shown
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("typed", "flags", "done"),
    [("y", [], True), ("", [], False), (None, [], False), ("n", [], False), ("", ["--yes"], True)],
)
def test_at_a_terminal_it_asks(
    typed: str | None, flags: list[str], done: bool, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", answered(typed))
    assert main(["install", "claude-code", *flags]) == (0 if done else 1)
    assert ("PreToolUse" in settings.read_text(encoding="utf-8")) is done


def test_for_programs(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "claude-code", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["done"], told["scope"]) == (True, True, "user")
    assert [change["change"] for change in told["changes"]] == ["created", "created", "created", "changed"]
    assert '+    "PreToolUse": [' in told["changes"][-1]["diff"]
    assert told["summary"]["events"] == "10: PreToolUse and PermissionRequest decide, 8 report"
    settings.write_text("{", encoding="utf-8")
    assert main(["install", "claude-code", "--json"]) == 1
    assert "line 1, column 2" in json.loads(capsys.readouterr().out)["problem"]


def test_a_project(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "work").mkdir()
    before = tree(home)
    assert main(["install", "claude-code", "--project", "--cwd", str(home / "work")]) == 0
    shown = capsys.readouterr().out
    assert "Copilot CLI, Cursor, VS Code may run this file, too" in shown
    assert "refuse every call until they install for themselves" in shown
    assert main(["install", "cursor", "--project", "--cwd", str(home / "work")]) == 0
    capsys.readouterr()
    assert main(["install", "claude-code", "--project", "--cwd", str(home / "work"), "--dry-run"]) == 0
    assert "Hooks of Cursor are installed as well" in capsys.readouterr().out
    for name in ("claude-code", "cursor"):
        assert main(["uninstall", name, "--project", "--cwd", str(home / "work")]) == 0
    assert tree(home) == before


def test_codex_has_to_be_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "codex"]) == 0
    assert "trust the new hooks with /hooks" in capsys.readouterr().out


def test_the_list(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install", "kiro"])
    capsys.readouterr()
    assert main(["install", "--list"]) == 0
    shown, legend = capsys.readouterr()
    assert "`interpose help agents`" in legend, "it says what its words mean"
    assert all(host in shown for host in HOSTS)
    assert "installed at ~/.kiro/agents/interpose.json" in shown
    assert main(["install", "--list", "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    assert [row["host"] for row in rows if row["experimental"]] == ["windsurf"]
    assert [row["host"] for row in rows if row["installed"]] == ["kiro"]


@pytest.mark.parametrize("words", [["install", "emacs"], ["uninstall"], ["uninstall", "emacs"], ["doctor", "emacs"]])
def test_unknown_agents(words: list[str], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 64
    assert "claude-code" in capsys.readouterr().err


def test_failing_open_can_be_forbidden(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    organisation = tmp_path / "organisation.yaml"
    organisation.write_text("lock: [hooks.fail_open]\n", encoding="utf-8")
    organisation.chmod(0o600)
    real = config_load.load
    monkeypatch.setattr(
        "interpose.doors.cli.installing.install_shared.load", lambda **given: real(organisation=organisation, **given)
    )
    assert main(["install", "claude-code", "--fail-open"]) == 78
    assert "locked by" in capsys.readouterr().err
    assert not target("claude-code").path.exists()
    assert main(["install", "claude-code"]) == 0


def test_doctor_without_any_hooks(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["hosts"]) == (False, [])
    levels = {check["name"]: check["level"] for check in told["around"]}
    assert levels.pop("environment") in ("ok", "note")  # by where these tests run
    assert levels == {
        "policy": "ok", "ledger": "ok", "chain": "ok", "server": "ok", "hooks": "open", "interpreter": "ok",
        "program files": "ok",
    }  # fmt: skip
    assert main(["doctor", "codex"]) == 1
    assert "interpose install codex" in capsys.readouterr().out
