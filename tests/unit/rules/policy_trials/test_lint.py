from __future__ import annotations

import pytest

from interpose.rules.cel.checker import check
from interpose.rules.policy.load import RuleText
from interpose.rules.policy.variables import VARIABLES
from interpose.rules.policy_trials.implication import Implication, canonical, possible
from interpose.rules.policy_trials.lint import lint

TYPES = {name: shape.type for name, shape in VARIABLES.items()}
BOTH = "examples: {match: [x], no_match: [y]}"


def remarks(*rules: str) -> list[tuple[str, str, str]]:
    listed = "\n".join(f"  - {{{rule}}}" for rule in rules)
    found = lint([RuleText("p.yaml", f"version: 1\nrules:\n{listed}\n")])
    return [(remark.kind, remark.rule, remark.other) for remark in found]


def rule(id: str, when: str, action: str = "deny", more: str = "") -> str:
    return f"id: {id}, action: {action}, when: {when!r}, {more or BOTH}"


KILL = 'effects.exists(e, e.kind == "process.kill")'
KILL_HARD = 'effects.exists(e, e.kind == "process.kill" && e.forced)'


@pytest.mark.parametrize(
    ("note", "rules", "want"),
    [
        ("nothing is wrong", [rule("a", KILL), rule("b", 'tool == "read"', "ask")], []),
        ("switched off", [rule("a", KILL, more=f"enabled: false, {BOTH}")], [("dead", "a", "")]),
        ("never true", [rule("a", "false")], [("dead", "a", "")]),
        ("an unknown tool", [rule("a", KILL, more=f"on: {{tools: [reed]}}, {BOTH}")], [("dead", "a", "")]),
        ("a tool of an MCP server", [rule("a", KILL, more=f"on: {{tools: [mcp__x__y, 'mcp__*']}}, {BOTH}")], []),
        ("an unknown kind", [rule("a", 'effects.exists(e, e.kind == "fs.remove")')], [("dead", "a", "")]),
        ("two kinds at once", [rule("a", 'effects.exists(e, e.kind == "fs.read" && e.kind == "fs.write")')],
         [("dead", "a", "")]),
        ("two effects are fine", [rule("a", 'effects.exists(e, e.kind == "fs.read") && ' + KILL)], []),
        ("against what it is on", [rule("a", 'tool == "read"', more=f"on: {{tools: [exec]}}, {BOTH}")],
         [("dead", "a", "")]),
        ("with what it is on", [rule("a", 'tool == "read"', more=f"on: {{tools: ['group:fs']}}, {BOTH}")], []),
        ("one side of an or is dead, the other lives", [rule("a", 'tool == "x" && tool == "y" || tool == "z"')], []),
        ("a stronger rule is wider", [rule("a", KILL), rule("b", KILL_HARD, "ask")], [("shadowed", "b", "a")]),
        ("whatever the order", [rule("b", KILL_HARD, "ask"), rule("a", KILL)], [("shadowed", "b", "a")]),
        ("a stronger rule is narrower", [rule("a", KILL_HARD), rule("b", KILL, "ask")], []),
        ("a stronger rule is about other tools",
         [rule("a", KILL, more=f"on: {{tools: [read]}}, {BOTH}"), rule("b", KILL_HARD, "ask")], []),
        ("a stronger rule is about a group", [
            rule("a", "true", more=f"on: {{tools: ['group:runtime']}}, {BOTH}"),
            rule("b", KILL, "ask", f"on: {{tools: [exec]}}, {BOTH}")], [("shadowed", "b", "a")]),
        ("the same word, more narrowly", [rule("a", KILL), rule("b", KILL_HARD)], []),
        ("a stronger rule is about results", [
            rule("a", "true", more=f"on: {{point: tool.after}}, {BOTH}"), rule("b", KILL, "ask")], []),
        ("a watching rule shadows nothing", [rule("a", KILL, more=f"mode: watch, {BOTH}"), rule("b", KILL_HARD, "ask")],
         []),
        ("what is only written down is not shadowed", [rule("a", KILL), rule("b", KILL_HARD, "log")], []),
        ("the same calls, other words", [rule("a", KILL), rule("b", KILL, "ask")], [("contradictory", "b", "a")]),
        ("the same rule twice", [rule("a", KILL), rule("b", KILL.replace("(e, e.", "(x, x."))],
         [("duplicate", "b", "a")]),
        ("an answer to a refusal", [
            rule("a", KILL), rule("b", "true", "allow", f"answers: {{rules: [a], scope: everywhere}}, {BOTH}")],
         [("contradictory", "b", "a"), ]),
        ("an answer to a question", [
            rule("a", KILL, "ask"), rule("b", "true", "allow", f"answers: {{rules: [a], scope: everywhere}}, {BOTH}")],
         []),
        ("no example", [f"id: a, action: deny, when: {KILL!r}"], [("uncovered", "a", "")]),
        ("no example that it leaves alone", [rule("a", KILL, more="examples: {match: [x]}")], [("uncovered", "a", "")]),
        ("no example that matches", [rule("a", KILL, more="examples: {no_match: [x]}")], [("uncovered", "a", "")]),
        ("a broken rule", [rule("a", "nope"), rule("b", "false")], [("broken", "a", ""), ("dead", "b", "")]),
    ],
)  # fmt: skip
def test_remarks(note: str, rules: list[str], want: list[tuple[str, str, str]]) -> None:
    assert remarks(*rules) == want, note


def test_rewrites_of_one_argument() -> None:
    one = "id: a, action: transform, when: 'tool == \"write\"', rewrite: {content: '\"x\"'}, " + BOTH
    other = "id: b, action: transform, when: 'tool == \"write\"', rewrite: {content: '\"y\"'}, " + BOTH
    assert remarks(one, other) == [("contradictory", "b", "a")]


def test_a_file_that_is_none() -> None:
    (remark,) = lint([RuleText("p.yaml", "version: [")])
    assert (remark.kind, remark.file) == ("broken", "p.yaml")


@pytest.mark.parametrize(
    ("stronger", "weaker", "want"),
    [
        ('tool == "a"', 'tool == "a"', True),
        ('tool == "a"', 'tool in ["a", "b"]', True),
        ('tool in ["a", "b"]', 'tool == "a"', False),
        ('tool == "a" && agent.id == "x"', 'tool == "a"', True),
        ('tool == "a"', 'tool == "a" && agent.id == "x"', False),
        ('tool == "a"', 'tool == "a" || agent.id == "x"', True),
        ('tool == "a" || tool == "b"', 'tool in ["b", "a", "c"]', True),
        ('tool == "a" || tool == "d"', 'tool in ["b", "a", "c"]', False),
        ('hosts.exists(h, h == "a")', 'hosts.exists(g, g in ["a", "b"])', True),
        ('hosts.exists(h, h == "a")', 'paths.exists(h, h == "a")', False),
        ('hosts.all(h, h == "a")', 'hosts.exists(h, h == "a")', False),
        ('!(tool == "a")', 'tool == "a"', False),
        ("true", 'tool == "a"', False),
        ('tool == "a"', "true", True),
    ],
)
def test_implication(stronger: str, weaker: str, want: bool) -> None:
    one, other = (canonical(check(text, TYPES).syntax.root) for text in (stronger, weaker))
    assert Implication().holds(one, other) is want


def test_reasoning_does_not_blow_up() -> None:
    """Deep alternations on both sides: every pair of parts is compared once."""
    deep = 'tool == "a"'
    for number in range(12):
        deep = f'({deep} || agent.id == "{number}") && session.id == "{number}"'
    node = canonical(check(deep, TYPES).syntax.root)
    other = canonical(check(deep.replace('"a"', '"b"'), TYPES).syntax.root)
    assert not Implication().holds(node, other)
    assert possible(node, {}) is not None
