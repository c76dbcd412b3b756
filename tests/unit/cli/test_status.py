"""`interpose status` says what holds, and says it when nothing can."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpose.cli import main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    project = tmp_path / "project"
    (project / ".interpose").mkdir(parents=True)
    return project


def status(project: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    code = main(["status", "--json", "--cwd", str(project)])
    return code, json.loads(capsys.readouterr().out)


def test_what_holds_without_any_file(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, told = status(project, capsys)
    assert code == 0
    assert told["packs"] == ["baseline"]
    assert "builtin:command-safety-guard" in str(told["guards"])


def test_the_revision_follows_the_rules(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, before = status(project, capsys)
    rule = "{id: no-x, when: 'tool == \"exec\"', action: deny, message: no, examples: {match: [x]}}"
    (project / ".interpose" / "policy.yaml").write_text(f"version: 1\nrules: [{rule}]\n", encoding="utf-8")
    code, after = status(project, capsys)
    assert (code, before["policy"] != after["policy"]) == (0, True)
    assert after["levels"] == {**before["levels"], "project": 1}  # type: ignore[dict-item]  # JSON


def test_an_attempt_to_loosen_is_shown(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".interpose" / "policy.yaml").write_text(
        "version: 1\ndisable: [baseline/delete-machine]\n", encoding="utf-8"
    )
    code, told = status(project, capsys)
    assert code == 0
    assert "baseline/delete-machine" in str(told["refused"])


def test_rules_that_cannot_be_loaded(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".interpose" / "policy.yaml").write_text("version: 1\nrules: [{id: x}]\n", encoding="utf-8")
    code, told = status(project, capsys)
    assert (code, told["policy"]) == (78, None)
    assert "policy.yaml" in str(told["problems"])
    assert main(["status", "--cwd", str(project)]) == 78
    assert "cannot be loaded" in capsys.readouterr().out
