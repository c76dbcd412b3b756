"""The form of rule files: every error names file, line, rule and what was expected."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from interpose.core.errors import PolicyError
from interpose.core.types import HookPoint
from interpose.rules.policy.load import load_text
from interpose.rules.policy.parsing import json_schema, parse
from interpose.rules.policy.rules import Level
from tests.support.case_files import read_cases

GOOD = """version: 1
rules:
  - id: first
    when: tool == "exec"
    action: deny
  - id: second
    on:
      point: tool.after
      tools: [group:fs, Bash, "mcp__*"]
    when: result.text.contains("x")
    action: redact
    redact: {pattern: "x+", replacement: "-"}
"""

MISTAKES: list[dict[str, Any]] = read_cases(Path(__file__).parents[3] / "cases" / "policy" / "mistakes.yaml")


def problems(text: str) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        load_text(text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("note", "rule", "want"),
    [
        ("nothing to look for", "{name: x, action: deny}", "rule 'x': expected `mcp_expression`, `cli_expression`,"),
        (
            "a name that steers a terminal",
            '{name: "a\\e[2J", mcp_expression: "true"}',
            "name: expected characters that",
        ),
        ("no name", "{name: '', mcp_expression: 'true'}", "name: expected `str` of length >= 1"),
    ],
)
def test_an_imported_rule_has_a_name_and_something_to_look_for(note: str, rule: str, want: str) -> None:
    (problem,) = problems(f"rules:\n  - {rule}\n")
    assert problem.startswith("policy.yaml:2: "), note
    assert want in problem, note


def test_a_good_file_is_read_whole() -> None:
    first, second = parse(GOOD, "policy.yaml", Level.USER).rules
    assert (first.id, first.source.line, first.on.points, first.severity) == (
        "first",
        3,
        (HookPoint.TOOL_BEFORE,),
        "error",
    )
    assert (second.source.line, second.on.points) == (6, (HookPoint.TOOL_AFTER,))
    assert second.on.tools == ("group:fs", "exec", "mcp__*")


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row["note"])
def test_every_mistake_is_named(row: dict[str, str]) -> None:
    assert row["old"] in GOOD
    told = problems(GOOD.replace(row["old"], row["new"], 1))
    assert any(f"policy.yaml{row['want']}" in problem for problem in told), told


def test_all_mistakes_are_named_at_once() -> None:
    told = problems(GOOD.replace("action: deny", "action: dney").replace("tool.after", "tool.aftr"))
    assert len(told) == 2


def test_words_of_yaml_1_1_are_words() -> None:
    text = GOOD.replace("    action: deny", "    message: no\n    tags: [on, off, yes, 0x10, 1_000]\n    action: deny")
    rule = parse(text, "policy.yaml", Level.USER).rules[0]
    assert (rule.message, rule.tags) == ("no", ("on", "off", "yes", "0x10", "1_000"))


@pytest.mark.parametrize(
    ("note", "text"),
    [
        ("empty", ""),
        ("a list", "- a"),
        ("a text", "hello"),
        ("deep", "[" * 5000),
        ("deep maps", "version: 1\nrules: " + "{a: " * 5000),
        ("laughs", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]"),
        ("tags", "version: !!python/object:os.system 1"),
        ("NUL", "version: 1\0"),
        ("long", "# " + "x" * 1_100_000),
        ("a key that is a list", "? [a]\n: b"),
    ],
)
def test_garbage_is_an_error_and_nothing_else(note: str, text: str) -> None:
    assert problems(text), note


def test_mutated_files_are_rules_or_errors() -> None:
    """Any bytes: a policy or a PolicyError, never another exception."""
    rng = random.Random(5)
    refused = 0
    for _ in range(300):
        letters = list(GOOD)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(letters))
            letters[at] = rng.choice([*'\n :-"{[\t&*\0é', "", letters[at] * 3])
        try:
            load_text("".join(letters))
        except PolicyError:
            refused += 1
    assert refused > 50


def test_the_schema_knows_every_key() -> None:
    schema = json_schema()
    assert schema["$defs"]["RuleForm"]["additionalProperties"] is False
    assert {"id", "when", "on", "action", "answers", "examples", "rewrite"} <= schema["$defs"]["RuleForm"][
        "properties"
    ].keys()
