"""The log that people read: one line for everything that governance denied, asked, noted, halted, lifted or let pass.

    2026-11-17T22:00:01Z deny   claude-code s-12  researcher  write  governance/role  write is none of its tools

Lines are appended, never reread; the file is rotated by size, and its archives are kept. A thread of its own writes, so
that a log whose disk hangs holds up no decision: what can't be written is counted and told in the program's log, once.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, Full, Queue

from msgspec import Struct

from interpose.core.errors import text_of
from interpose.core.formats.log_file import LogFile
from interpose.core.formats.plain_text import one_line
from interpose.core.late import late_logger
from interpose.reading import hidden

log = late_logger("interpose.governance")

MAX_BYTES = 5 << 20
ARCHIVES = 3
QUEUE = 10_000
"""Lines that may wait."""
_FIELD = 60
_TEXT = 400
_READ = 4000
_IDLE_SECONDS = 10.0


class LogEvent(Struct, frozen=True, kw_only=True):
    """What happened, for one line."""

    at_ns: int
    word: str
    """`deny`, `ask`, `note`, `watch`, `halt`, `lift`, `bypass`, `task` ..."""
    host: str = ""
    session: str = ""
    role: str = ""
    tool: str = ""
    rule: str = ""
    text: str = ""


def line_of(event: LogEvent) -> str:
    """The event as one line. INVARIANT: no text of an agent begins another line, or is taken for another field; and no
    secret stands in it, which a refused command may have had."""
    seconds = event.at_ns // 1_000_000_000
    try:
        stamp = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, OSError, ValueError):
        stamp = f"@{seconds}"
    word, host, session, role, tool, rule = map(
        _field, (event.word, event.host, event.session, event.role, event.tool, event.rule)
    )
    # Before it is cut: half a secret is none that anybody knows.
    text = one_line(hidden(" ".join(event.text[:_READ].split())))[:_TEXT]
    return f"{stamp} {word:6} {host} {session}  {role}  {tool}  {rule}  {text}".rstrip()


def _field(text: str) -> str:
    """One word: a blank in it would shift the fields behind it."""
    return one_line(text[:_FIELD]).replace(" ", "\\x20") or "-"


class GovernanceLog:
    """Safe for threads, and for several processes with the same file. Raises nothing."""

    def __init__(self, path: Path, *, max_bytes: int = MAX_BYTES, archives: int = ARCHIVES) -> None:
        self._path = path
        self._file = LogFile(path, max_bytes=max_bytes, archives=archives)
        self._events: Queue[LogEvent] = Queue(QUEUE)
        self._lock = threading.Lock()
        self._runs = False
        self._idle = threading.Event()
        self._idle.set()
        self.lost = 0
        self.problem = ""
        """Why the last line was not written; empty if it was."""

    def write(self, event: LogEvent) -> None:
        """Write a line, soon."""
        try:
            with self._lock:
                self._idle.clear()
                self._events.put_nowait(event)
                if not self._runs:
                    self._runs = True
                    threading.Thread(target=self._run, name="interpose:governance-log", daemon=True).start()
        except Full:
            self._failed("too many lines wait: its storage hangs")
        except Exception as error:  # noqa: BLE001 - INVARIANT: no decision fails for a line of the log
            self._failed(text_of(error))

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until what was said is written, as far as there is time for it."""
        return self._idle.wait(timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Write what waits, and let go of the file. The next line opens it again."""
        self.flush(timeout)
        self._file.close()

    def _run(self) -> None:
        while True:
            try:
                event = self._events.get(timeout=_IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if self._events.empty():
                        self._runs = False
                        return
                continue
            try:
                self._file.write(line_of(event))
            except OSError as error:
                self._failed(f"{error.strerror or error}")
            except Exception as error:  # noqa: BLE001 - one line that can't be made keeps no other from being written
                self._failed(text_of(error))
            else:
                self.problem = ""
            with self._lock:
                if self._events.empty():
                    self._idle.set()

    def _failed(self, why: str) -> None:
        if why != self.problem:  # once, and not with every line
            log.warning("%s: lines are lost: %s", self._path, why)
        self.lost += 1
        self.problem = why
