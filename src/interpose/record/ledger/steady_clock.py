"""What time it is for retention: a clock that jumps must not make every record old.

A step of more than a day since the last look (or since the newest record, if nobody looked yet) is not believed at
once. Until the clock has gone on from there for a day, records are as old as they were before the step. So a clock
that is wrong for an hour removes nothing, and one that is right costs a day.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode

DAY_NS = 86_400_000_000_000


class _Looked(Struct, frozen=True):
    """The last look: the time then, since when the clock goes steadily, and the last time that is believed."""

    seen_ns: int
    steady_ns: int
    believed_ns: int


class SteadyClock:
    """Kept in a file of the ledger's directory: processes that live for a second look at it, too."""

    def __init__(self, directory: Path, step_ns: int = DAY_NS) -> None:
        """`step_ns` is the longest step that is believed; looks must come more often."""
        self._file, self._step = directory / "clock", max(DAY_NS, step_ns)
        self.problem = ""

    def now(self, now_ns: int, newest_ns: int) -> int:
        """The time that records are as old by. `newest_ns` is the newest record's. Raises OSError."""
        last = self._read() or _Looked(newest_ns, newest_ns - self._step, newest_ns)
        jumped = not -self._step <= now_ns - last.seen_ns <= self._step
        steady = now_ns if jumped else min(last.steady_ns, now_ns)
        is_believed = not jumped and now_ns - steady >= DAY_NS
        believed = now_ns if is_believed else min(last.believed_ns, now_ns)
        self.problem = "" if is_believed else "the clock has jumped: no record is removed for its age for a day"
        self._write(_Looked(now_ns, steady, believed))
        return believed

    def _read(self) -> _Looked | None:
        try:
            return decode(self._file.read_bytes(), type=_Looked)
        except (OSError, MsgspecError):
            return None

    def _write(self, looked: _Looked) -> None:
        # Retention may look by itself while somebody else asks for it: a draft is one thread's.
        draft = self._file.with_name(f".clock.{os.getpid()}.{threading.get_ident()}")
        draft.write_bytes(encode(looked))
        draft.replace(self._file)
