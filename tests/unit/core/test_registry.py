"""The registry: order, matching, snapshots, declared tools."""

from __future__ import annotations

import re
from typing import Any

import pytest

from interpose import (
    Allow,
    MatcherError,
    RegistrationError,
    ToolCall,
    UnknownHookPointError,
    create_interceptor_registry,
)
from interpose.core.registry import _MAX_SELECTIONS


def nothing(_input: Any, _output: Any) -> None:
    pass


def ids(entries: Any) -> list[str]:
    return [entry.id for entry in entries]


def test_higher_priority_first_and_equal_in_registration_order() -> None:
    registry = create_interceptor_registry()
    for id, priority in [("a", 0), ("b", 100), ("c", -10), ("d", 0), ("e", 100)]:
        registry.add(id=id, name="tool.before", priority=priority, handler=nothing)
    assert ids(registry.get("tool.before")) == ["b", "e", "a", "d", "c"]
    assert ids(registry.list()) == ["a", "b", "c", "d", "e"]


def test_get_asks_only_the_matchers_it_has_something_for() -> None:
    registry = create_interceptor_registry()
    registry.add(id="exec", name="tool.before", tool_matcher="^exec$", handler=nothing)
    registry.add(id="agent", name="tool.before", agent_matcher="^research$", handler=nothing)
    registry.add(id="after", name="tool.after", handler=nothing)
    assert ids(registry.get("tool.before")) == ["exec", "agent"]
    assert ids(registry.get("tool.before", "read")) == ["agent"]
    assert ids(registry.get("tool.before", "exec", "main")) == ["exec"]
    assert ids(registry.get("tool.before", "read", "research")) == ["agent"]
    assert ids(registry.get("tool.after", "exec")) == ["after"]


def test_an_unknown_hook_point_is_a_clear_error() -> None:
    with pytest.raises(UnknownHookPointError, match=r"no hook point 'tool\.around'"):
        create_interceptor_registry().get("tool.around")


def test_remove_and_clear() -> None:
    registry = create_interceptor_registry()
    registry.add(id="a", name="tool.before", handler=nothing)
    registry.add(id="b", name="tool.before", handler=nothing)
    assert registry.remove("a") is True
    assert registry.remove("a") is False
    assert ids(registry.list()) == ["b"]
    registry.add(id="a", name="tool.before", handler=nothing)
    assert ids(registry.get("tool.before")) == ["b", "a"]
    registry.clear()
    assert registry.list() == ()


def test_a_snapshot_stays_as_it_was() -> None:
    registry = create_interceptor_registry()
    registry.add(id="a", name="tool.before", handler=nothing)
    before = registry.snapshot()
    registry.add(id="b", name="tool.before", priority=5, handler=nothing)
    registry.remove("a")
    assert ids(before.entries) == ["a"]
    assert ids(registry.snapshot().entries) == ["b"]


def test_the_decorator_registers_under_the_functions_own_name_or_an_id() -> None:
    registry = create_interceptor_registry()

    @registry.on("tool.before", priority=7, tool_matcher="^exec$")
    def guard(_input: Any, _output: Any) -> None:
        pass

    registry.on("tool.after", id="mine")(guard)
    first, second = registry.list()
    assert first.id.endswith("guard")
    assert (first.priority, second.id) == (7, "mine")
    assert first.handler is guard


def test_declared_tools_make_their_matchers_valid() -> None:
    registry = create_interceptor_registry()
    with pytest.raises(MatcherError):
        registry.add(id="x", name="tool.before", tool_matcher="^mcp__git__push$", handler=nothing)
    registry.declare_tools(["MCP__git__push ", "deploy"])
    registry.add(id="x", name="tool.before", tool_matcher="^mcp__git__push$", handler=nothing)
    registry.add(id="y", name="tool.before", tool_matcher="^deploy$", handler=nothing)
    with pytest.raises(MatcherError, match="deploy"):
        registry.add(id="z", name="tool.before", tool_matcher="^undeclared$", handler=nothing)


def test_one_text_is_no_list_of_tools() -> None:
    with pytest.raises(RegistrationError, match="not the one text 'deploy'"):
        create_interceptor_registry().declare_tools("deploy")


def test_compiled_matchers_and_both_styles_are_kept_as_given() -> None:
    class Interceptor:
        def intercept(self, _call: ToolCall) -> Allow:
            return Allow()

    matcher, interceptor = re.compile("EXEC", re.IGNORECASE), Interceptor()
    registry = create_interceptor_registry()
    entry = registry.add(id="x", name="tool.before", tool_matcher=matcher, interceptor=interceptor)
    assert entry.tool_matcher is matcher
    assert entry.handler is interceptor
    assert ids(registry.get("tool.before", "exec")) == ["x"]


def test_names_that_agents_choose_do_not_fill_the_memory() -> None:
    registry = create_interceptor_registry()
    registry.add(id="x", name="tool.before", handler=nothing)
    snapshot = registry.snapshot()
    for number in range(_MAX_SELECTIONS * 2 + 5):
        assert ids(snapshot.select(registry.list()[0].name, f"tool{number}", "")) == ["x"]  # type: ignore[arg-type]
    assert len(snapshot._selections) <= _MAX_SELECTIONS
