"""Inheritance has two sides: ceilings bind all below, lists bind nobody but their own role. Over random trees."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.core.carried_calls import canonical
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.commands.command_categories import command_rulings
from interpose.rules.governance.files.file_model import RoleForm
from interpose.rules.governance.files.load import load_rulebook
from interpose.rules.governance.files.rulebook import Rulebook, Seat
from interpose.rules.governance.roles.role_inheritance import parents_of
from interpose.rules.governance.roles.roles import role_rulings
from interpose.rules.governance.roles.scopes import scope_rulings

TOOLS = ("read", "write", "grep", "web_search")
CATEGORIES = ("inspection", "git", "validation")
COMMANDS = {"inspection": "ls", "git": "git commit -m x", "validation": "pytest"}
SCOPES = ("A", "B")
some = st.lists(st.sampled_from(TOOLS), unique=True, max_size=3)
LISTS = st.fixed_dictionaries({}, optional={
    "tools": st.fixed_dictionaries({}, optional={"allow": some, "deny": some}),
    "ceiling": st.fixed_dictionaries({}, optional={
        "deny": some,
        "write": st.lists(st.sampled_from(SCOPES), unique=True),
        "commands": st.lists(st.sampled_from(CATEGORIES), unique=True),
    }),
    "write": st.lists(st.sampled_from(SCOPES), unique=True),
    "commands": st.lists(st.sampled_from(CATEGORIES), unique=True),
})  # fmt: skip


@st.composite
def books(draw: st.DrawFn) -> Rulebook:
    roles = {}
    for number in range(draw(st.integers(1, 6))):
        role = dict(draw(LISTS))
        if number and draw(st.booleans()):
            role["parent"] = f"r{draw(st.integers(0, number - 1))}"
        roles[f"r{number}"] = role
    data = {"version": 1, "scopes": {"A": {"paths": ["a/**"]}, "B": {"paths": ["b/**"]}}, "roles": roles}
    return load_rulebook(msgspec.json.encode(data).decode(), "g.yaml")  # JSON is YAML


def line_of(book: Rulebook, name: str) -> list[str]:
    return [name, *book.roles[name].parents]


@given(books())
@settings(max_examples=40)
def test_a_tool_is_denied_by_the_nearest_list_or_by_any_ceiling(book: Rulebook) -> None:
    for name, role in book.roles.items():
        for tool in TOOLS:
            above = any(tool in ceiling.deny for ceiling in role.ceilings)
            tools = role.tools
            own = tool in tools.deny or (tools.allow is not None and tool not in tools.allow)
            call = canonical(ToolCall(tool, {"path": "x"}))
            said = {ruling.said for ruling in role_rulings(Seat(book=book, role=role), call, "/home/dev")}
            assert ("deny" in said) is (above or own), (name, tool)


@given(books())
@settings(max_examples=40)
def test_files_and_commands_are_under_each_ceiling_and_the_nearest_list(book: Rulebook) -> None:
    for role in book.roles.values():
        seat = Seat(book=book, role=role)
        for scope in SCOPES:
            call = canonical(ToolCall("write", {"path": f"{scope.lower()}/x"}, context=Context(cwd="/w/p")))
            wanted = all(scope in one.write for one in role.ceilings if one.write is not None)
            wanted = wanted and (role.write is None or scope in role.write)
            assert (scope_rulings(seat, call, "/home/dev") == ()) is wanted
        for category, command in COMMANDS.items():
            call = canonical(ToolCall("exec", {"command": command}, context=Context(cwd="/w/p")))
            wanted = all(category in one.commands for one in role.ceilings if one.commands is not None)
            wanted = wanted and (role.commands is None or category in role.commands)
            assert (command_rulings(seat, call, "/home/dev") == ()) is wanted


@given(books())
@settings(max_examples=40)
def test_ceilings_are_those_of_the_line_and_lists_the_nearest_said(book: Rulebook) -> None:
    for name, role in book.roles.items():
        if role.parents:
            parent = book.roles[role.parents[0]]
            assert role.ceilings[-len(parent.ceilings) :] == parent.ceilings or not parent.ceilings
            assert role.tier == parent.tier + 1
        assert len(role.ceilings) == len(role.ceiling_places)
        assert [one for one in line_of(book, name) if one not in book.roles] == []


def test_parents_end_at_a_circle_and_at_what_is_not_there() -> None:
    forms = {"a": RoleForm(parent="b"), "b": RoleForm(parent="a"), "c": RoleForm(parent="x")}
    assert parents_of("a", forms) == ("b",)
    assert parents_of("c", forms) == ()
