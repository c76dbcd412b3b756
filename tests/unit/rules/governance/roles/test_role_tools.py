"""Lists of tools: what lets in goes by what a tool is called, what keeps out by what it would do."""

from __future__ import annotations

import pytest

from interpose.core.carried_calls import canonical
from interpose.core.tools import KNOWN_TOOL_NAMES
from interpose.core.types import ToolCall
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.roles.role_tools import ToolList, own_names, tool_fits, work_of

BOOK = load_rulebook("version: 1\ntools: {look: [read, glob], all-of-x: ['mcp__x__*']}", "g.yaml")
HOME = "/home/dev"


@pytest.mark.parametrize(
    ("pattern", "name", "want"),
    [
        ("read", "Read", True),
        ("Bash", "exec", True),
        ("bash", "PowerShell", True),
        ("look", "view_file", True),
        ("group:look", "glob", True),
        ("GROUP:FS", "edit", True),
        ("group:fs", "exec", False),
        ("read", "spread_delete", False),
        ("read", "read_all", False),
        ("task", "task_kill", False),
        ("task*", "task_kill", True),
        ("Task*", "TaskCreate", True),
        ("@github/merge", "mcp__github__merge", True),
        ("mcp__github__merge", "@github/merge", True),
        ("mcp__github__*", "mcp__interpose__github__merge", True),
        ("mcp_github_*", "mcp__github__merge", True),
        ("mcp__github__*", "mcp__githubx__merge", False),
        ("idumb-todo", "idumb-todo_list", False),
        ("all-of-x", "mcp__x__y", True),
        ("*", "anything", True),
    ],
)
def test_a_tool_fits_by_name_group_or_glob(pattern: str, name: str, want: bool) -> None:
    assert tool_fits(BOOK, (pattern,), name) is want
    assert tool_fits(BOOK, (pattern,), canonical(ToolCall(name))) is want


def test_every_known_tool_is_called_what_it_is() -> None:
    for name in KNOWN_TOOL_NAMES:
        assert own_names(name)[0] == name
        assert work_of(ToolCall(name, original_name=name), HOME) == frozenset()


@pytest.mark.parametrize(
    ("tool", "arguments", "work"),
    [
        ("mcp__x__run_command", {"command": "ls"}, {"exec"}),
        ("mcp__x__read_file", {"path": "a"}, {"read"}),
        ("mcp__x__write_file", {"path": "a", "content": "b"}, {"write"}),
        ("mcp__x__edit_file", {"path": "a", "new_string": "b"}, {"edit"}),
        ("mcp__x__move_file", {"source": "a", "destination": "b"}, {"move"}),
        ("mcp__x__spawn_agent", {"prompt": "x"}, {"task"}),
        ("mcp__py__run_code", {"code": "import os\nos.remove('x')", "language": "python"}, {"exec", "delete"}),
        ("mcp__x__lookup", {"id": 1}, set()),
        ("cron", {"schedule": "* * * * *", "command": "bash -c 'rm x'"}, {"exec"}),
        ("sql", {"query": "select 1"}, set()),
        ("WebFetch", {"url": "file:///etc/passwd"}, {"read"}),
    ],
)
def test_a_foreign_tool_does_the_work_of_a_known_one(tool: str, arguments: dict[str, object], work: set[str]) -> None:
    assert work_of(canonical(ToolCall(tool, arguments)), HOME) == work


def test_a_glob_lets_in_no_more_than_the_role_may_do() -> None:
    shell = canonical(ToolCall("mcp__x__run_command", {"command": "ls"}))
    assert not ToolList(BOOK, ["mcp__x__*", "read"]).lets_in(shell, HOME)
    assert not ToolList(BOOK, ["all-of-x"]).lets_in(shell, HOME)
    assert ToolList(BOOK, ["mcp__x__*", "exec"]).lets_in(shell, HOME)
    assert ToolList(BOOK, ["mcp__x__run_command"]).lets_in(shell, HOME)
    assert ToolList(BOOK, ["*"]).lets_in(shell, HOME)


def test_one_underscore_keeps_out_but_lets_nothing_in() -> None:
    """Gemini writes `mcp_my_server_tool`: where the server's name ends, nobody can say."""
    call = canonical(ToolCall("mcp_my_server_tool"))
    assert ToolList(BOOK, ["mcp__my_server__tool"]).keeps_out(call, HOME)
    assert ToolList(BOOK, ["mcp__my_server__*"]).keeps_out(call, HOME)
    assert not ToolList(BOOK, ["mcp__my_server__tool"]).lets_in(call, HOME)
    assert not ToolList(BOOK, ["mcp__my_other__*"]).keeps_out(call, HOME)


def test_an_endless_name_fits_nothing_but_a_star() -> None:
    name = "a" * 100_000
    assert not tool_fits(BOOK, ("a*",), name)
    assert tool_fits(BOOK, ("*",), name)
