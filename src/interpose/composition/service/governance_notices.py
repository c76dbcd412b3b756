"""Where what governance did is told: the log that people read, a checkpoint for a halt, and records in the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from interpose.composition.service.governance_records import GovernanceEvent, GovernanceRecords, halted_event
from interpose.core.errors import text_of
from interpose.core.late import late_logger
from interpose.rules.governance.governance_log import GovernanceLog, LogEvent
from interpose.rules.governance.sessions.checkpoints import write_checkpoint
from interpose.rules.governance.sessions.halts import with_checkpoint, with_halt

if TYPE_CHECKING:
    from interpose.core.config.settings import GovernanceSettings
    from interpose.engine.flow.run_parts import Recorder
    from interpose.rules.governance.sessions.outcomes import SessionNews

log = late_logger("interpose.governance")


class GovernanceNotices:
    """Called with what happened, off the way of decisions. A halt answers where its context was written."""

    def __init__(self, settings: GovernanceSettings, recorder: Recorder | None) -> None:
        self._records = None if recorder is None else GovernanceRecords(recorder)
        self._checkpoints = Path(settings.checkpoints)
        # Whoever keeps no records keeps no log: a program that only asks leaves nothing behind.
        self._log = (
            GovernanceLog(Path(settings.log), max_bytes=settings.log_bytes, archives=settings.log_archives)
            if settings.log and recorder is not None
            else None
        )

    def __call__(self, told: SessionNews) -> str:
        """Tell of it. Raises nothing: what was decided holds, whoever hears of it."""
        context, session = told.context, told.session
        if self._log is not None:
            self._log.write(
                LogEvent(
                    at_ns=told.at_ns, word=told.word, host=session.host, session=session.id, role=context.role,
                    tool=told.tool, rule=told.rule, text=told.text,
                )
            )  # fmt: skip
        place = self._checkpoint(told) if told.word == "halt" and self._records is not None else ""
        if (told.word in ("halt", "task") or told.would_halt) and self._records is not None:
            self._record(told, self._records, place)
        return place

    def close(self) -> None:
        """Write what waits."""
        if self._log is not None:
            self._log.close()

    def _checkpoint(self, told: SessionNews) -> str:
        try:
            return str(write_checkpoint(self._checkpoints, told.session, told.context))
        except (OSError, ValueError) as error:
            log.warning("the context of a halted session could not be written: %s", text_of(error))
            return ""

    def _record(self, told: SessionNews, records: GovernanceRecords, place: str) -> None:
        context, session = told.context, told.session
        if told.word == "halt":
            event = halted_event(with_checkpoint(session, place), agent=context.agent_id, role=context.role)
        elif told.would_halt:
            halted = with_halt(session, told.would_halt, told.rule, told.at_ns)
            event = halted_event(halted, agent=context.agent_id, role=context.role, watch=True)
        else:
            event = GovernanceEvent(
                act="task-failed" if told.failed else "task-done", session=session.id, reason=told.text,
                agent=context.agent_id, role=context.role, host=session.host, project=session.project,
                principal=context.principal,
            )  # fmt: skip
        try:
            records(event)
        except Exception as error:  # noqa: BLE001 - as above
            log.warning("what governance did could not be recorded: %s", text_of(error))
