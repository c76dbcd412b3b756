"""Kinds of calls as data: what is offered for a call, and which calls are of the kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import json as fast

from interpose.core.types import Context, ToolCall
from interpose.people.widenings.covering import outside
from interpose.people.widenings.kind_values import CallKind
from interpose.people.widenings.offered_kinds import offered
from tests.support.case_files import read_cases

CASES: list[dict[str, Any]] = read_cases(Path(__file__).parent / "kinds.yaml")
CWD = "/home/u/p"


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")


def call_of(case: dict[str, Any], given: Any) -> ToolCall:
    context = Context(cwd=CWD)
    if isinstance(given, str):
        return ToolCall("exec", {"command": given}, context=context, original_name="Bash")
    return ToolCall(case["tool"], given, context=context)


@pytest.mark.parametrize("case", CASES, ids=[case["note"] for case in CASES])
def test_kinds(case: dict[str, Any]) -> None:
    came = call_of(case, case.get("command") or case["arguments"])
    kinds = offered(came)
    assert [kind.text for kind in kinds] == case["offers"]
    assert [kind.id for kind in kinds] == [f"W{number}" for number in range(1, len(kinds) + 1)]
    if not kinds:
        return
    chosen = next(kind for kind in kinds if kind.id == case["kind"])
    # As the store has it: what is granted is what was kept and signed.
    kept = fast.decode(fast.encode(chosen), type=CallKind)
    assert outside(kept, came) == ""
    assert {str(one): outside(kept, call_of(case, one)) for one in case["covered"]} == dict.fromkeys(
        map(str, case["covered"]), ""
    )
    assert [one for one in case["outside"] if not outside(kept, call_of(case, one))] == []


def test_another_tool_and_another_name_for_it_are_outside() -> None:
    came = ToolCall("exec", {"command": "gh issue close 12"}, context=Context(cwd=CWD), original_name="Bash")
    (kind,) = offered(came)
    for name, said in (("exec", "PowerShell"), ("process", "Bash")):
        assert "another tool" in outside(kind, ToolCall(name, came.arguments, context=came.context, original_name=said))


def test_what_the_agent_says_about_a_command_is_free_and_where_it_runs_is_not() -> None:
    came = ToolCall("exec", {"command": "gh issue close 12", "description": "close it"}, context=Context(cwd=CWD))
    (kind,) = offered(came)
    again = {"command": "gh issue close 13", "description": "and this one"}
    assert outside(kind, ToolCall("exec", again, context=came.context)) == ""
    for more in ({"cwd": "/tmp"}, {"env": {"GH_HOST": "evil"}}, {"run_in_background": True}, {"args": "--all"}):
        assert outside(kind, ToolCall("exec", again | more, context=came.context)) != "", more


def test_a_directory_that_leads_elsewhere_by_now_is_outside(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    context = Context(cwd=str(tmp_path))
    (inside, below) = offered(ToolCall("write", {"path": "out/a", "content": ""}, context=context))
    other = ToolCall("write", {"path": "out/b", "content": ""}, context=context)
    assert (outside(inside, other), outside(below, other)) == ("", "")
    (tmp_path / "out" / "b").symlink_to(tmp_path / "elsewhere" / "b")
    assert outside(inside, other) == "writes out/b"
    (tmp_path / "out" / "b").unlink()
    assert outside(inside, other) == ""
    (tmp_path / "out").rmdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    assert outside(inside, other) != ""
    assert outside(below, other) != ""


@pytest.mark.parametrize("project", ["p", "12", "v12"])
def test_a_numbered_file_that_is_a_link_is_outside(tmp_path: Path, project: str) -> None:
    """The number names a file. One that leads elsewhere, or whose directory does now, is another.

    The same digits in the path of the project name no file.
    """
    root = tmp_path / project
    (root / "src").mkdir(parents=True)
    context = Context(cwd=str(root))

    def numbered(number: int) -> ToolCall:
        return ToolCall("exec", {"command": f"echo x > src/{number}"}, context=context, original_name="Bash")

    kind = next(one for one in offered(numbered(12)) if "number" in one.text)
    kept = fast.decode(fast.encode(kind), type=CallKind)
    assert outside(kept, numbered(13)) == ""
    (root / "src" / "13").symlink_to(tmp_path / "elsewhere")
    assert "writes" in outside(kept, numbered(13))
    (root / "src").rename(root / "moved")
    (root / "src").symlink_to(tmp_path)
    assert "writes" in outside(kept, numbered(14))
