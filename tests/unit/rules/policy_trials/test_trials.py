from __future__ import annotations

import re
from pathlib import Path

import pytest

from interpose.rules.policy.load import RulePlace
from interpose.rules.policy_trials.trials import Trial, run_trials

RULES = """
version: 1
rules:
  - id: no-deploy
    action: deny
    when: command.exists(c, c.name == "deploy")
    tags: [ops]
    examples: {match: [deploy now], no_match: [echo deploy]}
  - id: ask-release
    action: ask
    when: command.exists(c, c.name == "release")
    examples: {match: [release now], no_match: [ls]}
  - id: nightly
    action: allow
    when: agent.id == "nightly"
    answers: {rules: [ask-release], scope: {agents: [nightly]}}
    examples: {match: [{tool: exec, args: {command: ls}, agent: nightly}], no_match: [ls]}
  - id: shout
    action: transform
    on: {tools: [write]}
    when: args.content == "a"
    rewrite: {content: args.content + "!"}
    examples:
      match: [{tool: write, args: {path: x, content: a}}]
      no_match: [{tool: write, args: {path: x, content: b}}]
  - id: hide
    action: redact
    when: result.text.contains("4711")
    redact: {pattern: "4711"}
    examples:
      match: [{tool: read, args: {path: x}, result: "4711"}]
      no_match: [{tool: read, args: {path: x}, result: a}]
"""

CASES = """
version: 1
cases:
  - {note: NOTE, CASE}
"""


def trials(tmp_path: Path, rules: str, cases: str = "", **options: list[str]) -> list[Trial]:
    (tmp_path / "rules.yaml").write_text(rules)
    if cases:
        (tmp_path / "cases.yaml").write_text(cases)
    return run_trials([RulePlace(str(tmp_path))], **options)


def test_each_example_is_one_trial(tmp_path: Path) -> None:
    found = trials(tmp_path, RULES)
    assert [trial.status for trial in found] == ["passed"] * 10
    assert found[0].name == "no-deploy matches 'deploy now'"
    assert found[0].line == 8
    assert found[0].tags == ("ops",)


def test_an_example_that_fails_says_why_and_the_others_still_run(tmp_path: Path) -> None:
    found = trials(tmp_path, RULES.replace("no_match: [ls]", "no_match: [release again]"))
    failed = [trial for trial in found if trial.status == "failed"]
    assert [(trial.rule, trial.message) for trial in failed] == [("ask-release", "it does")]
    assert len(found) == 10


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ("call: deploy now, want: deny", ""),
        ("call: deploy now, want: deny, rule: no-deploy", ""),
        ("call: deploy now, want: deny, rule: other", "expected deny by other, got deny by no-deploy"),
        ("call: deploy now, want: ask", "expected ask, got deny by no-deploy"),
        ("call: ls, want: deny", "expected deny, got allow"),
        ("call: release now, want: ask, rule: ask-release", ""),
        ("call: {tool: exec, args: {command: release}, agent: nightly}, want: allow, rule: nightly", ""),
        ("call: {tool: exec, args: {command: release}, agent: daily}, want: ask", ""),
        ("call: {tool: Write, args: {path: x, content: a}}, want: rewrite, gives: {path: x, content: a!}", ""),
        ("call: {tool: write, args: {path: x, content: a}}, want: rewrite, gives: {path: x}", "expected it to give"),
        ("call: {tool: read, args: {path: x}, result: is 4711}, want: rewrite, gives: 'is [REDACTED]'", ""),
        ("call: {tool: read, args: {path: x}, result: null}, want: allow, gives: null", ""),
        ("call: {tool: read, args: {path: x}, result: 4711 5}, want: allow", "expected allow, got rewrite"),
    ],
)
def test_cases(tmp_path: Path, case: str, why: str) -> None:
    (found,) = (trial for trial in trials(tmp_path, RULES, CASES.replace("CASE", case)) if trial.kind != "example")
    assert (found.kind, found.name, found.line) == ("case", "NOTE", 4)
    assert found.status == ("failed" if why else "passed"), found.message
    assert found.message.startswith(why)


@pytest.mark.parametrize(
    ("note", "cases", "why"),
    [
        ("an unknown word", CASES.replace("CASE", "call: ls, want: perhaps"), "want: invalid enum value"),
        ("no note", "version: 1\ncases: [{call: ls, want: deny}]", "the key 'note' is missing"),
        ("an unknown key", CASES.replace("CASE", "call: ls, want: deny, why: x"), "unknown key 'why'"),
        ("no call", CASES.replace("CASE", "want: deny"), "the key 'call' is missing"),
        ("no version", "cases: []", "the key 'version' is missing"),
        ("an unknown pack", "version: 1\npacks: [nope]\ncases: []", "not run, since the rules do not load"),
    ],
)
def test_case_files_that_are_none(tmp_path: Path, note: str, cases: str, why: str) -> None:
    (found,) = (trial for trial in trials(tmp_path, RULES, cases) if trial.kind != "example")
    assert (found.kind, found.status) == ("file", "failed"), note
    assert why in found.message


@pytest.mark.parametrize(
    ("note", "rules", "why"),
    [
        ("no YAML", "version: [", "not YAML"),
        ("an unknown key", "version: 1\nrule: []", "unknown key 'rule'"),
        ("an unknown variable", 'version: 1\nrules: [{id: a, action: deny, when: "nope"}]', "unknown variable"),
    ],
)
def test_rule_files_that_are_none(tmp_path: Path, note: str, rules: str, why: str) -> None:
    (found,) = trials(tmp_path, rules)
    assert (found.kind, found.status) == ("file", "failed"), note
    assert why in found.message


def test_tags(tmp_path: Path) -> None:
    cases = CASES.replace("CASE", "call: ls, want: allow, tags: [quick]")
    assert {trial.rule for trial in trials(tmp_path, RULES, cases, tags=["ops"])} == {"no-deploy"}
    assert [trial.name for trial in trials(tmp_path, RULES, cases, tags=["quick"])] == ["NOTE"]
    assert trials(tmp_path, RULES, cases, tags=["none"]) == []


def test_packs_that_a_file_names_are_tested_with_it(tmp_path: Path) -> None:
    found = trials(tmp_path, "version: 1\npacks: [git]\n")
    assert len(found) > 30
    assert {trial.status for trial in found} == {"passed"}


def test_what_only_a_judge_can_say_is_skipped(tmp_path: Path) -> None:
    rules = "version: 1\nrules: [{id: a, action: deny, prompt: Is it rude?, examples: {match: [ls]}}]"
    assert [trial.status for trial in trials(tmp_path, rules)] == ["skipped"]


def test_the_case_file_of_the_docs_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "policy-cli.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    found = [trial for trial in trials(tmp_path, "version: 1", block) if trial.kind != "example"]
    assert [(trial.kind, trial.status) for trial in found] == [("case", "passed")] * 3
