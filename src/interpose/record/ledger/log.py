"""The human-readable log: one line for each decision and each outcome.

    2026-11-15 21:40:12.345 deny     exec       main     s1  no-rm: rm -rf / no removal  [4f1c]

A thread of its own writes the lines: a log on storage that hangs holds nobody up who did not ask for that.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from queue import Full, Queue

from interpose.core.config.ledger import LogSettings
from interpose.core.errors import AuditUnavailableError
from interpose.core.formats.log_file import LogFile
from interpose.core.formats.unwritable import AGAIN, unwritable
from interpose.record.ledger.chain import Draft
from interpose.record.ledger.ticket import Ticket

QUEUE = 10_000
"""Lines that may wait."""
_TEXT = 300


class Log:
    """Lines on their way into a log file. A line that can't be written is counted, and told to whoever waits for it."""

    def __init__(self, directory: Path, settings: LogSettings, deadline: float) -> None:
        """A relative path is one in `directory`."""
        path = directory / Path(settings.path).expanduser()
        self._path = path
        self._slow = f"{path}: the log's storage hangs. See whether its disk works: `df {path.parent}`. {AGAIN}"
        self._file = LogFile(path, max_bytes=settings.max_bytes, archives=settings.archives)
        self._must, self._deadline = settings.on_failure == "deny", deadline
        self._lines: Queue[tuple[str, Ticket | None] | None] = Queue(QUEUE)
        self.lost = 0
        self.problem = ""
        """Why the last line was not written; empty if it was."""
        self._thread = threading.Thread(target=self._run, name="interpose:ledger-log", daemon=True)
        self._thread.start()

    def add(self, draft: Draft, text: str) -> Ticket | None:
        """Write a line about a decision or an outcome. A ticket if the answer has to wait for it."""
        ticket = Ticket((), self._deadline, keep=False, late=self._slow) if self._must else None
        try:
            self._lines.put_nowait((_line(draft, text), ticket))
        except Full:
            self._failed(f"too many lines wait: {self._slow}")
            if self._must:
                raise AuditUnavailableError(self.problem) from None
        return ticket

    def close(self, timeout: float) -> None:
        """Write what waits, as far as there is time for it."""
        try:
            self._lines.put(None, timeout=timeout)
        except Full:
            return  # it hangs: nothing that waits can be saved
        self._thread.join(timeout)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            text, ticket = line
            problem: AuditUnavailableError | None = None
            try:
                self._file.write(text)
            except OSError as error:
                self._failed(unwritable(error.filename or self._path, error))
                problem = AuditUnavailableError(f"{self.problem}. {AGAIN}")
                problem.__cause__ = error
            else:
                self.problem = ""
            if ticket is not None:
                ticket.settle(problem)
        self._file.close()

    def _failed(self, why: str) -> None:
        self.lost += 1
        self.problem = why


def decision_text(draft: Draft) -> str:
    """What the log says of a decision."""
    return f"{draft.rule}: {draft.text}" if draft.rule else draft.text


def _line(draft: Draft, text: str) -> str:
    seconds, rest = divmod(draft.time_ns, 1_000_000_000)
    stamp = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{rest // 1_000_000:03d}"
    who = f"{draft.agent or '-':8} {draft.session or '-'}"
    return f"{stamp} {draft.decision:8} {draft.tool:10} {who}  {text.strip()[:_TEXT]}  [{draft.call_id}]"
