"""`interpose uninstall --all` and `--purge` as people type them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from interpose.core.config.places import places_of
from interpose.doors.cli import main
from interpose.effects.agents import switch_reader
from tests.unit.doors.hooks.install.homes import answered, new_home, target

TEXT = '{\n  "model":   "opus"\n}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    home = new_home(tmp_path / "home", monkeypatch)
    monkeypatch.setattr(switch_reader, "SYSTEM", tmp_path / "system")
    monkeypatch.chdir(home)
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(TEXT)
    for words in (["install", "claude-code"], ["install", "gemini-cli", "--project"], ["policy", "enable", "git"]):
        assert main(words) == 0
    capsys.readouterr()
    return home


def left(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*"))


def test_all_of_it_goes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uninstall", "--all", "--purge"]) == 0
    shown = capsys.readouterr().out
    for part in (
        "Claude Code, ~/.claude/settings.json (user): hooks go",
        "Gemini CLI, ~/.gemini/settings.json (project): hooks go",
        "~/.local/state/interpose/hooks", "~/.config/interpose/policy", "-m pip uninstall interpose",
    ):  # fmt: skip
        assert part in shown
    assert left(home) == [".claude", ".claude/settings.json"]
    assert (home / ".claude" / "settings.json").read_text() == TEXT
    assert main(["uninstall", "--all", "--purge"]) == 0
    assert "there is nothing of Interpose to remove" in capsys.readouterr().out
    assert left(home) == [".claude", ".claude/settings.json"]


def test_all_agents_and_nothing_else(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uninstall", "--all"]) == 0
    shown = capsys.readouterr().out
    assert "No agent asks Interpose any more" in shown
    assert "What was there before is kept in ~/.local/state/interpose/backups" in shown
    assert (places_of().config / "policy" / "packs.yaml").exists()


def test_a_dry_run(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {name: (home / name).read_bytes() for name in left(home) if (home / name).is_file()}
    assert main(["uninstall", "--all", "--purge", "--dry-run"]) == 0
    assert '-    "PreToolUse": [' not in capsys.readouterr().out
    assert main(["uninstall", "--all", "--purge", "--dry-run", "--diff"]) == 0
    shown = capsys.readouterr().out
    assert '-    "PreToolUse": [' in shown
    assert "this was a dry run" in shown
    assert {name: (home / name).read_bytes() for name in left(home) if (home / name).is_file()} == before


def test_for_programs(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (places_of().config / "notes").write_text("mine")
    assert main(["uninstall", "--all", "--purge", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["done"]) == (False, True)
    assert [one["host"] for one in told["agents"]] == ["claude-code", "gemini-cli"]
    assert [one["path"] for one in told["stays"]] == [str(places_of().config / "notes")]


def test_what_is_left_is_said(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target("claude-code").path.write_text('{"hooks": interpose')
    assert main(["uninstall", "--all", "--purge"]) == 1
    shown = capsys.readouterr().out
    assert "LEFT     ~/.claude/settings.json:" in shown
    assert "line 1, column" in shown
    assert "nothing else was removed" in shown
    assert not (home / ".gemini").exists()
    assert (places_of().state / "hooks" / "claude-code").exists()


def test_settings_that_cannot_be_loaded_keep_nobody(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places_of().file.write_text("server: [")
    assert main(["uninstall", "--all", "--purge"]) == 1
    assert "nobody knows what it puts elsewhere" in capsys.readouterr().out
    assert left(home) == [".claude", ".claude/settings.json"]


@pytest.mark.parametrize(
    ("typed", "flags", "done"), [("y", [], True), ("", [], False), (None, [], False), ("", ["--yes"], True)]
)
def test_at_a_terminal_it_asks(
    typed: str | None, flags: list[str], done: bool, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", answered(typed))
    assert main(["uninstall", "--all", "--purge", *flags]) == (0 if done else 1)
    assert (places_of().state.exists()) is not done


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--purge"], "--all --purge"),
        (["claude-code", "--purge"], "--all --purge"),
        (["claude-code", "--all"], "leave out claude-code"),
        (["--all", "--project"], "leave out --project"),
        (["--all", "--user"], "leave out --user"),
    ],
)
def test_wrong_usage(words: list[str], why: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = left(home)
    assert main(["uninstall", *words]) == 64
    assert why in capsys.readouterr().err
    assert left(home) == before


@pytest.mark.parametrize(
    ("prefix", "line"),
    [
        ("/home/a/.local/pipx/venvs/interpose", "pipx uninstall interpose"),
        ("/home/a/.local/share/uv/tools/interpose", "uv tool uninstall interpose"),
        ("/home/a/env", "-m pip uninstall interpose"),
    ],
)
def test_how_the_program_itself_goes(
    prefix: str, line: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    assert main(["uninstall", "--all", "--purge"]) == 0
    assert line in capsys.readouterr().out
