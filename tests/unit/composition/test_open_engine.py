"""The library's short way to the whole engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpose import AutoApprove, Context, Engine, ToolCall, add_policy, open_engine


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def settings(home: Path, text: str) -> None:
    file = home / ".config" / "interpose" / "interpose.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")


def test_calls_run_where_the_engine_was_opened(home: Path) -> None:
    wide = ToolCall("exec", {"command": "rm -rf *"})
    assert open_engine(cwd="/").decide(wide).rule == "delete-system"
    assert open_engine(cwd=Path("/")).run().decide(wide).rule == "delete-system"
    assert open_engine(cwd="/").decide(
        ToolCall("exec", {"command": "rm -rf *"}, context=Context(cwd=str(home / "x")))
    ).rule != ("delete-system")


def test_questions_are_refused_where_the_configuration_says_so(home: Path) -> None:
    call = ToolCall("exec", {"command": "git reset --hard"})
    assert open_engine().decide(call).outcome == "ask"
    settings(home, "approvals: {ask: refuse}\n")
    engine = open_engine(confirm=AutoApprove())
    assert engine.decide(call).rule == "questions-refused"
    blocked = engine.run_tool(call, lambda _: pytest.fail("it ran"))
    assert "nobody is asked here" in blocked["reason"]
    assert blocked["instead"], "what the question would have advised"


def test_rules_are_only_added(home: Path) -> None:
    file = home / "own.yaml"
    file.write_text("version: 1\nrules: [{id: own, action: deny, when: 'tool == \"read\"'}]\n", encoding="utf-8")
    engine = open_engine()
    add_policy(engine, file)
    add_policy(engine, str(file))
    assert engine.decide(ToolCall("read", {"path": "a"})).rule == "own"
    assert engine.decide(ToolCall("exec", {"command": "git push -f origin main"})).rule == "baseline/force-push-main"


def test_an_empty_engine_has_nothing(home: Path) -> None:
    assert Engine().decide(ToolCall("exec", {"command": "rm -rf /"})).outcome == "allow"


@pytest.mark.parametrize("given", ["policy.yaml", {"profile": "strict"}, 3])
def test_what_is_no_configuration_is_told(given: Any) -> None:
    with pytest.raises(TypeError, match="config must be what load_config"):
        open_engine(given)


def test_the_approver_of_a_plain_function_is_its_name(home: Path) -> None:
    def ann(_request: object) -> bool:
        return True

    done = open_engine(confirm=ann).run().run_tool(ToolCall("exec", {"command": "git reset --hard"}), lambda _: "ran")
    assert done.response == "ran"
    assert done.verdict.approver.endswith("ann")


@pytest.mark.parametrize(
    "leaving",
    [{"dangerouslyDisableSandbox": True}, {"sandbox_permissions": "require_escalated"}],
    ids=["Claude Code", "Codex"],
)
def test_leaving_the_hosts_sandbox_is_denied_where_nobody_can_be_asked(home: Path, leaving: dict[str, Any]) -> None:
    call = ToolCall("exec", {"command": "ls", **leaving})
    engine = open_engine()
    assert (engine.decide(call).outcome, engine.decide(call).rule) == ("ask", "leaves-sandbox")
    blocked = engine.run_tool(call, lambda _: pytest.fail("it ran outside of the sandbox"))
    assert "sandbox" in blocked["reason"]
    settings(home, "approvals: {ask: refuse}\n")
    refused = open_engine(confirm=AutoApprove())
    assert (refused.decide(call).outcome, refused.decide(call).rule) == ("deny", "questions-refused")
    refused.run_tool(call, lambda _: pytest.fail("it ran outside of the sandbox"))
