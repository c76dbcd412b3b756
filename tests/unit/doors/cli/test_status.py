"""`interpose status` says what holds, and says it when nothing can."""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import monotonic

import pytest

from interpose.composition.build import open_service
from interpose.core.config.load import load
from interpose.core.driving import drive
from interpose.core.types import Context, ToolCall
from interpose.doors.cli import main
from interpose.doors.hooks.hosts.all_hosts import HOSTS
from interpose.doors.hooks.hosts.event_answer import answer
from interpose.record.ledger import search
from interpose.record.store.protocols import Query
from tests.unit.doors.hooks.install.homes import installed, new_home, target


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    new_home(tmp_path / "home", monkeypatch)
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


def test_agents_ledger_and_questions_in_one_screen(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    installed(target("claude-code"), fail_open=True)
    installed(target("kiro"))
    context = Context(session_id="s1", source="hook:claude-code")
    began = monotonic()
    with open_service(load().config, follow=False, serving=True) as service:
        for command in ("ls", "git push --force origin topic"):
            service.run(context).before(ToolCall("exec", {"command": command}, context=context))
    assert main(["status", "--cwd", str(project)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 24
    shown = "\n".join(lines)
    for part in (
        "server     none runs", "2 decisions", "1 waits for an answer", "Kiro CLI, never heard yet",
        "fail-open  calls that can't be decided run; 0 did",
    ):  # fmt: skip
        assert part in shown
    heard = re.search(r"Claude Code, last heard (\d+) seconds? ago", shown)
    assert heard is not None
    assert int(heard[1]) <= monotonic() - began
    code, told = status(project, capsys)
    assert (code, [host["host"] for host in told["hosts"]]) == (0, ["claude-code", "kiro"])  # type: ignore[attr-defined]  # JSON


def _claude(event: str, key: str, **fields: object) -> bytes:
    call = {"tool_name": "Bash", "tool_input": {"command": "git push --force origin topic"}, "tool_use_id": key}
    return json.dumps(
        {"hook_event_name": event, "session_id": "s", "permission_mode": "default", **call, **fields}
    ).encode()


@pytest.mark.parametrize(("prompts", "alarms"), [(True, 0), (False, 1)], ids=["its person was asked", "nobody was"])
def test_what_ran_without_its_answer_is_an_alarm(
    project: Path, capsys: pytest.CaptureFixture[str], prompts: bool, alarms: int
) -> None:
    host = HOSTS["claude-code"]
    with open_service(load().config, follow=False, serving=True) as service:
        drive(answer(service, host, _claude("PreToolUse", "t1")))
        if prompts:
            drive(answer(service, host, _claude("PermissionRequest", "")))
        drive(answer(service, host, _claude("PostToolUse", "t1", tool_response={"stdout": "ok"})))
        service.ledger.flush()
        [call] = search(service.store, Query(), 10)
    assert (call.decision, call.outcome) == ("ask", "success")
    assert call.approver == ("host:claude-code" if prompts else "")
    _, told = status(project, capsys)
    assert told["situation"]["unapproved"]["count"] == alarms  # type: ignore[index]  # JSON
    main(["status", "--cwd", str(project)])
    shown = capsys.readouterr().out
    assert (f"interpose audit show {call.call_id}" in shown) is bool(alarms)
    main(["doctor", "--cwd", str(project)])
    shown = capsys.readouterr().out
    assert ("OPEN  unapproved" in shown) is bool(alarms)


def test_a_configuration_that_cannot_be_loaded(
    project: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "config" / "interpose" / "interpose.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("server: {prot: 1}\n", encoding="utf-8")
    config.chmod(0o600)
    assert main(["status", "--cwd", str(project)]) == 78
    assert "unknown key 'prot'" in capsys.readouterr().out
