"""`interpose governance` and `interpose governance role`: a file to begin with, its mistakes and roles."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from interpose.doors.cli import EXIT_CONFIG, EXIT_USAGE, main
from interpose.rules.governance.files.load import ready_names, ready_text

ENFORCED = ready_text("tiers").replace("\nmode: watch", "\nmode: enforce", 1)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's file is looked for; the test works in a project of that user."""
    home = tmp_path / "home"
    project = home / "proj"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("INTERPOSE_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.chdir(project)
    return tmp_path / "config" / "governance.yaml"


def enforced(file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(ENFORCED, encoding="utf-8")


def test_init_writes_a_file_to_begin_with_and_never_over_one(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["governance", "init"]) == 0
    assert config.read_text(encoding="utf-8") == ready_text("tiers")
    config.write_text("# mine\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["governance", "init"]) == 1
    assert "is there already" in capsys.readouterr().err
    assert config.read_text(encoding="utf-8") == "# mine\n"


def test_init_writes_no_file_through_a_link(config: Path) -> None:
    config.parent.mkdir()
    config.symlink_to(config.parent / "elsewhere")
    assert main(["governance", "init"]) == 1
    assert not (config.parent / "elsewhere").exists()


@pytest.mark.parametrize("name", ready_names())
def test_every_ready_file_begins_a_clean_one(name: str, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["governance", "init", "--ready", name]) == 0
    assert config.read_text(encoding="utf-8") == ready_text(name)
    assert main(["governance", "check"]) == 0
    assert "nothing wrong" in capsys.readouterr().out


def test_a_project_has_a_file_of_its_own(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["governance", "init", "--project"]) == 0
    assert Path(".interpose/governance.yaml").is_file()
    assert not config.exists()
    capsys.readouterr()
    assert main(["governance", "check", "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert file["level"] == "project"
    assert file["roles"] == 5


def test_check_tells_all_that_is_wrong(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.parent.mkdir()
    config.write_text("version: 1\nmode: wach\nroles: {a: {parent: b}}\n", encoding="utf-8")
    assert main(["governance", "check"]) == EXIT_CONFIG
    told = capsys.readouterr().err
    assert f"{config}:2: mode: expected enforce or watch" in told
    assert main(["governance", "check", "--json"]) == EXIT_CONFIG
    (problem,) = json.loads(capsys.readouterr().out)["problems"]
    assert (problem["line"], problem["file"]) == (2, str(config))


def test_check_notes_what_is_probably_not_meant(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "g.yaml"
    file.write_text(
        "version: 1\nroles:\n  a: {tools: {deny: [exce]}, ceiling: {deny: [write]}}\n"
        "  b: {parent: a, tools: {allow: [write, exec]}, write: []}\n",
        encoding="utf-8",
    )
    assert not config.exists()
    assert main(["governance", "check", str(file)]) == 0
    told = capsys.readouterr().out
    assert "g.yaml:3: roles.a.tools.deny: 'exce' is no tool that is known, did you mean 'exec'?" in told
    assert "'write' is denied all the same" in told
    assert "no agent has a role" in told
    assert "scopes do not see that" in told


def test_without_a_file_it_says_how_to_begin(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["governance", "check"], ["governance", "show"], ["role", "check", "a", "read"]):
        assert main(given) == EXIT_CONFIG
        assert f"{config}:1: there is no such file; `interpose governance init` begins one" in capsys.readouterr().err


def test_show_tells_what_each_role_has(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enforced(config)
    assert main(["governance", "show", "--role", "researcher"]) == 0
    shown = capsys.readouterr().out
    assert "researcher  below project-coordinator, meta-coordinator" in shown
    assert "write         no file" in shown
    assert "ceiling       writes only PROJECT (governance.yaml:" in shown
    assert "project-worker  below" not in shown
    assert main(["governance", "show", "--json"]) == 0
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert file["roles"]["researcher"]["commands"] == ["inspection"]
    assert main(["governance", "show", "--role", "reseacher"]) == EXIT_CONFIG
    assert "Did you mean researcher?" in capsys.readouterr().err


def test_the_schema_is_one(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not config.exists()
    assert main(["governance", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "Interpose governance"


@pytest.mark.parametrize(
    ("note", "given", "code", "said"),
    [
        ("a tool", ["researcher", "Read"], 0, "ALLOW  researcher Read"),
        ("a denied one", ["researcher", "Write"], 2, "has no write"),
        ("an asked one", ["project-worker", "send_message"], 1, "ASK  project-worker send_message"),
        ("a file", ["project-worker", "write", "--path", "src/a.py"], 0, "ALLOW"),
        ("a file outside", ["project-worker", "write", "--path", ".claude/x"], 2, "lies in META"),
        ("both ends", ["project-worker", "move", "--path", "AGENTS.md", "--path", "x"], 2, "may not delete AGENTS.md"),
        ("a command", ["researcher", "bash", "--command", "git log"], 0, "ALLOW"),
        ("a denied command", ["researcher", "bash", "--command", "cat x; curl y"], 2, "may not run curl y (network)"),
        ("a tool alone", ["project-worker", "write"], 0, "ALLOW"),
        ("an argument", ["project-worker", "write", "--arg", "filePath=/etc/x"], 2, "lies in no scope"),
        ("a wrapper", ["researcher", "tool_call", "--arg", "name=write"], 2, "may not use write"),
    ],
)
def test_role_check_answers_with_its_exit_code(
    note: str, given: list[str], code: int, said: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    enforced(config)
    assert main(["role", "check", *given]) == code, note
    assert said in capsys.readouterr().out


def test_role_check_says_why_and_what_instead(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enforced(config)
    assert main(["role", "check", "researcher", "Write", "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert (answer["decision"], answer["tool"]) == ("deny", "write")
    (ruling,) = answer["rulings"]
    assert ruling["instead"] == "Report what you found. A project-worker makes the change."
    assert ruling["evidence"].startswith("governance.yaml:")


def test_what_is_only_watched_is_told_and_allowed(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["governance", "init"])
    assert main(["role", "check", "researcher", "Write"]) == 0
    assert "deny  governance/role (only watched)" in capsys.readouterr().out


def test_the_strictest_of_all_files_counts(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enforced(config)
    assert main(["role", "check", "project-worker", "exec"]) == 0
    Path(".interpose").mkdir()
    Path(".interpose/governance.yaml").write_text(
        "version: 1\nunknown_role: allow\nroles: {project-worker: {tools: {deny: [exec]}}}\n", encoding="utf-8"
    )
    capsys.readouterr()
    assert main(["role", "check", "project-worker", "exec"]) == 2
    assert ".interpose/governance.yaml:3: roles.project-worker.tools.deny has exec" in capsys.readouterr().out
    assert main(["role", "check", "researcher", "write"]) == 2, "the user's file still counts"


def test_a_file_can_be_named(config: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("version: 1\nroles: {a: {tools: {ask: [read]}}}\n", encoding="utf-8")
    assert not config.exists()
    assert main(["role", "check", "a", "read", "--file", str(file)]) == 1
    assert main(["role", "check", "a", "read", "--file", str(tmp_path / "none.yaml")]) == EXIT_CONFIG


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["researchr", "read"], "there is no role 'researchr'. Did you mean researcher?"),
        (["researcher", "move", "--path", "a", "--path", "b", "--path", "c"], "at most twice"),
        (["researcher", "bash", "--command", "x", "--arg", "command=y"], "given twice"),
        (["researcher", "batch", "--arg", "calls=x"], "make them one by one"),
    ],
)
def test_wrong_usage_is_told(given: list[str], said: str, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    enforced(config)
    assert main(["role", "check", *given]) == EXIT_USAGE
    assert said in capsys.readouterr().err


def test_a_pipe_in_the_place_of_a_file_makes_nobody_wait(config: Path) -> None:
    config.parent.mkdir()
    os.mkfifo(config)
    assert main(["governance", "check"]) == EXIT_CONFIG
