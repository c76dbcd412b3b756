"""What a run shows on a terminal and in a pipe: progress on stderr, results on stdout."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterable
from time import monotonic
from typing import TextIO

from tests.scorecard.page import describe_run
from tests.scorecard.results import Outcome, Results, RowRuns, judge
from tests.scorecard.rows import Row, Scorecard

_COLOURS: dict[Outcome, str] = {"held": "32", "partly": "33", "failed": "1;31", "not built": "35", "not run": "2"}
_WIDEST = max(map(len, _COLOURS))


def paint(text: str, colour: str, stream: TextIO) -> str:
    """A text in colour, where a person looks at it and did not ask for plain text."""
    wanted = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return f"\x1b[{colour}m{text}\x1b[0m" if wanted else text


def paint_outcome(outcome: Outcome, stream: TextIO) -> str:
    """An outcome in its colour, as wide as the longest one."""
    return paint(f"{outcome:{_WIDEST}}", _COLOURS[outcome], stream)


class Progress:
    """Which rows run, since when, and what the finished ones gave. Threads tell it; `tick` draws."""

    def __init__(self, total: int, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._total = total
        self._finished = 0
        self._running: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def begin(self, row: Row, command: str) -> None:
        """A command of a row starts."""
        with self._lock:
            since = self._running.get(row.id, ("", monotonic()))[1]
            self._running[row.id] = (command, since)
            if not self._terminal:
                self._write(f"· {row.id:4} {command}\n")

    def finish(self, row: Row, outcome: Outcome, seconds: float, said: str) -> None:
        """A row has its result."""
        with self._lock:
            self._running.pop(row.id, None)
            self._finished += 1
            self._clear()
            line = f"{row.id:4} {paint_outcome(outcome, self._stream)} {seconds:6.0f} s  "
            self._write(f"{line}{_cut(said, 21) if self._terminal else said}".rstrip() + "\n")
            self._draw()

    def tick(self) -> None:
        """Draw the line of what runs: on a terminal alone."""
        with self._lock:
            self._clear()
            self._draw()

    def end(self) -> None:
        with self._lock:
            self._clear()

    def _draw(self) -> None:
        if self._terminal and self._running:
            now = monotonic()
            each = [f"{id} {command} ({now - since:.0f} s)" for id, (command, since) in self._running.items()]
            self._write(paint(_cut(f"{self._finished} of {self._total} · {' · '.join(each)}", 0), "2", self._stream))

    def _clear(self) -> None:
        if self._terminal:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _cut(text: str, before: int) -> str:
    """A text that fits on the line of a terminal, behind so many characters."""
    room = max(10, shutil.get_terminal_size().columns - 1 - before)
    return text if len(text) <= room else f"{text[: room - 1]}…"


def say_result(row: Row, runs: RowRuns) -> str:
    """The result of a row in one line: figures, then why it is not held."""
    judgement = judge(row, runs)
    given = "; ".join(describe_run(row.figures, runs.short)) if runs.short is not None else ""
    return " ".join(part for part in (f"{given}." if given else "", *judgement.reasons) if part)


def list_rows(card: Scorecard, results: Results, stream: TextIO = sys.stdout) -> None:
    """A line for each row: its last outcome, when, and the promise."""
    for section in card.sections:
        stream.write(f"{paint(section.title, '1', stream)}\n")
        for row in section.rows:
            runs = results.get(row.id, RowRuns())
            date = runs.short.date if runs.short else ""
            seconds = f"{runs.short.seconds:.0f} s" if runs.short and runs.short.seconds is not None else ""
            full = "long" if row.long else ""
            before = f"{row.id:4} {paint_outcome(judge(row, runs).outcome, stream)} {date:10} {seconds:>6} {full:4}  "
            stream.write(f"{before}{_cut(row.promise, 45) if stream.isatty() else row.promise}\n")


def show_totals(rows: Iterable[Row], results: Results, stream: TextIO = sys.stdout) -> None:
    """How many rows have each outcome, and which did not hold."""
    by_outcome: dict[Outcome, list[str]] = {outcome: [] for outcome in _COLOURS}
    for row in rows:
        by_outcome[judge(row, results.get(row.id, RowRuns())).outcome].append(row.id)
    for outcome, ids in by_outcome.items():
        if ids:
            names = "" if outcome == "held" else f"  {' '.join(ids)}"
            stream.write(f"{paint_outcome(outcome, stream)} {len(ids):3}{names}\n")
