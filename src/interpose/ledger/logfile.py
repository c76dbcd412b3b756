"""The human-readable log: one line for each decision and each outcome, in files that are rotated by size.

    2026-11-15 21:40:12.345 deny    exec     main  s1  no-rm: no removal  rm -rf /  [4f1c]

Lines are appended; nothing is ever read again. Of several processes that write to one log, each line stays whole.
"""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path

from interpose.ledger.bodies import Bodies, outcome_word
from interpose.ledger.chain import Draft
from interpose.texts import plain
from interpose.types import ToolCall, ToolOutcome, Verdict

MAX_BYTES = 100 * 1024 * 1024
ARCHIVES = 5
_TEXT = 300


class LogFile:
    """A log of at most `archives` + 1 files: `name`, `name.1` (the newest archive), `name.2`, ..."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, archives: int = ARCHIVES) -> None:
        if max_bytes < 1 or archives < 0:
            raise ValueError("a log file needs at least one byte, and no less than no archives")
        self._path, self._max_bytes, self._archives = path, max_bytes, archives
        self._lock = threading.Lock()
        self._handle = -1
        self._size = 0

    def write(self, line: str) -> None:
        """Append a line. Raises OSError if that is not possible now."""
        data = plain(line).replace("\n", "\\n").encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            self._open_current()
            if self._size and self._size + len(data) > self._max_bytes:
                self._rotate()
                self._open_current()
            os.write(self._handle, data)
            self._size += len(data)

    def close(self) -> None:
        """Let go of the file. The next line opens it again."""
        with self._lock:
            self._leave()

    def _open_current(self) -> None:
        """Follow the name: another process may have rotated the file away."""
        if self._handle >= 0:
            ours = os.fstat(self._handle)
            if ours.st_nlink and self._same_file(ours):
                self._size = ours.st_size
                return
            self._leave()
        self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._handle).st_size

    def _same_file(self, ours: os.stat_result) -> bool:
        try:
            return os.path.samestat(ours, self._path.stat())
        except FileNotFoundError:
            return False

    def _rotate(self) -> None:
        self._leave()
        if not self._archives:
            self._path.unlink(missing_ok=True)
            return
        for number in range(self._archives - 1, 0, -1):
            if (older := self._archive(number)).exists():
                older.replace(self._archive(number + 1))
        if self._path.exists():
            self._path.replace(self._archive(1))

    def _archive(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _leave(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


class LogRecorder:
    """Writes a line for each decision and each outcome, without secrets. For an engine, beside or without a ledger."""

    def __init__(self, log: LogFile, bodies: Bodies) -> None:
        self._log, self._bodies = log, bodies

    def decided(self, verdict: Verdict[ToolCall]) -> None:
        """One line for a decision. A log that can't be written refuses the call, as a ledger would."""
        draft = self._bodies.decided(verdict)
        self._log.write(_line(draft, draft.decision, f"{draft.rule}: {draft.text}" if draft.rule else draft.text))

    def finished(
        self, _verdict: Verdict[ToolCall], outcome: ToolOutcome, after: Verdict[ToolOutcome] | None = None
    ) -> None:
        """One line for an outcome."""
        draft = self._bodies.finished(outcome)
        self._log.write(_line(draft, outcome_word(outcome), f"{outcome.duration_ns / 1e6:.1f} ms"))


def _line(draft: Draft, word: str, text: str) -> str:
    seconds, rest = divmod(draft.time_ns, 1_000_000_000)
    stamp = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{rest // 1_000_000:03d}"
    who = f"{draft.agent or '-':8} {draft.session or '-'}"
    return f"{stamp} {word:8} {draft.tool:10} {who}  {text.strip()[:_TEXT]}  [{draft.call_id}]"
