"""The engine's recorder: nothing runs before its decision is in the journal."""

from __future__ import annotations

from interpose.errors import AuditUnavailableError
from interpose.ledger.bodies import Bodies
from interpose.ledger.settings import LedgerSettings
from interpose.ledger.ticket import Ticket
from interpose.ledger.writer import Writer
from interpose.types import Deny, ToolCall, ToolOutcome, Verdict

UNAVAILABLE = "audit_unavailable"
"""The rule of a decision that was refused because it could not be recorded."""


class LedgerRecorder:
    """Records decisions and outcomes. `decided` fails, and so refuses the call, when the record can't be kept."""

    def __init__(self, writer: Writer, bodies: Bodies, settings: LedgerSettings) -> None:
        self._writer, self.bodies = writer, bodies
        self._waits = settings.level != "best_effort"
        self._must = settings.on_failure == "deny" and self._waits

    def decided(self, verdict: Verdict[ToolCall]) -> Ticket | None:
        """Queue the decision. The ticket says when it is recorded, and raises if it is not."""
        draft = self.bodies.decided(verdict)
        try:
            # A refusal stays a refusal, however late its record comes.
            ticket = self._writer.submit((draft,), keep=not self._must or not verdict.allowed)
        except AuditUnavailableError:
            if self._must:
                raise
            return None
        return ticket if self._waits else None

    def finished(
        self, verdict: Verdict[ToolCall], outcome: ToolOutcome, after: Verdict[ToolOutcome] | None = None
    ) -> Ticket | None:
        """Queue the outcome. One that can't be written now is kept until it can."""
        draft = self.bodies.finished(outcome)
        if isinstance(verdict.decision, Deny) and verdict.decision.rule == UNAVAILABLE:
            # The decision that could not be recorded, as it ended: refused.
            self._writer.keep_for_later((self.bodies.decided(verdict), draft))
            return None
        try:
            ticket = self._writer.submit((draft,), keep=True)
        except AuditUnavailableError:
            return None
        return ticket if self._waits else None
