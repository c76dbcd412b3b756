"""What verdicts are on the wire: every word of a verdict has its place, and the rule that decided comes first."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from interpose.core.types import Allow, Confirm, Deny, Finding, ToolCall, ToolOutcome, Transform, Verdict
from interpose.doors.http.verdicts import intercept_answer, told

CALL = ToolCall("exec", {"command": "rm -rf /", "cwd": "/w"}, original_name="Bash")
GUARD = Finding(interceptor="builtin:g", said="deny", reason="no", rule="r", part="rm -rf", instead="trash /")
WATCH = Finding(interceptor="policy", said="deny", reason="would", rule="w", mode="watch")
QUESTION = Finding(interceptor="policy", said="ask", reason="sure?", rule="q")
REWRITE = Finding(interceptor="policy", said="rewrite", reason="command", part="command")
BROKEN = Finding(interceptor="plugin:x", said="error", reason="ZeroDivisionError")
NOTE = Finding(interceptor="policy", said="note", reason="does not match", rule="n")
JUDGED = Finding(kind="ai", interceptor="policy:judge", said="deny", reason="Rule text (Judge: because)", rule="ai",
                 detail="because", summary="Rule text")  # fmt: skip


def verdict(decision: Any, *findings: Finding, **fields: Any) -> Verdict[Any]:
    words: dict[Any, str] = {Allow: "allow", Transform: "rewrite", Confirm: "ask", Deny: "deny"}
    given = {"outcome": words[type(decision)], "decision": decision, "payload": CALL, "findings": findings}
    return Verdict(**given | {"decided_by": _decided_by(decision, findings)} | fields)


def _decided_by(decision: Any, findings: tuple[Finding, ...]) -> Finding | None:
    """The finding that the decision was made of, or one for a refusal that no interceptor gave."""
    if not isinstance(decision, Deny | Confirm):
        return None
    made_of = [found for found in findings if found.rule == decision.rule and found.mode == "enforce"]
    reason = decision.reason if isinstance(decision, Deny) else decision.message
    said: Any = "deny" if isinstance(decision, Deny) else "ask"
    return made_of[0] if made_of else Finding(interceptor="interpose", said=said, reason=reason, rule=decision.rule)


SAID: list[tuple[str, Verdict[Any], str, list[tuple[str, str, str]]]] = [
    ("nothing", verdict(Allow()), "info", []),
    ("only a note", verdict(Allow(), NOTE), "info", []),
    ("a refusal", verdict(Deny("no", "r"), GUARD), "error", [("r", "deny", "error")]),
    ("watched", verdict(Allow(), WATCH), "warn", [("w", "deny", "warn")]),
    ("watched, then refused", verdict(Deny("no", "r"), WATCH, GUARD), "error",
     [("r", "deny", "error"), ("w", "deny", "warn")]),
    ("a question", verdict(Confirm("sure?", "q"), QUESTION), "error", [("q", "ask", "error")]),
    ("a question with a yes", verdict(Allow(), QUESTION, approver="bob"), "info", [("q", "ask", "info")]),
    ("a question with a no", verdict(Deny("nope", "denied"), QUESTION), "error",
     [("denied", "deny", "error"), ("q", "ask", "error")]),
    ("a rewrite", verdict(Transform(CALL), REWRITE), "info", [("policy", "rewrite", "info")]),
    ("a failure that is let pass", verdict(Allow(), BROKEN), "warn", [("plugin:x", "error", "warn")]),
    ("a judge", verdict(Deny(JUDGED.reason, "ai"), JUDGED), "error", [("ai", "deny", "error")]),
    ("a refusal without a word", verdict(Deny("")), "error", [("interpose", "deny", "error")]),
]  # fmt: skip


@pytest.mark.parametrize(("note", "given", "severity", "want"), SAID, ids=[case[0] for case in SAID])
def test_what_is_said(note: str, given: Verdict[Any], severity: str, want: list[tuple[str, str, str]]) -> None:
    said = told(given)
    assert said.severity == severity, note
    pairs = zip(said.results, said.messages, strict=True)
    assert [(one.policy_name, one.action, message.severity) for one, message in pairs] == want
    answer = intercept_answer(given, phase="request", request_id="r", as_published=False, mutated=None)
    assert answer.valid is given.allowed
    assert (answer.severity == "error") is not given.allowed


def test_the_words_of_a_rule_and_of_its_judge_are_told_apart() -> None:
    said = told(verdict(Deny(JUDGED.reason, "ai"), JUDGED))
    assert (said.messages[0].message, said.results[0].message) == ("Rule text", "because")
    assert said.results[0].policy_type == "ai"


PARTS = [("rm -rf", "arguments.command"), ("cwd", "arguments.cwd"), ("/w", "arguments.cwd"), ("gone", ""), ("", "")]


@pytest.mark.parametrize(("part", "path"), PARTS)
def test_the_path_names_the_argument_that_holds_the_part(part: str, path: str) -> None:
    found = Finding(interceptor="g", said="deny", reason="no", rule="r", part=part)
    message = to_builtins(told(verdict(Deny("no", "r", part=part), found)).messages[0])
    assert message.get("path", "") == path


def test_our_own_additions_are_left_out_as_published_but_for_a_question() -> None:
    def info(given: Verdict[Any], *, as_published: bool) -> list[str]:
        answer = intercept_answer(given, phase="request", request_id="r", as_published=as_published, mutated=None)
        return list(to_builtins(answer)["info"])

    plain = ["request_id", "server_version", "results"]
    denied = verdict(Deny("no", "r", instead="trash /"), GUARD, policy="abc")
    asked = verdict(Confirm("sure?", "q"), QUESTION, policy="abc", approval="id")
    assert info(denied, as_published=True) == plain
    assert info(asked, as_published=True) == [*plain, "decision", "approval_id"]
    assert info(denied, as_published=False) == [*plain, "decision", "policy", "instead"]
    result = told(denied, as_published=True).results[0]
    assert list(to_builtins(result)) == ["policy_name", "policy_type", "action", "message"]


def test_a_redacted_result_says_so() -> None:
    outcome = ToolOutcome(CALL, "x")
    said = told(verdict(Transform(outcome), REWRITE, payload=outcome))
    assert (said.results[0].action, said.messages[0].message) == ("redact", "policy rewrote the result")
    said = told(verdict(Transform(outcome), replace(REWRITE, reason="hid 2 secrets"), payload=outcome))
    assert said.messages[0].message == "policy rewrote the result: hid 2 secrets"
