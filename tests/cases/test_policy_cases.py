"""Runs the case files of policies: a policy, calls, and what must come of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpose import Context, Engine, ToolCall, Verdict, create_interceptor_registry
from interpose.core.carried_calls import canonical
from interpose.core.driving import drive
from interpose.core.pipeline import decide
from interpose.core.types import HookPoint, ToolOutcome, freeze
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.interceptor import registrations
from interpose.rules.policy.load import load_text
from tests.support.case_files import read_cases

HERE = Path(__file__).parent / "policy"
FILES = {name: read_cases(HERE / f"{name}.yaml") for name in ("actions", "imported")}
POLICIES: dict[str, Policy] = {}
KEYS = {"note", "call", "result", "want", "rule", "said", "questions", "args", "gives"}


def policy_of(name: str) -> Policy:
    if name not in POLICIES:
        POLICIES[name] = load_text(FILES[name]["policy"], file=f"{name}.yaml")
    return POLICIES[name]


def verdict_on(policy: Policy, row: dict[str, Any]) -> Verdict[Any]:
    registry = create_interceptor_registry()
    registry.swap(registrations(policy))
    given = row["call"]
    context = Context(cwd="/workspace/project", principal=given.get("principal", ""))
    call = canonical(ToolCall(given["tool"], given["args"], context=context))
    if "result" not in row:
        return Engine(registry).decide(call)
    entries = registry.snapshot().select(HookPoint.TOOL_AFTER, call.name)
    return drive(decide(entries, ToolOutcome(call, freeze(row["result"]))))


@pytest.mark.parametrize(
    ("name", "row"),
    [pytest.param(name, row, id=f"{name}:{row['note']}") for name, file in FILES.items() for row in file["cases"]],
)
def test_case(name: str, row: dict[str, Any]) -> None:
    assert row.keys() <= KEYS
    policy = policy_of(name)
    verdict = verdict_on(policy, row)
    told = f"{row['note']}: {verdict.outcome} {verdict.findings}"
    assert verdict.outcome == row["want"], told
    assert verdict.policy == policy.revision
    if "rule" in row:
        assert getattr(verdict.decision, "rule", "") == row["rule"], told
    said = [[finding.said, finding.rule] for finding in verdict.findings]
    assert all(wanted in said for wanted in row.get("said", ())), told
    if "questions" in row:
        assert [finding.rule for finding in verdict.findings if finding.said == "ask"] == row["questions"], told
    if "args" in row:
        assert verdict.payload.arguments == row["args"], told
    if "gives" in row:
        assert verdict.payload.result == row["gives"], told
