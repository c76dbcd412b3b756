"""What tool.after said of the pieces of one result, as one verdict for its record."""

from __future__ import annotations

from typing import Any

from interpose.core.types import (
    NOTHING_RAISED,
    Allow,
    Decision,
    Finding,
    Outcome,
    Raised,
    ToolOutcome,
    Transform,
    Verdict,
)

MOST = 256
"""Findings and errors that are kept. A stream may have no end."""


class PieceVerdicts:
    """Grows with each piece; keeps what was said and nothing of the pieces."""

    def __init__(self) -> None:
        self._findings: dict[Finding, None] = {}
        self._errors: list[BaseException] = []
        self._timings: dict[str, int] = {}
        self._policies: dict[str, None] = {}
        self._questions: dict[str, None] = {}
        self._approver = self._approval = ""
        self._elapsed_ns = 0
        self._refused: tuple[Outcome, Decision[Any]] | None = None
        self._decided_by: Finding | None = None
        self._rewritten = self._spoke = False

    def add(self, verdict: Verdict[Any] | None) -> None:
        """What was said of one piece."""
        if verdict is None:
            return
        self._spoke = True
        for finding in verdict.findings:
            self._note(finding)
        self._errors += verdict.errors[: MOST - len(self._errors)]
        for id, nanoseconds in verdict.timings:
            self._timings[id] = self._timings.get(id, 0) + nanoseconds
        if verdict.policy:
            self._policies[verdict.policy] = None
        self._questions |= dict.fromkeys(verdict.questions[: MOST - len(self._questions)])
        self._approver, self._approval = verdict.approver or self._approver, verdict.approval or self._approval
        self._elapsed_ns += verdict.elapsed_ns
        self._rewritten = self._rewritten or verdict.rewritten
        if not verdict.allowed:
            self._refused = verdict.outcome, verdict.decision
        if verdict.decided_by is not None and (self._refused is None or not verdict.allowed):
            self._decided_by = verdict.decided_by

    def add_rewrite(self, finding: Finding) -> None:
        """What one interceptor's filter took out on the way."""
        self._spoke = self._rewritten = True
        self._note(finding)
        if self._refused is None:
            self._decided_by = finding

    def _note(self, finding: Finding) -> None:
        if len(self._findings) < MOST:
            self._findings[finding] = None

    def verdict(self, outcome: ToolOutcome, given: ToolOutcome) -> Verdict[ToolOutcome] | None:
        """All of it, about a result of which the agent got `outcome`; None if nobody had a say."""
        if not self._spoke:
            return None
        rewrite: tuple[Outcome, Decision[Any]] = ("rewrite", Transform(outcome))
        word, decision = self._refused or (rewrite if self._rewritten else ("allow", Allow()))
        return Verdict(
            outcome=word, decision=decision, payload=outcome, findings=tuple(self._findings),
            questions=tuple(self._questions), rewritten=self._rewritten, approver=self._approver,
            elapsed_ns=self._elapsed_ns, policy="+".join(self._policies), timings=tuple(self._timings.items()),
            original=given if self._rewritten or self._refused else None, approval=self._approval,
            errors=Raised(self._errors) if self._errors else NOTHING_RAISED, decided_by=self._decided_by,
        )  # fmt: skip
