from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpose.doors.cli import main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "INTERPOSE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_init_writes_once_and_for_the_owner_only(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / ".config/interpose/interpose.yaml"
    assert main(["config", "init"]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("server: {port: 1}\n")
    assert main(["config", "init"]) == 1
    assert "there already" in capsys.readouterr().err
    assert file.read_text() == "server: {port: 1}\n"
    assert main(["config", "init", "--force"]) == 0
    assert "#server:" in file.read_text()
    assert main(["config", "check"]) == 0


def test_init_does_not_write_through_a_link(home: Path) -> None:
    file, other = home / ".config/interpose/interpose.yaml", home / "other"
    file.parent.mkdir(parents=True)
    file.symlink_to(other)
    assert main(["config", "init"]) == 1
    assert not other.exists()


def test_show_says_where_values_come_from(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".config/interpose/interpose.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("server:\n  port: 1\nstore: {url: 'postgresql://u:hunter2@h'}\n")
    file.chmod(0o600)
    monkeypatch.setenv("INTERPOSE_SERVER_HOST", "::1")
    assert main(["config", "show", "--origin"]) == 0
    said = capsys.readouterr().out
    assert f"server.port: 1  ({file}:2)\n" in said
    assert 'server.host: "::1"  (INTERPOSE_SERVER_HOST)\n' in said
    assert "intercept.enabled: true  (default)\n" in said
    assert "hunter2" not in said
    assert main(["config", "show", "--json", "--origin"]) == 0
    assert json.loads(capsys.readouterr().out)["server.port"] == {"value": 1, "origin": f"{file}:2"}
    assert main(["config", "show", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["server"]["host"] == "::1"


def test_check_tells_all_mistakes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / "mine.yaml"
    file.write_text('server:\n  port: "abc"\n  prot: 1\n')
    file.chmod(0o600)
    assert main(["config", "check", str(file)]) == 78
    said = capsys.readouterr().err
    assert f'{file}:2: server.port: expected an integer from 0 to 65535, got "abc"\n' in said
    assert f"{file}:3: server.prot: unknown key 'prot', did you mean 'port'?\n" in said
    assert main(["config", "check", "--json", str(file)]) == 78
    answer = json.loads(capsys.readouterr().out)
    assert not answer["ok"]
    assert [problem["key"] for problem in answer["problems"]] == ["server.port", "server.prot"]
    assert main(["config", "check", str(home / "none.yaml")]) == 78


def test_schema_is_json(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Interpose configuration"
