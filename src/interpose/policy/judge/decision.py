"""What the rulings about one event come to: deny > ask > redact > allow; a failure is what `on_error` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from interpose.policy.judge.operation import Payload
from interpose.policy.judge.redaction import redacted
from interpose.policy.judge.rulings import Failed, Judged, Objects, Permits
from interpose.policy.rules import Rule, RuleRedaction
from interpose.types import SEVERITY_WEIGHT, Confirm, Decision, Deny, Finding, Report, ToolCall, ToolOutcome, Transform

ID = "policy:judge"


def report_of(payload: Payload, judged: Sequence[Judged], revision: str = "") -> Report[Any]:
    """The decisions about an event, and what did not decide it. Rules that watch are told elsewhere."""
    denials: list[Deny] = []
    others: list[Decision[Any]] = []
    notes: list[Finding] = []
    cutting: list[Judged] = []
    for each in judged:
        if isinstance(each.ruling, Failed):
            notes.append(_note(each.rule, "error", _reason(each)))
        match _said(each):
            case Deny() as denial:
                denials.append(denial)
            case Confirm() as question:
                others.append(question)
            case RuleRedaction():
                cutting.append(each)
            case None:
                pass
    if cutting:
        rewritten = _cut(payload, cutting)
        if rewritten is None:
            denials.append(_denial(cutting[0]))
        else:
            others.append(Transform(rewritten, _reason(cutting[0])))
    if not denials:
        return Report(tuple(others), tuple(notes), revision)
    first, *rest = sorted(denials, key=lambda denial: -SEVERITY_WEIGHT[denial.severity])
    notes += [Finding(interceptor=ID, said="deny", reason=denial.reason, rule=denial.rule, severity=denial.severity)
              for denial in rest]  # fmt: skip
    return Report((first,), tuple(notes), revision)


def _said(judged: Judged) -> Deny | Confirm | RuleRedaction | None:
    """What one rule says to an objection or a failure; None if that is nothing."""
    rule = judged.rule
    match judged.ruling:
        case Permits():
            return None
        case Failed():
            said: str = rule.on_error
        case Objects():
            said = rule.action
    match said:
        case "deny":
            return _denial(judged)
        case "ask":
            return Confirm(_reason(judged), rule.id, rule.severity, instead=rule.instead)
        case "redact":
            return rule.redact or RuleRedaction()
        case _:
            return None


def _denial(judged: Judged) -> Deny:
    rule = judged.rule
    return Deny(_reason(judged), rule.id, rule.severity, instead=rule.instead)


def _note(rule: Rule, said: Any, reason: str) -> Finding:
    return Finding(interceptor=ID, said=said, reason=reason, rule=rule.id, severity=rule.severity, mode=rule.mode)


def _reason(judged: Judged) -> str:
    """The rule's own words first: the judge's may be shaped by the operation."""
    match judged.ruling:
        case Failed(why=why):
            return f"{judged.rule.text} (The judge failed: {why})"
        case Objects(reason=reason) | Permits(reason=reason):
            return f"{judged.rule.text} (Judge: {reason})" if reason else judged.rule.text


def words_of(reason: str) -> tuple[str, str]:
    """A reason taken apart: the rule's own words, and the judge's or why it failed; empty if it said nothing."""
    for mark in (" (Judge: ", " (The judge failed: "):
        text, found, said = reason.partition(mark)
        if found and said.endswith(")"):
            return text, said[:-1]
    return reason, ""


def _cut(payload: Payload, cutting: Sequence[Judged]) -> Payload | None:
    """The payload without the texts that the rules quoted; None if a rule quoted none, or they can't be cut exactly."""
    cuts: dict[str, str] = {}
    for each in cutting:
        if not isinstance(each.ruling, Objects) or not each.ruling.quotes:
            return None
        replacement = (each.rule.redact or RuleRedaction()).replacement
        cuts = dict.fromkeys(each.ruling.quotes, replacement) | cuts
    match payload:
        case ToolCall():
            arguments = redacted(payload.arguments, cuts)
            return None if arguments is None else payload.with_arguments(arguments)
        case ToolOutcome():
            result = redacted(payload.result, cuts)
            return None if result is None else replace(payload, result=result)
        case _:
            return None
