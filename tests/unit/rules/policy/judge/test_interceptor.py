"""AI rules from their file to the agent: what they decide, what they answer, and what they never do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from interpose import AutoApprove, AutoDeny, Engine, ToolCall, create_interceptor_registry
from interpose.core.errors import PolicyError
from interpose.core.types import Deny, Verdict
from interpose.rules.policy.interceptor import registrations
from interpose.rules.policy.load import RuleText, load_texts
from interpose.rules.policy.rules import Level
from tests.support.peers.judges import KEY, Provider, openai_text, send, serving

BOMB = ToolCall("exec", {"command": "make bomb"})
CAKE = ToolCall("exec", {"command": "make cake"})


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as running:
        yield running


def engine(provider: Provider, rules: str, confirm: Any = None, project: str = "", **settings: Any) -> Engine:
    """An engine with these rules, as a user's file and maybe a project's."""
    judge = json.dumps(provider.settings(**settings))
    texts = [RuleText("user.yaml", f"version: 1\njudge: {judge}\nrules:\n{rules}")]
    if project:
        texts.append(RuleText("project.yaml", f"version: 1\nrules:\n{project}", Level.PROJECT))
    registry = create_interceptor_registry()
    registry.swap(registrations(load_texts(texts)))
    return Engine(registry, confirm=confirm)


def decide(engine: Engine, call: ToolCall, use_async: bool) -> Verdict[ToolCall]:
    return asyncio.run(engine.adecide(call)) if use_async else engine.decide(call)


both = pytest.mark.parametrize("use_async", [False, True], ids=["sync caller", "async caller"])

NO_BOMBS = """
  - id: no-bombs
    prompt: no bomb
    action: deny
    message: No bombs here.
    instead: Bake a cake.
"""
ASK = """
  - id: ask-first
    when: "true"
    action: ask
    message: May it?
"""
ASK_TOO = ASK.replace("ask-first", "ask-too")
ALLOW = """
  - id: harmless
    prompt: only cake
    action: allow
    answers: {rules: [ask-first], scope: everywhere}
"""


@both
def test_a_rule_denies(provider: Provider, use_async: bool) -> None:
    running = engine(provider, NO_BOMBS)
    verdict = decide(running, BOMB, use_async)
    assert verdict.decision == Deny(
        "No bombs here. (Judge: looked for bomb)", "no-bombs", "error", "", "Bake a cake.",
        detail="looked for bomb", summary="No bombs here.",
    )  # fmt: skip
    assert (verdict.findings[0].detail, verdict.findings[0].summary) == ("looked for bomb", "No bombs here.")
    assert verdict.policy
    assert decide(running, CAKE, use_async).outcome == "allow"


@both
def test_each_rule_asks_for_itself(provider: Provider, use_async: bool) -> None:
    rules = NO_BOMBS.replace("deny", "ask") + NO_BOMBS.replace("deny", "ask").replace("no-bombs", "no-more-bombs")
    verdict = decide(engine(provider, rules), BOMB, use_async)
    assert verdict.outcome == "ask"
    assert [found.rule for found in verdict.findings] == ["no-bombs", "no-more-bombs"]
    assert len(provider.requests) == 1


@both
def test_the_gravest_refusal_counts_and_the_others_are_noted(provider: Provider, use_async: bool) -> None:
    grave = NO_BOMBS.replace("no-bombs", "grave") + "    severity: critical\n"
    verdict = decide(engine(provider, NO_BOMBS + grave), BOMB, use_async)
    assert isinstance(verdict.decision, Deny)
    assert verdict.decision.rule == "grave"
    assert {(found.rule, found.said) for found in verdict.findings} == {("grave", "deny"), ("no-bombs", "deny")}


def test_what_other_rules_refuse_costs_no_judgement(provider: Provider) -> None:
    verdict = engine(provider, NO_BOMBS + ASK.replace("ask\n", "deny\n")).decide(BOMB)
    assert verdict.outcome == "deny"
    assert provider.requests == []


CONDITIONS = [
    ("holds", 'tool == "exec"', "deny", 1),
    ("does not hold", 'tool == "write"', "allow", 0),
    ("fails", "1 / (size(tool) - 4) == 1", "deny", 0),
]


@pytest.mark.parametrize(("note", "when", "outcome", "calls"), CONDITIONS, ids=[note for note, *_ in CONDITIONS])
def test_a_condition_says_when_the_judge_is_asked(
    provider: Provider, note: str, when: str, outcome: str, calls: int
) -> None:
    running = engine(provider, f"{NO_BOMBS}    when: {when!r}\n")
    assert running.decide(BOMB).outcome == outcome, note
    assert len(provider.requests) == calls


def test_a_rewrite_is_judged_again(provider: Provider) -> None:
    running = engine(provider, NO_BOMBS)
    running.interceptors.add(  # type: ignore[attr-defined]  # a registry, and not a chain
        id="rewrites", name="tool.before", handler=lambda _input, output: output.args.update(command="make bomb")
    )
    assert running.decide(CAKE).outcome == "deny"


AFTER = """
  - id: no-pins
    on: {point: tool.after}
    prompt: no 1234
    action: ACTION
    message: No pins.
"""


def test_a_result_is_withheld(provider: Provider) -> None:
    running = engine(provider, AFTER.replace("ACTION", "deny"))
    response = running.run_tool(CAKE, lambda _args: "the pin is 1234")
    assert response == {
        "status": "withheld", "tool": "exec", "reason": "No pins. (Judge: looked for 1234)", "ran": True,
    }  # fmt: skip
    assert running.run_tool(CAKE, lambda _args: "the pin is gone") == "the pin is gone"


REDACTED = [
    ("a text", "the pin is 1234", "the pin is [PIN]"),
    ("deep inside", {"a": [{"b": "1234"}], "c": 5}, {"a": [{"b": "[PIN]"}], "c": 5}),
    ("nothing to redact", "the pin is gone", "the pin is gone"),
]


@pytest.mark.parametrize(("note", "result", "want"), REDACTED, ids=[note for note, *_ in REDACTED])
def test_a_result_is_redacted(provider: Provider, note: str, result: Any, want: Any) -> None:
    rule = AFTER.replace("ACTION", "redact") + '    redact: {replacement: "[PIN]"}\n'
    assert engine(provider, rule).run_tool(CAKE, lambda _args: result) == want, note


def test_arguments_are_redacted(provider: Provider) -> None:
    rule = AFTER.replace("ACTION", "redact").replace("tool.after", "tool.before")
    verdict = engine(provider, rule).decide(ToolCall("send", {"text": "the pin is 1234", "to": ["eve"]}))
    assert verdict.outcome == "rewrite"
    assert verdict.payload.arguments == {"text": "the pin is [REDACTED]", "to": ["eve"]}
    assert [(found.said, found.rule) for found in verdict.findings] == [("rewrite", "no-pins")]
    assert verdict.rule == "no-pins"


QUOTES: list[tuple[str, Any]] = [
    ("no quote", []),
    ("a quote that is not there", ["4321"]),
    ("one of two is not there", ["1234", "4321"]),
    ("an empty quote", [""]),
    ("too many quotes", ["1234"] * 65),
    ("no list", "1234"),
    ("numbers", [1234]),
]


@pytest.mark.parametrize(("note", "quotes"), QUOTES, ids=[note for note, _ in QUOTES])
def test_what_cannot_be_taken_out_is_withheld(provider: Provider, note: str, quotes: Any) -> None:
    verdict = {"rule": "no-pins", "allowed": False, "reason": "", "redact": quotes}
    provider.body = lambda _: openai_text(json.dumps({"verdicts": [verdict]}))
    response = engine(provider, AFTER.replace("ACTION", "redact")).run_tool(CAKE, lambda _args: "the pin is 1234")
    assert response["status"] == "withheld", note
    assert response["reason"].startswith("No pins."), "the rule withholds it, and no accident"
    assert "1234" not in str(response)


def test_a_judge_writes_nothing_into_a_result(provider: Provider) -> None:
    """It may quote what is there, no more: an allowed result with quotes is a contradiction."""
    verdict = {"rule": "no-pins", "allowed": True, "reason": "", "redact": ["the"]}
    provider.body = lambda _: openai_text(json.dumps({"verdicts": [verdict]}))
    response = engine(provider, AFTER.replace("ACTION", "redact")).run_tool(CAKE, lambda _args: "the result")
    assert response["status"] == "withheld"


def test_nothing_is_spent_on_the_result_of_a_denied_call(provider: Provider) -> None:
    running = engine(provider, AFTER.replace("ACTION", "deny") + ASK.replace("ask\n", "deny\n"))
    assert running.run_tool(CAKE, lambda _args: "x")["status"] == "blocked"
    assert provider.requests == []


@both
def test_a_judge_answers_where_its_rule_says_so(provider: Provider, use_async: bool) -> None:
    running = engine(provider, ASK + ALLOW, AutoDeny()).run()
    ran = asyncio.run(running.arun_tool(CAKE, str)) if use_async else running.run_tool(CAKE, str)
    assert ran.verdict.allowed
    assert ran.verdict.approver == "judge:harmless"
    assert ran.outcome.approver == "judge:harmless"


UNANSWERED: list[tuple[str, str, str, ToolCall]] = [
    ("the judge does not agree", ASK + ALLOW, "", BOMB),
    ("another rule asks too", ASK + ASK_TOO + ALLOW, "", CAKE),
    ("another rule asks", ASK_TOO + ALLOW, "", CAKE),
    ("watching", ASK + ALLOW + "    mode: watch\n", "", CAKE),
    ("switched off", ASK + ALLOW + "    enabled: false\n", "", CAKE),
    ("another tool", ASK + ALLOW + "    on: {tools: [write]}\n", "", CAKE),
    ("another scope", ASK + ALLOW.replace("everywhere", "{agents: [other]}"), "", CAKE),
    ("a condition", ASK + ALLOW + "    when: 'tool == \"write\"'\n", "", CAKE),
    ("a project's word", ASK, ALLOW, CAKE),
    ("a deny rule that permits", ASK + NO_BOMBS, "", CAKE),
]


@pytest.mark.parametrize(("note", "rules", "project", "call"), UNANSWERED, ids=[note for note, *_ in UNANSWERED])
def test_otherwise_a_person_is_asked(provider: Provider, note: str, rules: str, project: str, call: ToolCall) -> None:
    running = engine(provider, rules, AutoDeny(), project)
    verdict = running.run().run_tool(call, str).verdict
    assert verdict.reason.startswith("Confirmation denied: May it?"), note
    assert engine(provider, rules, AutoApprove(), project).run().run_tool(call, str).verdict.approver == "AutoApprove"


@pytest.mark.parametrize("status", [500, 429, 400])
def test_a_judge_that_fails_answers_nothing(provider: Provider, status: int) -> None:
    provider.reply = lambda handler, body: send(handler, body, status)
    for on_error in ("deny", "ask", "allow"):
        running = engine(provider, f"{ASK}{ALLOW}    on_error: {on_error}\n", AutoApprove())
        assert running.run().run_tool(CAKE, str).verdict.approver == "AutoApprove"


def test_a_judge_never_lifts_a_refusal(provider: Provider) -> None:
    rules = ASK.replace("ask\n", "deny\n") + ALLOW
    assert engine(provider, rules, AutoApprove()).run().run_tool(CAKE, str).verdict.outcome == "deny"


def test_an_answer_is_for_the_call_that_was_judged(provider: Provider) -> None:
    """Agents choose the ids of their calls. An approval of one is none of another with the same id."""
    running = engine(provider, ASK + ALLOW, AutoDeny()).run()
    same_id = ToolCall("exec", {"command": "make bomb"}, call_id=CAKE.call_id)
    assert running.run_tool(CAKE, str).verdict.allowed
    assert not running.run_tool(same_id, str).verdict.allowed
    runs = running.run_tools([(CAKE, str), (same_id, str)])
    assert [ran.verdict.allowed for ran in runs] == [True, False]


def test_a_policy_without_ai_rules_needs_no_judge() -> None:
    registry = create_interceptor_registry()
    registry.swap(registrations(load_texts([RuleText("user.yaml", f"version: 1\nrules:\n{ASK}")])))
    assert Engine(registry, confirm=AutoApprove()).run().run_tool(CAKE, str).verdict.approver == "AutoApprove"


def test_reloading_leaves_no_older_judge_behind(provider: Provider) -> None:
    running = engine(provider, NO_BOMBS)
    assert running.decide(BOMB).outcome == "deny"
    without = registrations(load_texts([RuleText("user.yaml", "version: 1\nrules: []")]))
    running.interceptors.swap(without)  # type: ignore[attr-defined]  # a registry, and not a chain
    assert running.decide(BOMB).outcome == "allow"


REFUSED = [
    ("no judge", "version: 1\nrules:\n" + NO_BOMBS, "user.yaml:"),
    (
        "a key in the file",
        f"version: 1\njudge: {{provider: openai, model: m, key: {KEY}}}\nrules:\n{NO_BOMBS}",
        "keys don't",
    ),
    (
        "a pattern",
        "version: 1\nrules:\n" + AFTER.replace("ACTION", "redact") + "    redact: {pattern: x}\n",
        "has no `pat",
    ),
]


@pytest.mark.parametrize(("note", "text", "message"), REFUSED, ids=[note for note, *_ in REFUSED])
def test_a_policy_whose_judge_cannot_work_is_not_taken(note: str, text: str, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        registrations(load_texts([RuleText("user.yaml", text)]))
    assert message in str(caught.value), note
    assert KEY not in str(caught.value)
