"""Rules tried out while they are typed: what they say, whether their examples hold, and that nothing takes for ever."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.composition.build import open_guards
from interpose.composition.playground import MAX_EXAMPLES, MAX_REWRITING, MAX_RULES, MAX_TEXT, Played, play
from interpose.core.config.settings import Config
from interpose.core.types import ToolCall, ToolOutcome
from interpose.rules.policy.rules import Level

DEPLOY = """\
version: 1
rules:
  - id: no-deploy
    on: {tools: [exec]}
    when: command.exists(c, c.name == "deploy")
    action: ask
    message: Deploy?
    examples: {match: [deploy now], no_match: [echo deploy]}
"""


def call(command: str = "deploy now", **more: Any) -> ToolCall:
    return ToolCall("exec", {"command": command} | more)


def test_what_a_rule_says_and_why() -> None:
    done = play(DEPLOY, call("cd /srv && deploy now"))
    assert done.problems == ()
    assert done.alone is not None
    assert (done.alone.outcome, done.alone.rule) == ("ask", "no-deploy")
    (account,) = done.accounts
    assert (account.said, [name for name, _ in account.causes]) == ("ask", ["command"])
    assert "deploy" in str(account.causes[0][1])
    assert [(trial.status, trial.rule) for trial in done.trials] == [("passed", "no-deploy")] * 2
    assert not done.late


def test_an_example_that_fails_is_shown_and_the_rule_is_played_all_the_same() -> None:
    done = play(DEPLOY.replace("[echo deploy]", "[deploy later]"), call())
    assert [trial.status for trial in done.trials] == ["passed", "failed"]
    assert done.alone is not None
    assert done.alone.outcome == "ask"


def test_guards_speak_beside_the_rules() -> None:
    guards = open_guards(Config()).interceptors.snapshot().entries
    done = play(DEPLOY, call("rm -rf /"), guards=guards)
    assert done.alone is not None
    assert done.guarded is not None
    assert (done.alone.outcome, done.guarded.outcome) == ("allow", "deny")


def test_rules_of_results() -> None:
    rule = """{id: hide, action: redact, when: 'result.text.contains("47")', redact: {pattern: "47"}}"""
    text = f"version: 1\nrules: [{rule}]\n"
    done = play(text, call("ls"), result=ToolOutcome(call("ls"), "a 47"))
    assert done.after is not None
    assert done.after.rewritten
    assert done.after.payload.result == "a [REDACTED]"
    assert play(text, call("ls")).after is None


def test_a_project_can_loosen_nothing() -> None:
    text = DEPLOY + "  - {id: fine, when: 'true', action: allow, answers: {rules: [no-deploy], scope: everywhere}}\n"
    by_user, by_project = play(text, call()), play(text, call(), level=Level.PROJECT)
    assert by_user.alone is not None
    assert by_user.alone.allowed
    assert by_project.alone is not None
    assert by_project.alone.outcome == "ask"
    assert "a project file" in by_project.refused[0].message


def test_no_judge_is_asked() -> None:
    text = "version: 1\nrules:\n  - {id: kind, prompt: Is this kind?, action: deny}\n"
    done = play(text, call())
    assert done.alone is not None
    assert done.alone.outcome == "allow"
    assert [account.said for account in done.accounts] == ["not-asked"]


def test_packs_have_a_say_and_their_examples_are_not_run() -> None:
    done = play("version: 1\npacks: [git]\nrules: []\n", call("git push --force origin main"))
    assert done.alone is not None
    assert not done.alone.allowed
    assert done.trials == ()


def repeated(count: int, rule: str) -> str:
    return "version: 1\nrules:\n" + "".join(f"  - {{id: r{number}, {rule}}}\n" for number in range(count))


REWRITING = """when: 'true', action: transform, on: {tools: [exec]}, rewrite: {command: '"x"'}"""
MANY = ", ".join(["ls"] * MAX_EXAMPLES)
BROKEN: list[tuple[str, str, str]] = [
    ("no YAML", "version: 1\nrules: [", "playground.yaml"),
    ("no rules", "[]", "playground.yaml"),
    ("no CEL", DEPLOY.replace("command.exists", "command.exits"), "no-deploy"),
    ("an unknown pack", "version: 1\npacks: [none]\n", "unknown pack"),
    ("a name of a file as a pack", "version: 1\npacks: [../../../etc/passwd]\n", "unknown pack"),
    ("a hostile pattern", DEPLOY.replace('c.name == "deploy"', 'c.name.matches("(a")'), "no-deploy"),
    ("too long", "#" * (MAX_TEXT + 1), "longer than"),
    ("too many rules", repeated(MAX_RULES + 1, "when: 'true', action: log"), "rules at most"),
    ("too many that rewrite", repeated(MAX_REWRITING + 1, REWRITING), "that rewrite"),
    ("too many examples", repeated(2, f"when: 'true', action: log, examples: {{match: [{MANY}]}}"), "examples at most"),
    ("aliases that grow", "a: &a [x, x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nd: [*c, *c, *c]\n", "playground"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "want"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_what_is_wrong_is_said(text: str, want: str) -> None:
    done = play(text, call())
    assert done.problems
    assert want in str(done.problems[0])
    assert done.alone is None
    assert done.guarded is None
    assert done.accounts == ()


SLOW = "has(args.words) && has(args.big) && args.words.exists(b, args.words.exists(c, args.big.contains(b + c)))"


def slow(rules: int) -> Played:
    words = [f"word {number}" for number in range(140)]
    text = repeated(rules, f"on: {{tools: [exec]}}, when: '{SLOW}', action: deny")
    return play(text, call("ls", words=words, big="wor" * 10_000))


def test_all_conditions_together_have_their_time() -> None:
    """Each may take its second; forty of them in every round of the interceptor must not take minutes."""
    done = slow(MAX_RULES)
    assert done.problems == ()
    assert done.late
    assert any("seconds here" in account.why for account in done.accounts)


def test_a_pattern_that_would_go_back_for_ever_does_not() -> None:
    text = DEPLOY.replace('command.exists(c, c.name == "deploy")', '"args.command.matches(\\"^(a+)+$\\")"')
    done = play(text.replace("match: [deploy now], no_match: [echo deploy]", ""), call("a" * 30_000 + "!"))
    assert done.problems == ()
    assert not done.late
