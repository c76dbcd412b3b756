"""What the rulings about one event come to: deny > ask > redact > allow; a failure is what `on_error` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from interpose.core.types import (
    SEVERITY_WEIGHT,
    Confirm,
    Decision,
    Deny,
    Finding,
    Report,
    ToolCall,
    ToolOutcome,
    Transform,
)
from interpose.rules.policy.judge.operation import Payload
from interpose.rules.policy.judge.redaction import redacted
from interpose.rules.policy.judge.rulings import Failed, JudgedRule, Objects, Permits
from interpose.rules.policy.rules import JUDGE, RuleRedaction


def report_of(payload: Payload, judged: Sequence[JudgedRule], revision: str = "") -> Report[Any]:
    """The decisions about an event, and what did not decide it. Rules that watch are told elsewhere."""
    denials: list[Deny] = []
    others: list[Decision[Any]] = []
    notes: list[Finding] = []
    cutting: list[JudgedRule] = []
    for each in judged:
        if isinstance(each.ruling, Failed):
            notes.append(_failure(each))
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
        rewrites = _rewrites(payload, cutting)
        if rewrites:
            others += rewrites
        else:
            denials.append(_denial(cutting[0]))
    if not denials:
        return Report(tuple(others), tuple(notes), revision)
    first, *rest = sorted(denials, key=lambda denial: -SEVERITY_WEIGHT[denial.severity])
    notes += map(_outweighed, rest)
    return Report((first,), tuple(notes), revision)


def _said(judged: JudgedRule) -> Deny | Confirm | RuleRedaction | None:
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
            return Confirm(
                _reason(judged), rule.id, rule.severity, instead=rule.instead,
                detail=_detail(judged), summary=rule.text, approvers=rule.approvers or UNSET,
            )  # fmt: skip
        case "redact":
            return rule.redact or RuleRedaction()
        case _:
            return None


def _denial(judged: JudgedRule) -> Deny:
    rule = judged.rule
    return Deny(
        _reason(judged), rule.id, rule.severity, instead=rule.instead, detail=_detail(judged), summary=rule.text
    )  # fmt: skip


def _failure(judged: JudgedRule) -> Finding:
    rule = judged.rule
    return Finding(
        interceptor=JUDGE, said="error", reason=_reason(judged), rule=rule.id, severity=rule.severity, mode=rule.mode,
        detail=_detail(judged), summary=rule.text,
    )  # fmt: skip


def _outweighed(denial: Deny) -> Finding:
    """A refusal beside a worse one."""
    return Finding(
        interceptor=JUDGE, said="deny", reason=denial.reason, rule=denial.rule, severity=denial.severity,
        detail=denial.detail, summary=denial.summary,
    )  # fmt: skip


def _reason(judged: JudgedRule) -> str:
    """The rule's own words first: the judge's may be shaped by the operation."""
    text, detail = judged.rule.text, _detail(judged)
    if isinstance(judged.ruling, Failed):
        return f"{text} (The judge failed: {detail})"
    return f"{text} (Judge: {detail})" if detail else text


def _detail(judged: JudgedRule) -> str:
    """The judge's own words, or why it failed."""
    match judged.ruling:
        case Failed(why=why):
            return why
        case Objects(reason=reason) | Permits(reason=reason):
            return reason


def _rewrites(payload: Payload, cutting: Sequence[JudgedRule]) -> list[Transform[Any]]:
    """A rewrite under the name of each rule, the last one with all cuts. None if all of them can't be made together."""
    if (last := _cut(payload, cutting)) is None:
        return []
    steps = [_cut(payload, cutting[:count]) for count in range(1, len(cutting))]
    return [
        Transform(step, _reason(each), each.rule.id, _detail(each))
        for step, each in zip((*steps, last), cutting, strict=True)
        if step is not None
    ]


def _cut(payload: Payload, cutting: Sequence[JudgedRule]) -> Payload | None:
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
