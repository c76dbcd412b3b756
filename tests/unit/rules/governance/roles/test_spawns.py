"""Which calls start agents, in the words of every host, and whom they ask for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpose.core.carried_calls import canonical
from interpose.core.types import Context, ToolCall
from interpose.rules.governance.roles.spawns import MOST_AT_ONCE, delegation_of, spawn_of
from tests.support.case_files import read_cases
from tests.support.noted import noted

CASES = read_cases(Path(__file__).parents[4] / "cases/governance/spawns.yaml")


def call_of(tool: str, arguments: dict[str, Any], host: str = "") -> ToolCall:
    return canonical(ToolCall(tool, arguments, context=Context(source=f"hook:{host}" if host else "library")))


@pytest.mark.parametrize("case", noted((case["note"], (case,)) for case in CASES))
def test_whom_a_call_asks_for(case: dict[str, Any]) -> None:
    spawn = spawn_of(call_of(case["tool"], case["arguments"], case.get("host", "")))
    if "agents" not in case:
        assert spawn is None
        return
    assert spawn is not None
    assert [list(kinds) for kinds in spawn.agents] == case["agents"]
    assert spawn.detached == case.get("detached", False)
    assert spawn.readable == case.get("readable", True)


def test_what_is_hostile_is_read_in_bounds() -> None:
    many = spawn_of(call_of("task", {"agents": ["x"] * 100_000}))
    assert many is not None
    assert (len(many.agents), many.readable) == (MOST_AT_ONCE, False)
    long = spawn_of(call_of("task", {"subagent_type": "x\n\x1b[2J" * 100_000}))
    assert long is not None
    assert len(long.agents[0][0]) <= 200
    deep: dict[str, Any] = {"subagents": [{"agent": "x"}]}
    for _ in range(60):
        deep = {"content": deep}
    assert spawn_of(call_of("task", deep)) is not None


def test_in_words() -> None:
    assert delegation_of(
        call_of("task", {"agents": [{"agent": "a"}, {"agent": "a"}, {"role": "b", "agent": "c"}, {}]})
    ) == ("a, b/c, an agent")
    assert delegation_of(call_of("task", {})) == "an agent"
    assert delegation_of(call_of("read", {})) is None
    hostile = delegation_of(call_of("task", {"agent": "x\n\x1b[2J" * 999}))
    assert hostile is not None
    assert hostile.isprintable()
