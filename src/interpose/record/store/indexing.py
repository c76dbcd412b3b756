"""The index of words and calls in a SQLite store, which follows the entries instead of holding them up.

Three letters at a time: any part of a text can be found, and what is found is compared again with the text itself.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from interpose.core.errors import StoreError
from interpose.record.store.rows import threes
from interpose.record.store.schema import IS_DECISION

CHUNK = 256
"""Entries in one transaction: a few milliseconds, for which others who write must wait."""
FAR_BEHIND = 100_000
"""Entries that may wait for a quiet moment. Past that they are indexed under load too."""
QUIET = 0.25
"""Seconds without new entries that count as a quiet moment."""
_ROOM = 3
"""How much longer others have, under load, than a chunk took."""
PARTING = 0.1
"""Seconds that closing may spend on what isn't indexed yet."""

Writing = Callable[[], AbstractContextManager[sqlite3.Connection]]


def match_of(needles: Sequence[str]) -> str:
    """The full-text query that finds every entry with these texts, and some without. Empty if they are too short."""
    grams = dict.fromkeys(gram for needle in needles for gram in threes(needle))
    return " AND ".join('"' + gram.replace('"', '""') + '"' for gram in grams)


def index_chunk(connection: sqlite3.Connection) -> int:
    """Index what comes next, in the caller's transaction. How many entries that were."""
    ((through,),) = connection.execute("SELECT through FROM indexed").fetchall()
    rows = connection.execute(
        "SELECT id, text || terms, call_id, request FROM entries WHERE id > ? ORDER BY id LIMIT ?", (through, CHUNK)
    ).fetchall()
    if not rows:
        return 0
    connection.executemany(
        "INSERT INTO words (rowid, letters) VALUES (?, ?)", [(id_, letters) for id_, letters, _, _ in rows if letters]
    )
    connection.executemany("INSERT INTO calls VALUES (?, ?)", sorted((call, id_) for id_, _, call, _ in rows if call))
    named = sorted({(request, call) for _, _, call, request in rows if request and call})
    connection.executemany("INSERT OR IGNORE INTO requests VALUES (?, ?)", named)
    connection.execute("UPDATE indexed SET through = ?", (rows[-1][0],))
    return len(rows)


def forget(connection: sqlite3.Connection, writer: str, through_seq: int, limit: int) -> int:
    """Delete a writer's first entries up to a number, with their index, in the caller's transaction."""
    ((through,),) = connection.execute("SELECT through FROM indexed").fetchall()
    rows = connection.execute(
        "SELECT id, text || terms, call_id, request FROM entries WHERE writer = ? AND seq <= ? ORDER BY seq LIMIT ?",
        (writer, through_seq, limit),
    ).fetchall()
    indexed = [row for row in rows if row[0] <= through]
    connection.executemany(
        "INSERT INTO words (words, rowid, letters) VALUES ('delete', ?, ?)",
        [(id_, letters) for id_, letters, _, _ in indexed if letters],
    )
    gone = [(call, id_) for id_, _, call, _ in indexed]
    connection.executemany("DELETE FROM calls WHERE call_id = ? AND id = ?", gone)
    connection.executemany("DELETE FROM entries WHERE id = ?", [(row[0],) for row in rows])
    # What is left of a call without a decision is no record, and needn't be found by its request.
    named = {(request, call) for _, _, call, request in indexed if request}
    connection.executemany(
        f"""DELETE FROM requests WHERE request = ? AND call_id = ? AND NOT EXISTS (
               SELECT 1 FROM calls JOIN entries ON entries.id = calls.id
               WHERE calls.call_id = requests.call_id AND {IS_DECISION})""",
        sorted(named),
    )
    return len(rows)


class Indexer:
    """Indexes in a thread of its own, which lives while there is something to do."""

    def __init__(self, writing: Writing, backlog: int) -> None:
        self._writing = writing
        self._backlog = backlog
        self._last = 0.0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def added(self, count: int) -> None:
        """Entries were added."""
        with self._changed:
            self._backlog += count
            self._last = time.monotonic()
            if self._backlog < CHUNK or self._closed:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="interpose:index", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread, and use a short moment for what is left."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()
        end = time.monotonic() + PARTING
        while self._backlog >= CHUNK and time.monotonic() < end and self._step():
            pass

    def _run(self) -> None:
        while self._wait_for_its_turn():
            start = time.monotonic()
            if not self._step():
                break
            self._leave_room(time.monotonic() - start)
        with self._changed:
            self._thread = None

    def _wait_for_its_turn(self) -> bool:
        with self._changed:
            while not self._closed:
                if self._backlog < CHUNK:
                    return False
                quiet = time.monotonic() - self._last
                if self._backlog > FAR_BEHIND or quiet >= QUIET:
                    return True
                self._changed.wait(QUIET - quiet)
        return False

    def _leave_room(self, spent: float) -> None:
        """Under load most of the time belongs to those who append; a lock alone would not see to it."""
        with self._changed:
            if not self._closed and time.monotonic() - self._last < QUIET:
                self._changed.wait(spent * _ROOM)

    def _step(self) -> bool:
        try:
            with self._writing() as connection:
                done = index_chunk(connection)
        except StoreError:
            return False  # the entries are safe; the next ones that are added try again
        with self._changed:
            self._backlog = max(0, self._backlog - done) if done else 0
        return done > 0
