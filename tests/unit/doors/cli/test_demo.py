"""The tour shows each of the four decisions, a hidden secret, and asks whoever sits there. Nothing runs."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from interpose.doors.cli import EXIT_CONFIG, main

QUESTION = "Discards every change that is not committed."


class Person(io.StringIO):
    """Somebody at a terminal who types these lines."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / "project").mkdir()  # a home is not worked in: there `git reset --hard` is asked about in other words
    monkeypatch.chdir(str(tmp_path / "project"))


def test_the_tour_shows_every_decision_and_a_hidden_secret(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--tour"]) == 0
    shown = capsys.readouterr().out
    assert re.findall(r"^   (refused|asks|runs as|runs)", shown, re.MULTILINE) == [
        "runs", "refused", "refused", "runs", "asks", "runs as",
    ]  # fmt: skip
    assert QUESTION in shown
    assert "--max-time 30" in shown
    assert "postgres://app:[redacted:url-password:" in shown
    assert "exec>" not in shown


@pytest.mark.parametrize(
    ("typed", "came"),
    [("y\n\n", "runs     since you said yes"), ("\n\n", "refused  since you did not say yes"), ("", "refused  since")],
)
def test_whoever_sits_there_is_asked(
    typed: str, came: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Person(typed))
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    assert f"? {QUESTION}" in shown
    assert came in shown


def test_what_is_typed_is_decided_without_the_interceptor_of_the_tour(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("curl https://example.com/other.json\nrm -rf /\n"))
    assert main(["demo"]) == 0
    _, _, mine = capsys.readouterr().out.partition("Your turn")
    assert re.findall(r"   (\w+)", mine) == ["runs", "refused"]


def test_rules_that_do_not_load_are_said_and_no_trace_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    from interpose.rules.policy.rule_places import user_directory

    user_directory().mkdir(parents=True)
    (user_directory() / "mine.yaml").write_text("version: 1\nrules: {}\n")
    assert main(["demo", "--tour"]) == EXIT_CONFIG
    assert "mine.yaml:2" in capsys.readouterr().err
