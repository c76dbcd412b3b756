"""Rules that are not evaluated are those that could not have fired."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose import ToolCall
from interpose.core.types import HookPoint
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.evaluate import opinion, opinions
from interpose.rules.policy.load import load, load_text, pack_names
from interpose.rules.policy.variables import Variables
from tests.support.case_files import read_cases

COMMANDS = [
    row["command"]
    for file in sorted((Path(__file__).parents[3] / "cases" / "shell").rglob("*.yaml"))
    for row in read_cases(file)
]

ATOMS = (
    'e.kind == "fs.delete"', 'e.kind == "process.exec"', 'e.kind in ["fs.read", "fs.delete"]', "e.recursive",
    "!e.forced",
    'e.kind != "fs.read"', 'e.rule == "git-reset-hard"', 'e.rule in []', 'e.resource.matches("a")', "true",
    'e.via.size() > 0', '1 / e.via.size() > 0', '"fs.delete" == e.kind', 'effects[0].kind == "fs.delete"',
)  # fmt: skip
WHOLES = ("effects.size() > 1", 'tool == "exec"', "1 / effects.size() > 5", "true", "!true")


def parts(atoms: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.recursive(
        st.sampled_from(atoms),
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(("&&", "||")), inner),
        max_leaves=6,
    )


def conditions() -> st.SearchStrategy[str]:
    loops = st.builds("effects.{}(e, {})".format, st.sampled_from(("exists", "all", "exists_one")), parts(ATOMS))
    return st.recursive(
        st.one_of(loops, st.sampled_from(WHOLES)),
        lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(("&&", "||")), inner),
        max_leaves=4,
    )


def evaluated_all(policy: Policy, call: ToolCall) -> list[tuple[str, str]]:
    """What every rule that applies says, each evaluated."""
    variables = Variables(call)
    said = [
        opinion(one, variables) for one in policy.select(HookPoint.TOOL_BEFORE, "exec") if one.rule.action != "allow"
    ]
    return [(one.rule.id, one.saw) for one in said if one.saw != "silent"]


def evaluated_few(policy: Policy, call: ToolCall) -> list[tuple[str, str]]:
    return [(one.rule.id, one.saw) for one in opinions(policy, HookPoint.TOOL_BEFORE, call)]


@settings(deadline=None)
@given(conditions(), st.sampled_from(COMMANDS))
def test_any_condition_says_the_same(condition: str, command: str) -> None:
    policy = load_text(
        f"version: 1\nrules:\n  - {{id: r, on: {{tools: [exec]}}, when: '{condition}', action: deny, message: m}}\n"
    )
    call = ToolCall("exec", {"command": command})
    assert evaluated_few(policy, call) == evaluated_all(policy, call)


def test_all_packs_say_the_same_of_all_commands() -> None:
    policy = load([], packs=pack_names())
    for command in COMMANDS:
        call = ToolCall("exec", {"command": command})
        assert evaluated_few(policy, call) == evaluated_all(policy, call), command


@pytest.mark.parametrize(
    ("condition", "skipped"),
    [
        ('effects.exists(e, e.kind == "net.upload")', True),
        ('effects.exists(e, e.kind == "net.upload" && 1 / 0 > 1)', True),
        ('effects.exists(e, e.kind == "net.upload") || effects.exists(e, e.rule in ["x", "y"])', True),
        ('tool == "exec" && effects.exists(e, e.kind in ["net.upload", "vcs.publish"] && e.secret)', True),
        ('effects.exists(e, e.kind == "net.upload" || e.secret)', False),
        ('effects.exists(e, e.kind != "net.upload")', False),
        ('!effects.exists(e, e.kind == "net.upload")', False),
        ('effects.all(e, e.kind == "net.upload")', False),
        ('effects.exists(e, e.kind == "net.upload") || tool == "exec"', False),
        ('effects.map(e, e.kind).exists(k, k == "net.upload")', False),
    ],
)
def test_which_rules_a_listing_of_files_skips(condition: str, skipped: bool) -> None:
    text = f"version: 1\nrules:\n  - {{id: r, on: {{tools: [exec]}}, when: '{condition}', action: deny, message: m}}\n"
    policy = load_text(text)
    found: Any = policy.candidates(HookPoint.TOOL_BEFORE, "exec", frozenset({"process.exec"}), frozenset({""}))
    assert (found == ()) is skipped


def test_what_cannot_be_analysed_is_left_to_each_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("interpose.rules.policy.evaluate.reading_of", broken)
    policy = load_text("version: 1\nrules:\n  - {id: r, when: 'tool == \"exec\"', action: deny, message: m}\n")
    assert evaluated_few(policy, ToolCall("exec", {"command": "ls"})) == [("r", "fired")]
