"""Tool sets: what a sub-agent may use is never more than what its parent has."""

from __future__ import annotations

from typing import Any

import pytest

from interpose import Engine, ToolCall, ToolSet, ToolSetError, create_interceptor_registry

NAMES = ("exec", "read", "write", "mcp__git__push")


@pytest.mark.parametrize(
    ("tools", "has"),
    [
        (ToolSet.all(), {"exec", "read", "write", "mcp__git__push"}),
        (ToolSet.none(), set()),
        (ToolSet.specific(["Bash", " READ "]), {"exec", "read"}),
        (ToolSet.except_(["bash"]), {"read", "write", "mcp__git__push"}),
    ],
)
def test_what_a_set_has(tools: ToolSet, has: set[str]) -> None:
    assert {name for name in NAMES if tools.matches(name)} == has
    assert tools.resolved


def test_names_are_asked_in_any_spelling() -> None:
    assert ToolSet.specific(["exec"]).matches("Bash")
    assert not ToolSet.except_(["run_shell_command"]).matches("exec")


@pytest.mark.parametrize("child", [ToolSet.inherit(), ToolSet.inherit_except(["exec"])])
def test_a_set_that_inherits_must_be_resolved_first(child: ToolSet) -> None:
    assert not child.resolved
    with pytest.raises(ToolSetError, match="must be resolved against its parent"):
        child.matches("read")


@pytest.mark.parametrize("child", [ToolSet.inherit(), ToolSet.inherit_except([]), ToolSet.all()])
def test_a_parent_that_was_never_resolved_gives_nothing(child: ToolSet) -> None:
    resolved = child.resolve(ToolSet.inherit())
    assert not any(resolved.matches(name) for name in NAMES)


PARENTS = [ToolSet.all(), ToolSet.none(), ToolSet.specific(["exec", "read"]), ToolSet.except_(["exec"])]
CHILDREN = [
    ToolSet.all(),
    ToolSet.none(),
    ToolSet.specific(["exec", "write"]),
    ToolSet.except_(["read"]),
    ToolSet.inherit(),
    ToolSet.inherit_except(["read"]),
]


@pytest.mark.parametrize("parent", PARENTS)
@pytest.mark.parametrize("child", CHILDREN)
@pytest.mark.parametrize("grandchild", CHILDREN)
def test_a_child_never_has_what_its_parent_has_not(parent: ToolSet, child: ToolSet, grandchild: ToolSet) -> None:
    resolved = child.resolve(parent)
    below = grandchild.resolve(resolved)
    for name in NAMES:
        assert parent.matches(name) or not resolved.matches(name)
        assert resolved.matches(name) or not below.matches(name)


def test_inherit_except_takes_away() -> None:
    resolved = ToolSet.inherit_except(["exec"]).resolve(ToolSet.specific(["exec", "read"]))
    assert {name for name in NAMES if resolved.matches(name)} == {"read"}


@pytest.mark.parametrize("make", [ToolSet.specific, ToolSet.except_, ToolSet.inherit_except])
def test_one_text_is_no_list(make: Any) -> None:
    with pytest.raises(ToolSetError, match="not the one text 'exec'"):
        make("exec")


def test_an_engine_refuses_tools_outside_its_set_and_so_do_its_sub_agents() -> None:
    ran: list[str] = []
    parent = Engine(create_interceptor_registry(), tools=ToolSet.specific(["exec", "read"]))
    child = parent.sub_agent(ToolSet.except_(["exec"]))
    for engine, name in [(parent, "write"), (child, "Bash"), (child, "write"), (child.sub_agent(), "exec")]:
        answer = engine.run_tool(ToolCall(name, {}), lambda _: ran.append("ran"))
        assert answer["status"] == "blocked"
        assert "is not available to this agent" in answer["reason"]
    assert ran == []
    assert child.run_tool(ToolCall("read", {}), lambda _: "text") == "text"


def test_a_wrapper_does_not_carry_a_tool_past_the_set() -> None:
    engine = Engine(create_interceptor_registry(), tools=ToolSet.specific(["tool_call"]))
    answer = engine.run_tool(ToolCall("tool_call", {"name": "bash", "arguments": {}}), lambda _: "ran")
    assert answer["reason"] == "Tool 'exec' is not available to this agent"
