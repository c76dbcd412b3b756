"""`interpose approvals operator init --user`: another user answers, by one command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interpose.cli import main, operator
from interpose.config.load import load

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: another user's directory needs root")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(operator, "SHARED", tmp_path / "shared")
    monkeypatch.setattr(operator, "ORGANISATION", tmp_path / "etc" / "interpose.yaml")
    return tmp_path / "etc" / "interpose.yaml"


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
