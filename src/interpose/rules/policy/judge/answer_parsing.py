"""The judge's answer, read strictly: it says exactly what it was asked, or the rules concerned have failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, ValidationError, convert

from interpose.core.formats.plain_text import plain
from interpose.rules.policy.judge.rulings import Failed, MisansweredError, Objects, Permits, Ruling
from interpose.rules.policy.rules import Rule

MAX_QUOTES = 64
MAX_REASON = 300


class _Answer(Struct, forbid_unknown_fields=True):
    verdicts: list[dict[str, Any]]


class _Verdict(Struct, forbid_unknown_fields=True):
    rule: str
    allowed: bool
    reason: str


class _RedactingVerdict(_Verdict, forbid_unknown_fields=True):
    redact: list[str]


def rulings_of(answer: object, rules: Mapping[str, Rule]) -> dict[str, Ruling]:
    """One ruling for each rule, by its label. MisansweredError if the answer as a whole is not to be trusted."""
    try:
        verdicts = convert(answer, _Answer).verdicts
    except ValidationError:
        raise MisansweredError("the answer has another form than was asked for") from None
    shape = _RedactingVerdict if any(rule.action == "redact" for rule in rules.values()) else _Verdict
    found: dict[str, Ruling] = {}
    for verdict in verdicts:
        label = verdict.get("rule")
        if not isinstance(label, str) or label not in rules:
            raise MisansweredError("the answer speaks of a rule that it was not asked about")
        found[label] = Failed("the judge answered twice") if label in found else _ruling(verdict, shape)
    return {label: found.get(label, Failed("the judge said nothing about it")) for label in rules}


def _ruling(verdict: dict[str, Any], shape: type[_Verdict]) -> Ruling:
    try:
        said = convert(verdict, shape)
    except ValidationError:
        return Failed("the verdict has another form than was asked for")
    reason = plain(said.reason[:MAX_REASON]).replace("\n", " ").strip()
    quotes = said.redact if isinstance(said, _RedactingVerdict) else []
    if len(quotes) > MAX_QUOTES or "" in quotes:
        return Failed("the verdict has quotes that can't be used")
    if said.allowed and quotes:
        return Failed("the verdict contradicts itself")
    return Permits(reason) if said.allowed else Objects(reason, tuple(quotes))
