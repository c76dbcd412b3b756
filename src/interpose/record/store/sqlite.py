"""A store in one SQLite file: write-ahead log, one writing connection a process, readers beside it.

Entries and the plain indexes are written at once. The index of words and calls follows when there is time (see
`indexing`), and a query looks through what it doesn't reach yet.
"""

from __future__ import annotations

import errno
import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from interpose.core.errors import (
    DamagedStoreError,
    OutdatedStoreError,
    SequenceTakenError,
    StoreError,
    TamperedError,
    text_of,
)
from interpose.core.formats.unwritable import reason_and_remedy
from interpose.core.platforms.system import durable_statements
from interpose.record.store import schema
from interpose.record.store.file_watch import DatabaseWatch
from interpose.record.store.indexing import Indexer, forget, match_of
from interpose.record.store.lock_patience import LockPatience
from interpose.record.store.protocols import Query, SearchFlaw, StoredEntry
from interpose.record.store.reading import EntryReader, Select
from interpose.record.store.rows import COLUMNS, SELECTED, RuledBy, conditions, entries_in, needles, row_of, storable
from interpose.record.store.search_check import MISSPELLED, flaws_at, misspelled, sqlite_index_flaws, sqlite_reindex
from interpose.record.store.state import Undone

_CHUNK = 2000
"""Entries that one transaction of `drop` forgets, so that writers get their turn in between."""

_CALLS_AT_ONCE = 500
_PAGES_BEFORE_CHECKPOINT = 4000
_CACHE_KIB = 16 * 1024

_THROUGH = "(SELECT through FROM indexed)"
_TOGETHER = 32
"""Rows of one statement: other threads of the process are held up once for all of them."""
_ROW = f"({', '.join('?' * len(COLUMNS))})"
_INSERT = f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES {_ROW}"
_INSERT_TOGETHER = _INSERT + f", {_ROW}" * (_TOGETHER - 1)


class SqliteStore(EntryReader):
    """The store in a file. It may be used by many threads, and the file by many processes."""

    is_shared = False

    def __init__(self, path: str | Path, *, read_only: bool = False, busy_seconds: float = 5.0) -> None:
        self.path = Path(path)
        self._busy_seconds, self._patience = busy_seconds, LockPatience(busy_seconds)
        self._lock, self._looking = threading.RLock(), threading.Lock()
        self._pool = threading.Lock()
        """Of the readers. Not the lock of writers: who reads must not wait for one that waits for another process."""
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._writer: sqlite3.Connection | None = None
        self._unfindable: list[sqlite3.Connection] = []
        self._durable = False
        self._indexer: Indexer | None = None
        self._watch: DatabaseWatch | None = None
        self._last: StoredEntry | None = None
        try:
            with _translated(self.path):
                if read_only:
                    self._check_readable()
                else:
                    self._begin_writing()
        except BaseException:
            self.close()  # the caller gets no store that it could close
            raise

    def append(self, entries: Sequence[StoredEntry], *, durable: bool = False) -> None:
        """Add entries, all or none, in order."""
        rows = [row_of(entry) for entry in entries]
        with self._writing(durable=durable) as connection:
            alone = len(rows) % _TOGETHER
            connection.executemany(_INSERT, rows[:alone])
            connection.executemany(_INSERT_TOGETHER, _joined(rows[alone:]))
        if entries:
            self._last = entries[-1]
        if self._indexer is not None:
            self._indexer.added(len(rows))

    def matching(
        self, query: Query, ruled_by: RuledBy, limit: int, after: int | None, oldest_first: bool
    ) -> list[StoredEntry]:
        """Entries that match, where the rule of the query stands in one place."""
        select = Select(*conditions(query, self, ruled_by), after, oldest_first)
        narrow = query.session or query.call_id or query.request or ruled_by == "call"
        match = "" if narrow else match_of(needles(query))
        if not query.call_id and not match:
            return self.entries(select.statement("entries", "id", limit))
        # By an index as far as it reaches, and past that by looking. `through` is read once: the index may grow.
        ((through,),) = self.read("SELECT through FROM indexed")
        unindexed = select.where("entries.id > {}", through).statement("entries", "id", limit)
        if query.call_id:
            mine = select.where("id IN (SELECT calls.id FROM calls WHERE calls.call_id = {})", storable(query.call_id))
            indexed = mine.where("id <= {}", through).statement("entries", "id", limit)
        else:
            mine = select.where("words MATCH {}", match).where("words.rowid <= {}", through)
            indexed = mine.statement("words CROSS JOIN entries ON entries.id = words.rowid", "words.rowid", limit)
        parts = (indexed, unindexed) if oldest_first else (unindexed, indexed)
        found = self.entries(parts[0])
        return found if len(found) >= limit else (found + self.entries(parts[1]))[:limit]

    def of_calls(self, call_ids: Sequence[str]) -> list[StoredEntry]:
        """All entries of some calls, in the order in which they were added."""
        found: list[StoredEntry] = []
        for start in range(0, len(call_ids), _CALLS_AT_ONCE):
            wanted = [storable(call_id) for call_id in call_ids[start : start + _CALLS_AT_ONCE]]
            holders = ", ".join(f"${number}" for number in range(1, len(wanted) + 1))
            sql = f"""SELECT {SELECTED} FROM entries WHERE call_id IN ({holders}) AND id > {_THROUGH}
                      UNION ALL
                      SELECT {SELECTED} FROM entries WHERE id <= {_THROUGH}
                      AND id IN (SELECT id FROM calls WHERE call_id IN ({holders}))"""
            found += entries_in(self.read(sql, *wanted))
        return sorted(found, key=lambda entry: entry.position)

    def contains(self, column: str, number: int) -> str:
        """The condition that a column contains the text of a parameter, `text` in any case of its ASCII letters."""
        return f"instr({'lower(text)' if column == 'text' else column}, ${number}) > 0"

    def in_request(self, number: int) -> str:
        """The condition that an entry is one of a call of which some entry came about in the request of a parameter."""
        return _of_calls(f"""SELECT call_id FROM requests WHERE request = ${number}
                             UNION SELECT call_id FROM entries WHERE id > {_THROUGH} AND request = ${number}""")

    def in_rules(self, number: int) -> str:
        """The condition that an entry is one of a call of which some entry has the line of a parameter in its rules."""
        return _of_calls(f"SELECT call_id FROM entries WHERE rules <> '' AND {self.contains('rules', number)}")

    def drop(self, writer: str, through_seq: int) -> int:
        """Forget a writer's entries up to a number. Says how many."""
        total = 0
        while True:
            with self._writing() as connection:
                dropped = forget(connection, storable(writer), through_seq, _CHUNK)
            total += dropped
            if dropped < _CHUNK:
                break
        with self._lock, _translated(self.path):
            self._writable().execute("PRAGMA incremental_vacuum").fetchall()
        return total

    def size(self) -> int:
        """Bytes that the entries take, with their indexes and what is kept beside them."""
        sql = """SELECT (page_count - freelist_count) * page_size
                 FROM pragma_page_count, pragma_freelist_count, pragma_page_size"""
        return int(self.read(sql)[0][0])

    def search_flaws(self) -> list[SearchFlaw]:
        """What would hide entries from those who search."""
        return flaws_at(list(misspelled(self.read)), MISSPELLED) + sqlite_index_flaws(self.read)

    def reindex(self) -> int:
        """Make the indexes and the form of searched columns anew from the entries. Says how many entries there are."""
        with self._writing(durable=True) as connection:
            return sqlite_reindex(connection)

    def tampered(self) -> str:
        """What somebody else did to the files; empty if nothing, or if it is only read."""
        watch = self._watch
        if watch is None or self._closed:
            return ""
        with self._looking, _translated(self.path):
            return watch.look()

    def reopen(self) -> None:
        """Let go of the files and open those that are there now, or make them.

        If the open file is not the one that is there, entries go over from it: nobody else can find it any more.
        """
        with self._lock, _translated(self.path):
            beside = self._reader_beside()
            old, self._writer = self._writer, None
            if old is not None and self._watch is not None and self._watch.is_away():
                self._unfindable.append(old)  # until it was rescued, however many tries that takes
                old = None
            self._close_files()
            # What it knows of the log is of before: two views of one file don't agree.
            for connection in (old, beside):
                if connection is not None:
                    with suppress(sqlite3.Error):
                        connection.close()
            self._closed, self._durable, self._last = False, False, None
            self._begin_writing()
            while self._unfindable:
                self._rescue(self._unfindable[0])
                self._unfindable.pop(0).close()

    def _reader_beside(self) -> sqlite3.Connection | None:
        """A reader that is open while the writer is closed; None if nobody can read the file.

        INVARIANT: a log that is not the file's any more is never written into it. The last writer to close does so, and
        one beside a reader is not the last. Others may have taken our log away if something in this process opened and
        closed the file: with that SQLite's locks were gone.
        """
        try:
            return self._reader()
        except (sqlite3.Error, StoreError):
            return None

    def _rescue(self, old: sqlite3.Connection) -> None:
        try:
            writers = [str(writer) for (writer,) in old.execute("SELECT DISTINCT writer FROM entries")]
            for writer in writers:
                head = self.head(writer)
                seq = head.seq if head else 0
                sql = f"SELECT {SELECTED} FROM entries WHERE writer = ? AND seq > ? ORDER BY seq LIMIT {_CHUNK}"
                while rows := entries_in(old.execute(sql, (writer, seq)).fetchall()):
                    self.append(rows, durable=True)
                    seq = rows[-1].seq
        except (sqlite3.Error, StoreError):
            return  # what could be had of it was had

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        self._close_files()
        with self._lock:
            unfindable, self._unfindable = self._unfindable, []
        for connection in unfindable:
            connection.close()

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, and not reopened since."""
        return self._closed

    def _close_files(self) -> None:
        """Close all but what waits to be rescued."""
        if self._indexer is not None and not self._closed:
            self._indexer.close()
        with self._pool:
            self._closed = True
            idle, self._idle = self._idle, []
        with self._lock:
            writer, self._writer = self._writer, None
        for connection in (*idle, *([writer] if writer else ())):
            connection.close()

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of a statement that changes nothing."""
        with _translated(self.path):
            idle = self._idle
            connection = self._reader()
            try:
                with self._patience.statement(connection):
                    rows = _fetched(connection, _numbered(sql), values)
            except BaseException:
                connection.close()
                raise
            with self._pool:
                if not self._closed and idle is self._idle:  # after `reopen` there are other files
                    idle.append(connection)
                    return rows
            connection.close()
        return rows

    def write(self, sql: str, *values: Any, durable: bool = True) -> list[tuple[Any, ...]]:
        """Rows of a statement that changes something, in a transaction of its own."""
        with self._writing(durable=durable) as connection:
            return connection.execute(_numbered(sql), values).fetchall()

    def write_all(self, *statements: tuple[str, tuple[Any, ...]], durable: bool = True) -> bool:
        """Statements in one transaction, each of which must return a row. If one doesn't, none happened: False."""
        try:
            with self._writing(durable=durable) as connection:
                for sql, values in statements:
                    if not connection.execute(_numbered(sql), values).fetchall():
                        raise Undone
        except Undone:
            return False
        return True

    def backlog(self) -> int:
        """Entries that the index of words has not reached."""
        return int(self.read("SELECT coalesce(max(id), 0) - (SELECT through FROM indexed) FROM entries")[0][0])

    def _begin_writing(self) -> None:
        self._writer = self._open_for_writing()
        self._indexer = Indexer(self._indexing, self.backlog())
        self._watch = DatabaseWatch(self.path, self._unreadable)

    def _unreadable(self) -> str:
        """Why the file, opened anew, is not the ledger that we write; empty if it is."""
        last = self._last
        try:
            connection = self._connect(f"{self.path.absolute().as_uri()}?mode=ro")
            try:
                connection.execute("SELECT 1 FROM entries LIMIT 1").fetchall()
                sql = "SELECT hash FROM entries WHERE writer = ? AND seq = ?"
                found = [] if last is None else connection.execute(sql, (last.writer, last.seq)).fetchall()
            finally:
                connection.close()
        except sqlite3.Error as error:
            busy = getattr(error, "sqlite_errorcode", 0) & _PRIMARY in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            return "" if busy else text_of(error)
        return "" if last is None or found == [(last.hash,)] else f"it does not have entry {last.seq} of {last.writer}"

    def _writable(self) -> sqlite3.Connection:
        if self._writer is None:
            raise StoreError(f"{self.path} is {'closed' if self._closed else 'open for reading only'}")
        return self._writer

    @contextmanager
    def _writing(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction. It is rolled back if anything goes wrong, a failing commit included."""
        with self._turn(), _translated(self.path):
            connection = self._writable()
            if durable != self._durable:
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            with self._patience.statement(connection):
                connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _indexing(self) -> Iterator[sqlite3.Connection]:
        """A transaction for an index, which is not worth one in files that somebody was at."""
        if why := self.tampered():
            raise TamperedError(why)
        with self._writing() as connection:
            yield connection

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Our turn to write. Who waits for it waits no longer than for another process, however many come before."""
        if not self._lock.acquire(timeout=self._patience.seconds):
            raise StoreError(f"{self.path}: database is locked")
        try:
            yield
        finally:
            self._lock.release()

    def _open_for_writing(self) -> sqlite3.Connection:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.touch(mode=0o600)
        connection = self._connect(f"{self.path.absolute().as_uri()}?mode=rw")
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            for statement in durable_statements():
                connection.execute(statement)
            connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_BEFORE_CHECKPOINT}")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _use_write_ahead_log(self, connection: sqlite3.Connection) -> None:
        """Of several who start at once one makes the switch; SQLite refuses the others at once instead of waiting."""
        end = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchall()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            ((version,),) = connection.execute("PRAGMA user_version").fetchall()
            if version > len(schema.SQLITE):
                raise StoreError(f"{self.path} was written by a newer version of interpose (schema {version})")
            for statement in (statement for step in schema.SQLITE[version:] for statement in step):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(schema.SQLITE)}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _check_readable(self) -> None:
        if not self.path.is_file():
            raise StoreError(f"there is no ledger at {self.path}")
        ((version,),) = self.read("PRAGMA user_version")
        if version != len(schema.SQLITE):
            wrong = OutdatedStoreError if 0 < version < len(schema.SQLITE) else StoreError
            raise wrong(f"{self.path} is no ledger of this version of interpose (schema {version})")

    def _reader(self) -> sqlite3.Connection:
        with self._pool:
            if self._closed:
                raise StoreError(f"{self.path} is closed")
            if self._idle:
                return self._idle.pop()
        address = self.path.absolute().as_uri()
        connection = self._connect(f"{address}?mode=ro")
        try:
            with self._patience.statement(connection):
                connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        except BaseException as error:
            connection.close()
            # A reader wants to write lock files beside the ledger. On read-only media no other process writes either.
            has_writer = self._writer is not None or self.path.with_name(f"{self.path.name}-wal").exists()
            if has_writer or not isinstance(error, sqlite3.OperationalError):
                raise
            connection = self._connect(f"{address}?mode=ro&immutable=1")
        return connection

    def _connect(self, address: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            address, uri=True, timeout=self._patience.seconds, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        except BaseException:
            connection.close()
            raise
        return connection


def _of_calls(calls: str) -> str:
    """The condition that an entry is one of these calls': by the index as far as it reaches, past that by looking."""
    return f"""entries.id IN (SELECT id FROM calls WHERE call_id IN ({calls}) UNION ALL
              SELECT id FROM entries WHERE id > {_THROUGH} AND call_id <> '' AND call_id IN ({calls}))"""


def _joined(rows: list[tuple[Any, ...]]) -> Iterator[list[Any]]:
    for start in range(0, len(rows), _TOGETHER):
        yield [*chain.from_iterable(rows[start : start + _TOGETHER])]


def _fetched(connection: sqlite3.Connection, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """All rows, also of a file in which somebody put bytes that are no text."""
    try:
        return connection.execute(sql, values).fetchall()
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" not in str(error):
            raise
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection.execute(sql, values).fetchall()


@cache
def _numbered(sql: str) -> str:
    return re.sub(r"\$(\d+)", r"?\1", sql)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Whatever SQLite or the file system says becomes a `StoreError`."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        raise (SequenceTakenError if "entries.seq" in str(error) else StoreError)(str(error)) from error
    except (sqlite3.Error, OSError, OverflowError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
        if code in _DAMAGED:
            raise DamagedStoreError(f"{path}: {text_of(error)}") from error
        number = error.errno if isinstance(error, OSError) else _LIKE.get(code, 0)
        why, what = reason_and_remedy(str(path), number or 0) if number else ("", "")
        raise StoreError(f"{path}: {why or text_of(error)}{f'. {what}' if why else ''}") from error


_PRIMARY = 0xFF
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_LIKE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_READONLY: errno.EACCES,
}
"""What the system would have said."""
