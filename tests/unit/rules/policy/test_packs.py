from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from interpose import Context, Engine, ToolCall, create_interceptor_registry
from interpose.composition.build import add_builtin_interceptors
from interpose.core.errors import PolicyError
from interpose.core.types import HookPoint
from interpose.doors.cli.suggest import commands_in
from interpose.rules.policy import compiled, examples
from interpose.rules.policy.compiled import CompiledRule, compile_rules
from interpose.rules.policy.interceptor import registrations
from interpose.rules.policy.load import RulePlace, RuleText, load, load_text, pack_names, pack_text, parsed
from interpose.rules.policy.pack_catalogue import pack
from interpose.rules.policy.rules import Level, PolicyProblem, Rule
from interpose.rules.policy_trials.lint import lint
from interpose.rules.policy_trials.trials import Trial, run_trials

NAMES = pack_names()
RULES = [rule for name in NAMES for rule in pack(name).rules]
CASES = Path(__file__).parents[3] / "cases" / "policy" / "packs"


def rule_id(rule: Rule) -> str:
    return rule.id


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/dev")


def test_the_packs_that_were_promised() -> None:
    assert set(NAMES) == {
        "baseline", "cloud", "databases", "exfiltration", "git", "kubernetes", "packages", "production", "read-only",
        "secrets",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_pack_is_worth_its_name(name: str) -> None:
    shown = pack(name)
    assert shown.rules
    assert shown.summary.endswith(".")
    assert len({rule.id for rule in shown.rules}) == len(shown.rules)
    assert all(rule.id.startswith(f"{name}/") for rule in shown.rules)


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_a_rule_explains_itself(rule: Rule) -> None:
    assert rule.message.endswith(".")
    assert rule.description.endswith(".")
    assert rule.tags
    assert {example.matches for example in rule.examples} == {True, False}
    assert "args.command" not in rule.when, "rules look at effects and parsed commands, not at text"


@pytest.mark.parametrize("condition", ["true", "false"])
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_the_examples_notice_a_rule_that_says_the_same_to_everything(rule: Rule, condition: str) -> None:
    """Calls of tools that the rule is not about prove nothing, so a rule on `true` has none of its own to get wrong."""
    if rule.when == "true" and condition == "true":
        return
    with pytest.raises(PolicyError, match=rule.id):
        compile_rules([replace(rule, when=condition)])


@pytest.mark.parametrize("name", NAMES)
def test_no_rule_of_a_pack_is_dead_shadowed_or_untested(name: str) -> None:
    assert lint([pack_text(name)]) == []


@pytest.mark.parametrize("home", ["/root", "/", "/var/lib/jenkins", "/Users/ann", "/workspace/project", ""])
def test_the_packs_load_wherever_the_home_is(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(compiled, "_tried", {})  # in another home, and not as they were tried in the last
    assert len(load([], packs=NAMES).rules) == len(RULES)


@pytest.mark.parametrize("name", NAMES)
def test_advice_is_allowed_by_the_engine_that_gives_it(name: str) -> None:
    registry = add_builtin_interceptors(create_interceptor_registry())
    registry.swap(registrations(load([], packs=[name])))
    engine = Engine(registry)
    advised = [(rule.id, command) for rule in pack(name).rules for command in commands_in(rule.instead)]
    for rule, command in advised:
        verdict = engine.decide(ToolCall("exec", {"command": command}, context=Context(cwd="/workspace/project")))
        assert verdict.allowed, f"{rule}: {command}: {verdict.reason}"


@pytest.mark.parametrize("name", NAMES)
def test_everyday_work_passes(name: str) -> None:
    """A small sample for every run; bench/packs.py measures the rest."""
    if name == "read-only":
        return
    policy = load([], packs=[name])
    registry = create_interceptor_registry()
    registry.swap(registrations(policy))
    engine = Engine(registry)
    for command in (
        "git status", "git commit -m 'mend it'", "git push", "npm test", "pip install -r requirements.txt", "make",
        "docker compose up -d", "kubectl get pods", "aws s3 ls", "terraform plan", "psql -c 'SELECT 1'",
        "rm -rf build", "cat README.md", "rg TODO src", "pytest -q", "curl -s localhost", "ssh box uptime",
    ):  # fmt: skip
        assert engine.decide(ToolCall("exec", {"command": command})).outcome == "allow", command


@pytest.mark.parametrize("name", NAMES)
def test_cases_of_a_pack(name: str) -> None:
    trials: list[Trial] = run_trials([RulePlace(str(CASES / f"{name}.yaml"))])
    assert trials
    assert [f"{trial.name}: {trial.message}" for trial in trials if trial.status != "passed"] == []


def test_results_are_looked_at_as_well() -> None:
    assert any(HookPoint.TOOL_AFTER in rule.on.points for rule in RULES)


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_the_page_of_packs_is_true(rule: Rule) -> None:
    page = (Path(__file__).parents[4] / "docs" / "packs.md").read_text(encoding="utf-8")
    assert f"| `{rule.id}` | {rule.action} | {rule.message} |" in page


def test_what_was_tried_in_this_process_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each project has an engine of its own, with the same packs. Another example makes another rule."""
    tried: list[str] = []
    failing = examples.failing_examples

    def noted(rule: CompiledRule) -> Iterator[PolicyProblem]:
        tried.append(rule.rule.id)
        return failing(rule)

    monkeypatch.setattr(examples, "failing_examples", noted)
    monkeypatch.setattr(compiled, "_tried", {})
    rules = [load([], packs=NAMES).rules for _ in range(2)]
    assert rules[0] == rules[1]
    assert len(tried) == len(RULES)
    text = "version: 1\nrules: [{id: a, when: 'true', action: deny, message: no, examples: {%s: [ls]}}]\n"
    assert len(load_text(text % "match").rules) == 1
    with pytest.raises(PolicyError, match="examples"):
        load_text(text % "no_match")
    monkeypatch.setattr(compiled, "_MAX_TRIED", 1)
    del tried[:]
    assert load([], packs=NAMES).rules == rules[0]
    assert tried == []
    assert load_text(text.replace("id: a", "id: b") % "match").rules[0].rule.id == "b"
    assert len(compiled._tried) == 1, "it does not grow for ever"


def test_a_pack_is_read_once_in_a_process_and_a_users_file_each_time() -> None:
    text = pack_text("baseline")
    assert parsed(text) is parsed(pack_text("baseline"))
    assert parsed(pack_text("baseline", Level.ORGANISATION)) is not parsed(text)
    own = RuleText("a.yaml", text.text.replace("baseline/", ""))
    assert parsed(own) is not parsed(own), "whoever changes it again and again fills no memory"
