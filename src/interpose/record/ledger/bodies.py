"""From a verdict and an outcome to the entries that are kept. Never failing, whatever a call or a result is."""

from __future__ import annotations

from collections.abc import Iterator
from time import time_ns
from typing import Any
from urllib.parse import urlsplit

from interpose.core.types import ToolCall, ToolOutcome, Verdict
from interpose.record.ledger.chain import Draft
from interpose.record.ledger.entry import (
    NOT_KEPT,
    NOTHING_SAID,
    After,
    Decided,
    Finished,
    OutcomeWord,
    Said,
    SeenEffect,
)
from interpose.record.ledger.keys import Keys
from interpose.record.ledger.values import TEXT_LIMIT, Identity, Values, clean, json_of

_MOST_RULES = 64
_EXIT_CODES = ("exit_code", "exitCode", "returncode")


class Bodies:
    """Makes entries. One for each ledger."""

    def __init__(self, keys: Keys, *, include_argument_values: bool = True) -> None:
        self._values = Values(keys, include_argument_values=include_argument_values)

    def recognised(self, call: ToolCall) -> tuple[Identity, str]:
        """What the entries of a call like this one have: who asked, and the digest of its arguments."""
        return self._values.identity(call), self._values.call(call)[1]

    def decided(self, verdict: Verdict[ToolCall]) -> Draft:
        """What was decided about a call."""
        call, who = verdict.payload, self._values.identity(verdict.payload)
        kept, digest = self._values.call(call)
        said = self._said(verdict, kept.effects, call)
        words, original, original_digest = kept.words, NOT_KEPT, ""
        if verdict.original is not None:
            came_in, original_digest = self._values.call(verdict.original)
            original, words = came_in.arguments, f"{words} {came_in.words}"
        body = Decided(
            arguments=kept.arguments, arguments_digest=digest, original=original, original_digest=original_digest,
            original_name=call.original_name, role=who.role, principal=who.principal, cwd=who.cwd,
            trace_id=who.trace_id, source=call.context.source, said=said, rewritten=verdict.rewritten,
            approver=verdict.approver, approval=verdict.approval, elapsed_ns=verdict.elapsed_ns, policy=verdict.policy,
            timings=verdict.timings, claimed=who.claimed, claimed_session=who.claims.session,
            claimed_principal=who.claims.principal, claimed_client=who.claims.client,
        )  # fmt: skip
        kinds, paths, hosts = _searched(said.effects)
        return Draft(
            kind="decided", body=json_of(body), time_ns=time_ns(), call_id=who.call_id,
            session=who.session, agent=who.agent, tool=clean(call.name),
            decision=verdict.outcome, rule=clean(verdict.rule), text=clean(f"{_reasons(said)} {words}")[:TEXT_LIMIT],
            effects=kinds, paths=paths, hosts=hosts, request=who.request,
            rules=tuple(rule for rule in _rules(verdict, "rewrite") if rule != clean(verdict.rule)),
        )  # fmt: skip

    def finished(self, outcome: ToolOutcome, after: Verdict[ToolOutcome] | None = None) -> Draft:
        """What came of a call, and what `tool.after` said about it."""
        call, word = outcome.call, outcome_word(outcome)
        kept = self._values.result(outcome.result, call)
        original, original_digest = NOT_KEPT, ""
        became = None if after is None else self._after(after)
        if after is not None and became is not None and became.result != "passed":
            given = self._values.result((after.original or after.payload).result, call)
            original, original_digest = given.result, given.digest
        body = Finished(
            outcome=word, duration_ns=outcome.duration_ns, exit_code=_exit_code(outcome.result), bytes=kept.bytes,
            result=kept.result, result_digest=kept.digest, original=original, original_digest=original_digest,
            approver=outcome.approver, after=became,
        )  # fmt: skip
        who = self._values.identity(call)
        return Draft(
            kind="finished", body=json_of(body), time_ns=time_ns(), call_id=who.call_id,
            session=who.session, agent=who.agent, tool=clean(call.name), decision=word, request=who.request,
            rules=() if after is None else _rules(after, "deny", "ask", "rewrite", "error"),
        )  # fmt: skip

    def _after(self, verdict: Verdict[ToolOutcome]) -> After | None:
        """None if nobody had a say in the result."""
        if not verdict.timings and not verdict.findings:
            return None
        return After(
            result="withheld" if not verdict.allowed else "rewritten" if verdict.rewritten else "passed",
            rule=clean(verdict.rule), said=self._said(verdict, (), verdict.payload.call), approver=verdict.approver,
            elapsed_ns=verdict.elapsed_ns, policy=verdict.policy, timings=verdict.timings,
        )  # fmt: skip

    def _said(self, verdict: Verdict[Any], effects: tuple[SeenEffect, ...], call: ToolCall) -> Said:
        reason = verdict.reason
        if not (reason or verdict.questions or verdict.findings or verdict.word):
            return Said(effects=effects) if effects else NOTHING_SAID
        quoted = Said(reason=reason, questions=verdict.questions, findings=verdict.findings, word=verdict.word)
        said = self._values.said(quoted, self._values.known(call))
        return Said(
            reason=said.reason, questions=said.questions, findings=said.findings, effects=effects, word=said.word
        )


def outcome_word(outcome: ToolOutcome) -> OutcomeWord:
    """How a call ended."""
    return "denied" if outcome.denied else "error" if outcome.is_error else "success"


def _reasons(said: Said) -> str:
    """What was said about a call, also by what failed or only watched. It is searched first: arguments may be long."""
    return " ".join(dict.fromkeys((said.reason, *(found.reason for found in said.findings))))


def _rules(verdict: Verdict[Any], *words: str) -> tuple[str, ...]:
    """The rules that said one of these words, also those that only watch."""
    found = (*verdict.findings, verdict.decided_by) if verdict.decided_by is not None else verdict.findings
    return _unique(one.rule for one in found if one.said in words)[:_MOST_RULES] if found else ()


def _searched(effects: tuple[SeenEffect, ...]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The kinds, paths and hosts that effects are found by."""
    if not effects:
        return (), (), ()
    return (
        tuple(dict.fromkeys(effect.kind for effect in effects)),
        _unique(e.resource for e in effects if e.kind.startswith("fs.") or e.kind == "secret.read"),
        _unique(_host(e.resource) for e in effects if e.kind in ("net.upload", "net.download")),
    )


def _unique(texts: Iterator[str]) -> tuple[str, ...]:
    # Stores keep these as lines.
    return tuple(dict.fromkeys(clean(text).replace("\n", "\u2424") for text in texts if text))


def _host(resource: str) -> str:
    try:
        return urlsplit(resource if "://" in resource else f"//{resource}").hostname or ""
    except ValueError:
        return ""


def _exit_code(result: object) -> int | None:
    if not issubclass(type(result), dict):
        return None
    found = (result.get(name) for name in _EXIT_CODES)  # type: ignore[attr-defined]  # it is a dict
    return next((code for code in found if type(code) is int and abs(code) < 1 << 31), None)
