"""Case files: calls and results, each with a note and the word that a policy must say to it.

    version: 1
    packs: [git]
    cases:
      - note: nobody rewrites main
        call: git push --force origin main
        want: deny
        rule: git/force-push-protected

A case whose call has a `result` is about what the tool gave back, and `gives` is what the agent must get.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from interpose.core.errors import PolicyError
from interpose.core.formats.yaml_text import YamlError, read_yaml
from interpose.core.types import Confirm, Deny, Finding, Outcome, PermissionRequest, Report, ToolOutcome, Transform
from interpose.rules.policy.compiled import Policy
from interpose.rules.policy.examples import call_of
from interpose.rules.policy.file_format import CallForm, NonEmptyText, located
from interpose.rules.policy.interceptor import PolicyInterceptor
from interpose.rules.policy.parsing import example_of
from interpose.rules.policy.rules import Example, PolicyProblem
from interpose.rules.policy.standing_answers import PolicyAnswers


class CaseForm(Struct, frozen=True, forbid_unknown_fields=True):
    """One case."""

    note: NonEmptyText
    call: str | CallForm
    want: Literal["allow", "rewrite", "ask", "deny"]
    rule: str = ""
    """The rule that must have decided; empty if that does not matter."""
    gives: Any = UNSET
    """The arguments after a rewrite, or the result that the agent must get."""
    tags: list[NonEmptyText] = []


class CaseFileForm(Struct, frozen=True, forbid_unknown_fields=True):
    """A case file. Its packs are judged together with the rules that the cases are run against."""

    version: Literal[1]
    cases: list[CaseForm]
    packs: list[NonEmptyText] = []


class PolicyCase(Struct, frozen=True):
    """One case, ready to be run."""

    note: str
    file: str
    line: int
    call: Example
    want: Outcome
    rule: str = ""
    gives: Any = UNSET
    after: bool = False
    tags: tuple[str, ...] = ()


class CaseFile(Struct, frozen=True):
    """The cases of one file."""

    file: str
    packs: tuple[str, ...]
    cases: tuple[PolicyCase, ...]


def is_case_file(text: str) -> bool:
    """Whether a text is a case file, as far as it can be read."""
    try:
        data = read_yaml(text).data
    except YamlError:
        return False
    return isinstance(data, dict) and "cases" in data


def parse_cases(text: str, file: str) -> CaseFile:
    """The cases of a file. Raises PolicyError."""
    try:
        document = read_yaml(text)
    except YamlError as error:
        raise PolicyError((PolicyProblem(file, error.line, "", str(error)),)) from None
    try:
        form = msgspec.convert(document.data, CaseFileForm, strict=True)
    except (msgspec.ValidationError, RecursionError) as error:
        where, message = located(str(error), CaseFileForm)
        raise PolicyError((PolicyProblem(file, document.line_at(where), "", message),)) from None
    cases = tuple(
        _case(item, file, document.line_at(("cases", index)), "result" in _keys(document.data["cases"][index]["call"]))
        for index, item in enumerate(form.cases)
    )
    return CaseFile(file, tuple(form.packs), cases)


def _keys(call: object) -> Sequence[str]:
    return tuple(call) if isinstance(call, dict) else ()


def _case(form: CaseForm, file: str, line: int, after: bool) -> PolicyCase:
    call = example_of(form.call, True, line)
    return PolicyCase(form.note, file, line, call, form.want, form.rule, form.gives, after, tuple(form.tags))


def failure_of(case: PolicyCase, policy: Policy) -> str:
    """What a policy says against a case; empty if it says what the case wants."""
    call = call_of(case.call)
    payload = ToolOutcome(call, case.call.result, is_error=case.call.is_error) if case.after else call
    report = PolicyInterceptor(policy).intercept(payload)
    word, rules, reason = _said(report, policy, payload)
    told = word + (f" by {', '.join(rules)}" if rules else "") + (f": {reason}" if reason else "")
    if word != case.want:
        return f"expected {case.want}, got {told}"
    if case.rule and case.rule not in rules:
        return f"expected {case.want} by {case.rule}, got {told}"
    if not isinstance(case.gives, UnsetType):
        given = _given(report, payload)
        if given != case.gives:
            return f"expected it to give {case.gives!r}, got {given!r}"
    return ""


def _said(report: Report[Any], policy: Policy, payload: Any) -> tuple[Outcome, tuple[str, ...], str]:
    """The word, the rules that said it, and why."""
    denied = [decision for decision in report.decisions if isinstance(decision, Deny)]
    if denied:
        return "deny", tuple(decision.rule for decision in denied), denied[0].reason
    asked = [decision for decision in report.decisions if isinstance(decision, Confirm)]
    if asked:
        findings = tuple(
            Finding(interceptor="policy", said="ask", reason=decision.message, rule=decision.rule) for decision in asked
        )
        approver = PolicyAnswers(policy).answer(PermissionRequest(asked[0].message, payload, findings))
        if not approver:
            return "ask", tuple(decision.rule for decision in asked), asked[0].message
        return "allow", tuple(name.removeprefix("policy:") for name in approver.split(", ")), ""
    noted = tuple(dict.fromkeys(note.rule for note in report.notes if note.rule))
    return ("rewrite" if _rewrite(report) else "allow"), noted, ""


def _rewrite(report: Report[Any]) -> Transform[Any] | None:
    return next((decision for decision in report.decisions if isinstance(decision, Transform)), None)


def _given(report: Report[Any], payload: Any) -> Any:
    rewrite = _rewrite(report)
    final = payload if rewrite is None else rewrite.payload
    return final.result if isinstance(final, ToolOutcome) else final.arguments
