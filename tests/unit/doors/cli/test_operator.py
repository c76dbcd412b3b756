"""`interpose approvals operator init --user`: another user answers, by one command."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from interpose.core.config.load import load
from interpose.doors.cli import main, operator
from interpose.doors.hooks.install.situation import ListeningServer

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: another user's directory needs root")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(operator, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(operator, "ORGANISATION", tmp_path / "etc" / "interpose.yaml")
    return tmp_path / "etc" / "interpose.yaml"


@pytest.mark.parametrize("kind", ["terminal", "passphrase"])
@pytest.mark.parametrize("pid", [0, 4711])
def test_a_passphrase_says_when_it_counts(
    kind: str, pid: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / ".config" / "interpose" / "interpose.yaml"
    settings.parent.mkdir(parents=True, mode=0o700)
    settings.write_text(f"approvals: {{proof: {kind}}}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "INTERPOSE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("getpass.getpass", lambda _prompt: "a long one of mine")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(operator, "listening", lambda at: ListeningServer(at, pid))
    assert main(["operator", "init", "--passphrase"]) == 0
    said = capsys.readouterr().out
    assert ("proof: passphrase" in said) == (kind == "terminal")
    assert ("kill 4711`" if pid else "No server runs") in said
    assert "again" not in said


WORDS = ("operator", "init", "--user", "daemon", "--for", "nobody")


@needs_root
def test_one_command_writes_what_no_user_can_change(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS, "--write"]) == 0
    assert "daemon answers for nobody, and nobody else" in capsys.readouterr().out
    assert file.stat().st_mode & 0o777 == 0o644
    settings = load(environ={"HOME": str(file.parent)}, organisation=file).config.approvals
    assert (settings.proof, settings.operator) == ("user", "daemon")
    assert "lock: [approvals]" in file.read_text()


@needs_root
def test_a_file_that_is_there_stays_and_the_lines_are_printed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.parent.mkdir()
    file.write_text("server: {port: 9000}\n")
    assert main([*WORDS, "--write"]) == 0
    printed = capsys.readouterr().out
    assert "was not changed" in printed
    assert "proof: user" in printed
    assert file.read_text() == "server: {port: 9000}\n"


@needs_root
def test_without_it_nothing_is_written(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*WORDS]) == 0
    assert "proof: user" in capsys.readouterr().out
    assert not file.exists()
