"""A rulebook is compiled when it is loaded, and a call that was seen before is neither read nor compared again."""

from __future__ import annotations

from typing import Any

import pytest

import interpose.reading.calls.call_reading as call_reading
from interpose.core.carried_calls import canonical
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.commands.command_categories import command_rulings, role_limits
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.files.rulebook import Seat
from interpose.rules.governance.files.scope_files import ScopeGlob
from interpose.rules.governance.roles.role_tools import ToolList
from interpose.rules.governance.roles.roles import role_lists, role_rulings
from interpose.rules.governance.roles.scopes import scope_rulings
from interpose.rules.governance.rulings import Ruling

HOME = "/home/dev"
TEXT = """\
version: 1
tools: {look: [read, glob], trackers: ["mcp__tracker__*", look]}
scopes: {code: {paths: ["src/**"], outside: ["**/*.lock"]}}
roles:
  boss: {ceiling: {deny: ["mcp__pay__*"], write: [code], commands: [inspection, git]}}
  worker:
    parent: boss
    tools: {allow: [trackers, write, exec, "mcp__shell__*"]}
    write: [code]
    commands: [inspection, "git status"]
    first_tools: {any_of: [look]}
"""


def _rulings(seat: Seat, tool: str, arguments: dict[str, Any], agent: str = "") -> tuple[Ruling, ...]:
    call = canonical(ToolCall(tool, dict(arguments), context=Context(cwd="/work/compiled", agent_id=agent)))
    return (
        *role_rulings(seat, call, HOME), *scope_rulings(seat, call, HOME, project="/work/compiled"),
        *command_rulings(seat, call, HOME),
    )  # fmt: skip


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Bash", {"command": "git status && grep -rn compiled src"}),
    ("Bash", {"command": "curl -s https://example.com/compiled"}),
    ("mcp__shell__run_command", {"command": "ls compiled | head", "cwd": "src"}),
    ("mcp__shell__run_command", {"command": "npm install compiled"}),
    ("mcp__tracker__find", {"query": "compiled"}),
    ("process", {"action": "write", "data": "rm compiled\n"}),
    ("Write", {"file_path": "src/compiled.py", "content": "x"}),
    ("Write", {"file_path": "compiled.md", "content": "x"}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_a_call_that_was_seen_is_neither_analysed_nor_compared(
    tool: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    book = load_rulebook(TEXT, "g.yaml")
    seat = Seat(book=book, role=book.roles["worker"])
    first = _rulings(seat, tool, arguments)
    done: list[str] = []
    monkeypatch.setattr(call_reading, "analyse", lambda *_args, **_options: done.append("analysed"))
    monkeypatch.setattr(ToolList, "keeps_out", lambda *_args: done.append("compared with a list"))
    monkeypatch.setattr(
        "interpose.rules.governance.commands.command_categories.CommandLimit.is_met", lambda *_args: done.append("met")
    )
    assert _rulings(seat, tool, arguments) == first
    assert not done


def test_what_a_role_says_is_not_kept_for_another_agent_or_file() -> None:
    """INVARIANT: what is kept with a call names no agent, and belongs to the file that it was said for."""
    book, other = load_rulebook(TEXT, "g.yaml"), load_rulebook(TEXT.replace('"git status"', "network"), "h.yaml")
    call = ("Bash", {"command": "curl -s https://example.com/kept"})
    said = [_rulings(Seat(book=one, role=one.roles["worker"], name=name), *call)
            for one in (book, other) for name in ("one", "two")]  # fmt: skip
    assert [one[0].reason.split(" may ")[0] for one in said] == ["The agent one", "The agent two"] * 2
    assert [len(one) for one in said] == [2, 2, 1, 1]  # the ceiling says it in both files
    assert "g.yaml" in said[0][0].evidence
    assert "h.yaml" in said[2][0].evidence


def test_a_file_is_compiled_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    book = load_rulebook(TEXT, "g.yaml")
    made: list[str] = []

    def compiled(*_args: object) -> None:
        made.append("compiled")

    monkeypatch.setattr(ToolList, "__init__", compiled)
    monkeypatch.setattr(ScopeGlob, "of", compiled)
    monkeypatch.setenv("HOME", HOME)
    for role in book.roles.values():
        assert role_lists(book, role).role is role
        assert role_limits(book, role).role is role
    assert not made


def test_a_role_of_another_file_is_compiled_for_itself() -> None:
    book, other = load_rulebook(TEXT, "g.yaml"), load_rulebook(TEXT, "h.yaml")
    assert role_lists(book, other.roles["worker"]).role is other.roles["worker"]
    assert role_limits(book, other.roles["worker"]).role is other.roles["worker"]
