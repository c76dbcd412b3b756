"""`allow` rules answer questions that they name, in their scope, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from interpose import AutoDeny, Confirm, Context, Deny, Engine, ToolCall, create_interceptor_registry
from interpose.rules.policy.interceptor import registrations
from interpose.rules.policy.load import RuleText, load_texts
from interpose.rules.policy.rules import Level

ASKING = """version: 1
rules:
  - {id: ask-push, on: {tools: [exec]}, when: 'command.exists(c, c.name == "git")', action: ask}
  - {id: ask-dot, on: {tools: [exec]}, when: 'args.command.endsWith(".")', action: ask}
  - {id: deny-all, on: {tools: [exec]}, when: 'args.command.contains("forbidden")', action: deny}
"""
ANSWER = """version: 1
rules:
  - id: yes
    on: {{tools: [exec]}}
    when: '{when}'
    action: allow
    mode: {mode}
    answers: {{rules: {rules}, scope: {scope}}}
"""

ANY = {"when": "true", "rules": "[ask-push]", "scope": "everywhere", "mode": "enforce"}


class Guard:
    """A guard of another room that asks under its own rule."""

    def __init__(self, decision: Any) -> None:
        self.decision = decision

    def intercept(self, _call: ToolCall) -> Any:
        return self.decision


def run(
    command: str,
    *,
    guard: Any = None,
    level: Level = Level.USER,
    context: Context | None = None,
    arguments: dict[str, Any] | None = None,
    **answer: str,
) -> Any:
    filled = ANY | answer
    policy = load_texts(
        [RuleText("org.yaml", ASKING, Level.ORGANISATION), RuleText("u.yaml", ANSWER.format(**filled), level)]
    )
    registry = create_interceptor_registry()
    registry.swap(registrations(policy))
    if guard is not None:
        registry.add(id="guard", name="tool.before", interceptor=Guard(guard))
    call = ToolCall("exec", {"command": command, **(arguments or {})}, context=context or Context())
    return Engine(registry, confirm=AutoDeny()).run(call.context).run_tool(call, lambda args: "ran")


def test_a_named_question_is_answered_and_the_rule_is_the_approver() -> None:
    done = run("git push")
    assert (done.response, done.verdict.approver, done.outcome.approver) == ("ran", "policy:yes", "policy:yes")


@pytest.mark.parametrize(
    ("note", "options"),
    [
        ("another rule's question", {"rules": "[other]"}),
        ("its condition does not hold", {"when": 'command.exists(c, "pull" in c.args)'}),
        ("its condition fails", {"when": "1 / size(paths) == 1"}),
        ("it only watches", {"mode": "watch"}),
        ("another tool's scope", {"scope": "{tools: [read]}"}),
        ("another agent's scope", {"scope": "{agents: [other]}"}),
        ("another role's scope", {"scope": "{roles: [admin]}"}),
        ("another person's scope", {"scope": "{principals: [bob]}"}),
        ("another directory's scope", {"scope": "{directories: [/home/b/**]}"}),
        ("the call goes elsewhere", {"scope": "{directories: [/home/a/**]}", "arguments": {"workdir": "/srv"}}),
        ("the call goes up", {"scope": "{directories: [/home/a/**]}", "arguments": {"cwd": "../../b"}}),
        ("one of two scopes", {"scope": "{agents: [main], directories: [/home/b/**]}"}),
        ("a project's file", {"level": Level.PROJECT}),
    ],
)
def test_what_is_not_its_business_goes_to_a_person(note: str, options: dict[str, Any]) -> None:
    context = Context(agent_id="main", role="coder", principal="alice", cwd="/home/a/x")
    done = run("git push", context=context, **options)
    assert done.verdict.outcome == "deny", note
    assert done.verdict.approver == "", note


@pytest.mark.parametrize(
    "scope",
    [
        "{agents: [ma*]}",
        "{roles: [coder]}",
        "{principals: [alice]}",
        "{directories: [/home/a/**]}",
        "{tools: [group:runtime]}",
    ],
)
def test_a_scope_that_fits(scope: str) -> None:
    context = Context(agent_id="main", role="coder", principal="alice", cwd="/home/a/x")
    assert run("git push", context=context, scope=scope).verdict.approver == "policy:yes"


def test_a_directory_is_what_its_path_means() -> None:
    scope = "{directories: [/home/a/**]}"
    assert run("git push", context=Context(cwd="/home/a/../b"), scope=scope).verdict.approver == ""
    inside = run("git push", context=Context(cwd="/home/a/x"), scope=scope, arguments={"cwd": "y"})
    assert inside.verdict.approver == "policy:yes"


def test_one_question_left_is_put_to_a_person() -> None:
    assert run("git add .").verdict.outcome == "deny"
    assert run("git add .", rules="[ask-push, ask-dot]").verdict.approver == "policy:yes"


def test_it_never_answers_a_refusal() -> None:
    assert run("git push forbidden", rules="[ask-push, deny-all]").verdict.outcome == "deny"
    assert run("ls", guard=Deny("no", rule="ask-push")).verdict.outcome == "deny"


def test_it_answers_the_question_of_a_guard_by_its_rule() -> None:
    assert (
        run("ls", guard=Confirm("sure?", rule="git-push-force"), rules="[git-push-force]").verdict.approver
        == "policy:yes"
    )


def test_it_does_not_answer_for_a_rule_that_failed() -> None:
    """Who agrees to what a rule asks has not agreed to a rule that could not look."""
    failing = ASKING.replace(
        "'command.exists(c, c.name == \"git\")', action: ask", "'1 / size(hosts) > 1', on_error: ask, action: ask"
    )
    policy = load_texts([RuleText("o.yaml", failing), RuleText("u.yaml", ANSWER.format(**ANY), Level.ORGANISATION)])
    registry = create_interceptor_registry()
    registry.swap(registrations(policy))
    verdict = Engine(registry, confirm=AutoDeny()).run().run_tool(ToolCall("exec", {"command": "ls"}), str).verdict
    assert (verdict.outcome, verdict.approver) == ("deny", "")


def test_a_question_of_no_rule_is_nobodys_to_answer() -> None:
    assert run("ls", guard=Confirm("sure?")).verdict.outcome == "deny"
