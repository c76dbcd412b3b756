"""Interceptors that say several things at once: what counts, what only informs, and what is no report."""

from __future__ import annotations

from typing import Any

import pytest

from interpose import Confirm, Deny, Engine, Finding, Report, ToolCall, Transform, Verdict, create_interceptor_registry
from interpose.core.registration import registration
from interpose.core.types import Allow, Mode

CALL = ToolCall("exec", {"command": "ls"}, "id")
NOTE = Finding(interceptor="liar", said="note", reason="seen", rule="r")


class Says:
    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def intercept(self, _call: ToolCall) -> Any:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def answer(self, _request: Any) -> str:
        return "grant"


def decide(*answers: Any, mode: Mode = "enforce") -> Verdict[ToolCall]:
    registry = create_interceptor_registry()
    for number, answer in enumerate(answers):
        registry.add(id=f"i{number}", name="tool.before", interceptor=Says(answer), mode=mode, priority=-number + 50)
    return Engine(registry).decide(CALL)


def said(verdict: Verdict[Any]) -> list[tuple[str, str, str]]:
    return [(finding.interceptor, finding.said, finding.reason) for finding in verdict.findings]


def test_all_questions_of_a_report_are_put() -> None:
    verdict = decide(Report((Confirm("a?"), Confirm("b?"))))
    assert (verdict.outcome, verdict.questions) == ("ask", ("a?", "b?"))


def test_a_refusal_ends_a_report() -> None:
    verdict = decide(Report((Confirm("a?"), Deny("no"), Transform(CALL.with_arguments({"command": "rm"})))))
    assert (verdict.outcome, verdict.payload.arguments) == ("deny", CALL.arguments)


def test_notes_decide_nothing_and_carry_the_name_of_who_said_them() -> None:
    blocking = Finding(interceptor="liar", said="deny", reason="would", mode="watch")
    verdict = decide(Report((), (NOTE, blocking), "rev"))
    assert verdict.outcome == "allow"
    assert said(verdict) == [("i0", "note", "seen"), ("i0", "deny", "would")]
    assert verdict.findings[1].mode == "watch"


def test_details_reach_findings_and_verdicts() -> None:
    rewrite = ToolCall("exec", {"command": "pwd"}, "id", original_name="exec")
    note = Finding(interceptor="i0", said="note", reason="n (d)", detail="d", summary="n")
    asked = decide(Report((Transform(rewrite, "r", detail="d"), Confirm("q (d)", detail="d", summary="q")), (note,)))
    assert [(found.said, found.detail, found.summary) for found in asked.findings] == [
        ("note", "d", "n"), ("rewrite", "d", ""), ("ask", "d", "q"),
    ]  # fmt: skip
    assert asked.decision == Confirm("q (d)", detail="d", summary="q")
    garbage: Any = 7
    refused = decide(Deny("no (d)", detail=garbage, summary="no"))
    assert refused.decision == Deny("no (d)", detail="7", summary="no")
    assert (refused.findings[0].detail, refused.findings[0].summary) == ("7", "no")


def test_policies_are_named() -> None:
    assert decide(Report(policy="a"), Report(policy="b"), Report(policy="a")).policy == "a+b"
    assert decide(Allow()).policy == ""


def test_a_watching_interceptor_blocks_nothing_with_a_report() -> None:
    verdict = decide(Report((Deny("no"), Confirm("a?")), (NOTE,)), mode="watch")
    assert verdict.outcome == "allow"
    assert {finding.mode for finding in verdict.findings} == {"watch"}


class Odd(tuple[Any, ...]):
    __slots__ = ()


@pytest.mark.parametrize(
    ("note", "report"),
    [
        ("a list", Report([Deny("no")])),  # type: ignore[arg-type]  # that is the point
        ("a tuple of another class", Report(Odd())),
        ("a report in a report", Report((Report(),))),  # type: ignore[arg-type]  # as above
        ("garbage among decisions", Report((Confirm("a?"), "deny"))),  # type: ignore[arg-type]  # as above
        ("garbage among notes", Report((), ("x",))),  # type: ignore[arg-type]  # as above
        ("a revision that is no text", Report((), (), 7)),  # type: ignore[arg-type]  # as above
        ("a rewrite that does not fit", Report((Transform("rm"),))),
    ],
)
def test_what_is_no_report_is_a_failure(note: str, report: Any) -> None:
    verdict = decide(report)
    assert verdict.outcome == "deny", note
    assert verdict.findings[0].said == "error", note


def test_swapping_keeps_order_and_adds_what_is_new() -> None:
    registry = create_interceptor_registry()
    for id in ("a", "b", "c"):
        registry.add(id=id, name="tool.before", interceptor=Says(Allow()))
    under_way = registry.snapshot()
    new = [registration(id=id, name="tool.before", interceptor=Says(Deny(id))) for id in ("d", "b")]
    registry.swap(new)
    assert [entry.id for entry in registry.list()] == ["a", "b", "c", "d"]
    assert registry.list()[1] is new[1]
    assert [entry.id for entry in under_way.entries] == ["a", "b", "c"]


def test_a_standing_answer_comes_from_the_snapshot_of_the_call() -> None:
    registry = create_interceptor_registry()
    registry.add(id="asks", name="tool.before", interceptor=Says(Confirm("sure?")), standing=Says(Allow()))
    done = Engine(registry).run().run_tool(CALL, lambda args: "ran")
    assert (done.response, done.verdict.approver) == ("ran", "grant")


def test_a_standing_answer_must_be_able_to_answer() -> None:
    with pytest.raises(ValueError, match="standing must have a method"):
        create_interceptor_registry().add(id="x", name="tool.before", interceptor=Says(Allow()), standing="yes")
