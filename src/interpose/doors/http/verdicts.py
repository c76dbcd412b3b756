"""What verdicts are on the wire: one translation for every route that gives them.

The words are those of the published intercept API. What it has no word for (questions, rewrites, safer commands) is
added beside them, and left out where an answer must look exactly as published (`as_published`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field

from interpose import __version__
from interpose.core.types import Finding, InterceptorKind, Outcome, ToolCall, ToolOutcome, Verdict

Phase = Literal["request", "response"]
Severity = Literal["info", "warn", "error"]
Action = Literal["deny", "ask", "rewrite", "redact", "error", "note"]


class RuleMessage(Struct, frozen=True, omit_defaults=True):
    """What a rule says. `path` is the field of the payload that it is about."""

    message: str
    severity: Severity
    path: str = ""


class RuleResult(Struct, frozen=True, omit_defaults=True):
    """What a rule did. `part` is the text that it objects to, `instead` what would be safer."""

    policy_name: str
    policy_type: InterceptorKind
    action: Action
    message: str
    mode: Literal["", "watch"] = ""
    part: str = ""
    instead: str = ""


class Info(Struct, frozen=True, omit_defaults=True):
    """What is behind an answer. `policy` is the revision of the rules, `approver` who said yes to a question, `word`
    what a person says to the agent."""

    request_id: str
    server_version: str
    results: tuple[RuleResult, ...]
    decision: Outcome | Literal[""] = ""
    approval_id: str = ""
    approver: str = ""
    policy: str = ""
    instead: str = ""
    word: str = ""


class Mutated(Struct, frozen=True):
    """The payload as it should go on, in the shape in which it came: a call, or the whole request (`method`, `params`).
    `result` is there in the response phase."""

    name: str | UnsetType = UNSET
    arguments: dict[str, Any] | UnsetType = UNSET
    result: Any | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: dict[str, Any] | UnsetType = UNSET


class InterceptAnswer(Struct, frozen=True, kw_only=True):
    """The answer of the intercept endpoint."""

    interceptor: Literal["interpose", "maybe-dont"]
    type: Literal["validation", "mutation"]
    phase: Phase
    valid: bool
    modified: bool | UnsetType = UNSET
    severity: Severity
    messages: tuple[RuleMessage, ...]
    payload: Mutated | UnsetType = UNSET
    duration_ms: int = field(name="durationMs")
    info: Info


class RuleSummary(Struct, frozen=True):
    """What the rules of a verdict said. The one that decided comes first."""

    messages: tuple[RuleMessage, ...] = ()
    results: tuple[RuleResult, ...] = ()
    severity: Severity = "info"


_NOTHING = RuleSummary()
_WEIGHT: Mapping[Severity, int] = {"info": 0, "warn": 1, "error": 2}


def told(verdict: Verdict[Any], *, as_published: bool = False) -> RuleSummary:
    """What is said about a verdict. Notes decide nothing and are left to the ledger."""
    decided = None if verdict.allowed else verdict.decided_by
    findings = [found for found in verdict.findings if found.said != "note" and found is not decided]
    if decided is not None:
        findings.insert(0, decided)
    if not findings:
        return _NOTHING if verdict.allowed else RuleSummary(severity="error")
    messages = tuple(_message(found, verdict) for found in findings)
    worst = max((one.severity for one in messages), key=_WEIGHT.__getitem__) if verdict.allowed else "error"
    return RuleSummary(messages, tuple(_result(found, verdict, as_published) for found in findings), worst)


def policy_name(found: Finding) -> str:
    """The rule that spoke, or who spoke where there is no rule."""
    return found.rule or found.interceptor


def milliseconds(verdict: Verdict[Any]) -> int:
    """How long it took."""
    return verdict.elapsed_ns // 1_000_000


def info_of(verdict: Verdict[Any], results: tuple[RuleResult, ...], request_id: str, *, as_published: bool) -> Info:
    """The `info` of an answer. As published it says nothing of our own, but how a question is answered."""
    if as_published:
        asked = verdict.outcome == "ask"
        return Info(request_id, __version__, results, "ask" if asked else "", verdict.approval if asked else "")
    return Info(
        request_id, __version__, results, verdict.outcome, verdict.approval, verdict.approver, verdict.policy,
        verdict.instead, verdict.word,
    )  # fmt: skip


def intercept_answer(
    verdict: Verdict[Any], *, phase: Phase, request_id: str, as_published: bool, mutated: Mutated | None
) -> InterceptAnswer:
    """A verdict as the intercept endpoint says it. `mutated` is the payload that should go on instead."""
    said = told(verdict, as_published=as_published)
    return InterceptAnswer(
        interceptor="maybe-dont" if as_published else "interpose",
        type="validation" if mutated is None else "mutation",
        phase=phase,
        valid=verdict.allowed,
        modified=UNSET if mutated is None else True,
        severity=said.severity,
        messages=said.messages,
        payload=UNSET if mutated is None else mutated,
        duration_ms=milliseconds(verdict),
        info=info_of(verdict, said.results, request_id, as_published=as_published),
    )


def _message(found: Finding, verdict: Verdict[Any]) -> RuleMessage:
    return RuleMessage(_text(found, verdict), _severity(found, verdict), _path(found.part, verdict))


def _result(found: Finding, verdict: Verdict[Any], as_published: bool) -> RuleResult:
    text = found.detail or _text(found, verdict)
    name, kind, action = policy_name(found), found.kind, _action(found, verdict)
    if as_published:
        return RuleResult(name, kind, action, text)
    return RuleResult(name, kind, action, text, "watch" if found.mode == "watch" else "", found.part, found.instead)


def _text(found: Finding, verdict: Verdict[Any]) -> str:
    if found.said == "rewrite":
        verb = "would rewrite" if found.mode == "watch" else "rewrote"
        what = "the result" if _is_outcome(verdict) else found.part
        why = f": {found.reason}" if found.reason != found.part else ""
        return f"{policy_name(found)} {verb} {what}{why}"
    return found.summary or found.reason


def _severity(found: Finding, verdict: Verdict[Any]) -> Severity:
    if found.mode == "watch" or found.said == "error":
        return "warn"
    if found.said == "rewrite" or verdict.allowed:
        return "info"  # a question in an allowed call was answered with yes
    return "error"


def _action(found: Finding, verdict: Verdict[Any]) -> Action:
    return "redact" if found.said == "rewrite" and _is_outcome(verdict) else found.said


def _is_outcome(verdict: Verdict[Any]) -> bool:
    return isinstance(verdict.payload, ToolOutcome)


def _path(part: str, verdict: Verdict[Any]) -> str:
    """The argument that a part is the name of, or stands in."""
    if not part or not isinstance(verdict.payload, ToolCall):
        return ""
    arguments = verdict.payload.arguments
    if part in arguments:
        return f"arguments.{part}"
    for name, value in arguments.items():
        if type(value) is str and part in value:
            return f"arguments.{name}"
    return ""
