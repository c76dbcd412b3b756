"""Every promise has a test that exists or a reason why it differs, and the page says the same as the data."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from interpose import TOOL_GROUPS, Context, Engine, ToolCall, Verdict, create_interceptor_registry
from interpose.effects.paths import Lexical
from interpose.rules.guards.command_safety_guard import CommandSafetyGuard
from interpose.rules.guards.security_audit import SecurityAudit
from tests.seeds.compatibility import SYSTEMS, page, promises

ROOT = Path(__file__).parents[2]
ROWS = promises()
TRIED = [row for row in ROWS if "try" in row]
HOME = "/home/user"

PER_SEED = {"000": 98, "001": 25, "002": 43, "003": 60, "004": 44}
WORK, WORK_OR_REFUSE = 238, 260
"""How many do what the document says by default, and how many with `approvals.ask: refuse`. Rows whose test is still
to be named (`open`) count: they are not done before they have one."""
OPEN = 0


def test_all_270_are_there() -> None:
    assert Counter(row["seed"] for row in ROWS) == PER_SEED
    assert len(ROWS) == 270
    assert list(PER_SEED) == list(SYSTEMS)


def test_counts_are_as_stated() -> None:
    found = Counter(row["verdict"] for row in ROWS)
    assert (found["works"], found["works"] + found["refuse-mode"]) == (WORK, WORK_OR_REFUSE)
    assert sum(row.get("open", False) for row in ROWS) == OPEN


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['seed']} {row['promise']}")
def test_a_promise_is_held_or_has_a_reason(row: dict[str, Any]) -> None:
    assert row["verdict"] in ("works", "refuse-mode", "differs")
    assert bool(row.get("reason")) is (row["verdict"] != "works")
    assert row.get("tests") or row.get("open"), "a row without a test is still open"
    for test in row.get("tests", ()):
        file, _, name = test.partition("::")
        assert name in functions_of(file), f"there is no {test}"


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_the_page_is_what_the_data_make() -> None:
    shown = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert shown == page(ROWS), "python -m tests.seeds.compatibility > docs/compatibility.md"


# --- the rows that can be tried: commands and paths, by default and where nobody is asked ----------------------------


def engine(*, refuse: bool) -> Engine:
    registry = create_interceptor_registry()
    registry.add(CommandSafetyGuard(home=HOME))
    registry.add(SecurityAudit(home=HOME, lookup=Lexical()))
    return Engine(registry, refuse_questions=refuse)


ENGINES = {False: engine(refuse=False), True: engine(refuse=True)}


def calls_of(tried: dict[str, Any]) -> list[ToolCall]:
    context = Context(cwd=tried.get("cwd", f"{HOME}/project"))
    if "command" in tried:
        return [ToolCall("exec", {"command": tried["command"]}, context=context)]
    more = {"content": "x\n", "old_string": "a", "new_string": "b"}
    return [
        ToolCall(tool, {"path": path} | ({} if tool == "read" else more), context=context)
        for tool in tried["tools"]
        for path in tried["paths"]
    ]


@pytest.mark.parametrize("row", TRIED, ids=lambda row: f"{row['seed']} {row['promise']}")
def test_what_is_tried_has_its_decision(row: dict[str, Any]) -> None:
    for call in calls_of(row["try"]):
        asking: Verdict[ToolCall] = ENGINES[False].decide(call)
        refusing: Verdict[ToolCall] = ENGINES[True].decide(call)
        allowed = row["want"] == "allow"
        if row["want"] == "ask" and "paths" in row["try"]:
            # Overwriting what the system needs to log in is denied at once: stricter than asking.
            assert asking.outcome in ("ask", "deny"), call
        else:
            assert asking.outcome == row["want"], call
        assert refusing.outcome == ("allow" if allowed else "deny"), call


def test_the_groups_of_openclaw() -> None:
    assert {name: set(TOOL_GROUPS[f"group:{name}"]) for name in GROUPS} == GROUPS


GROUPS = {
    "runtime": {"exec", "process"},
    "memory": {"memory_search", "memory_get"},
    "web": {"web_search", "web_fetch"},
    "sessions": {"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status"},
    "ui": {"browser", "canvas"},
    "automation": {"cron", "gateway"},
    "messaging": {"message"},
    "nodes": {"nodes"},
}
