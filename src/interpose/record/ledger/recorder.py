"""The engine's recorder: nothing runs before its decision is in the journal."""

from __future__ import annotations

from collections.abc import Callable

from interpose.core.config.ledger import LedgerSettings
from interpose.core.errors import AuditUnavailableError
from interpose.core.types import AUDIT_UNAVAILABLE, Deny, ToolCall, ToolOutcome, Verdict
from interpose.record.ledger.bodies import Bodies
from interpose.record.ledger.chain import Draft
from interpose.record.ledger.log import Log, decision_text
from interpose.record.ledger.ticket import Ticket
from interpose.record.ledger.writer import Writer

"""The rule of a decision that was refused because it could not be recorded."""


class Both:
    """A record and its line in the log, when the answer has to wait for both."""

    def __init__(self, record: Ticket, line: Ticket) -> None:
        self._record, self._line = record, line

    @property
    def left(self) -> float:
        """Seconds until nobody waits any more."""
        return max(self._record.left, self._line.left)

    @property
    def send(self) -> Callable[[], None]:
        """Gets the record on its way; the line is."""
        return self._record.send

    def when_settled(self, call: Callable[[], None]) -> None:
        """Call this when both are settled, in any thread."""
        self._record.when_settled(lambda: self._line.when_settled(call))

    def wait(self) -> None:
        """Come back when both are written. Raises AuditUnavailableError if one is not, or not in time."""
        self._record.wait()
        self._line.wait()


class LedgerRecorder:
    """Records decisions and outcomes. `decided` fails, and so refuses the call, when the record can't be kept."""

    def __init__(self, writer: Writer, bodies: Bodies, settings: LedgerSettings, log: Log | None = None) -> None:
        self._writer, self.bodies, self._log = writer, bodies, log
        self._waits = settings.level != "best_effort"
        self._must = settings.on_failure == "deny" and self._waits

    def decided(self, verdict: Verdict[ToolCall]) -> Ticket | Both | None:
        """Queue the decision. The ticket says when it is recorded, and raises if it is not."""
        draft = self.bodies.decided(verdict)
        try:
            # A refusal stays a refusal, however late its record comes.
            ticket = self._writer.submit((draft,), keep=not self._must or not verdict.may_run_unseen)
        except AuditUnavailableError:
            if self._must:
                raise
            ticket = None
        return self._with_line(ticket, draft, decision_text(draft))

    def finished(
        self, verdict: Verdict[ToolCall], outcome: ToolOutcome, after: Verdict[ToolOutcome] | None = None
    ) -> Ticket | Both | None:
        """Queue the outcome. One that can't be written now is kept until it can."""
        draft = self.bodies.finished(outcome, after)
        if isinstance(verdict.decision, Deny) and verdict.decision.rule == AUDIT_UNAVAILABLE:
            # The decision that could not be recorded, as it ended: refused.
            refusal = self.bodies.decided(verdict)
            self._writer.keep_for_later((refusal, draft))
            self._with_line(None, refusal, decision_text(refusal))
            self._with_line(None, draft, "not recorded yet")
            return None
        try:
            ticket = self._writer.submit((draft,), keep=True)
        except AuditUnavailableError:
            ticket = None
        return self._with_line(ticket, draft, f"{outcome.duration_ns / 1e6:.1f} ms")

    def _with_line(self, record: Ticket | None, draft: Draft, text: str) -> Ticket | Both | None:
        record = record if self._waits else None
        line = None if self._log is None else self._log.add(draft, text)
        return line if record is None else record if line is None else Both(record, line)
