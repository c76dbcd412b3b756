"""A store in PostgreSQL, for many machines: asyncpg on an event loop of its own, behind blocking methods.

Any number of writers share it. Each has a chain of its own, so they never wait for each other.
"""

from __future__ import annotations

import asyncio
import threading
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError as FutureCancelledError
from contextlib import contextmanager
from typing import Any, TypeVar

from interpose.core.errors import OutdatedStoreError, SequenceTakenError, StoreError, text_of
from interpose.record.store import schema
from interpose.record.store.protocols import Query, SearchFlaw, StoredEntry
from interpose.record.store.reading import EntryReader, Select
from interpose.record.store.rows import (
    COLUMNS,
    SELECTED,
    RuledBy,
    conditions,
    entries_in,
    folded,
    needles,
    row_of,
    storable,
    threes,
)
from interpose.record.store.search_check import MISSPELLED, flaws_at, misspelled
from interpose.record.store.state import Undone

try:
    import asyncpg
except ImportError as missing:
    raise StoreError("asyncpg is missing, which PostgreSQL needs: pip install 'interpose[postgres]'") from missing

R = TypeVar("R")
Connection = Any  # asyncpg's own, or the pool's proxy of it

_SCHEMA = "interpose"
_MIGRATING = 0x696E7465
"""The advisory lock of those who migrate."""
_PAUSE = 0.05
"""Seconds between two attempts to reach a server that restarts."""
_GRACE = 0.05
_PATIENCE = 600.0
"""Seconds that bringing the tables up to date may take: a new index has to read all that there is."""
_UNGRAMMED = "the index of its words is not that of its text"
_NEAREST = 5000
"""Entries that are looked through before an index is asked."""

_LOST = (
    OSError, asyncpg.InterfaceError, asyncpg.InternalClientError, asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
)  # fmt: skip
"""What is said when the server is away, goes away or comes back."""

_WRITTEN = (*COLUMNS, "grams")
_INSERT = f"INSERT INTO entries ({', '.join(_WRITTEN)}) VALUES ({', '.join(f'${n + 1}' for n in range(len(_WRITTEN)))})"


class PostgresStore(EntryReader):
    """The store at an address. It may be used by many threads, and the database by many processes."""

    is_shared = True

    def __init__(self, address: str, *, read_only: bool = False, timeout: float = 5.0, connections: int = 8) -> None:
        self._address, self._read_only, self._timeout, self._connections = address, read_only, timeout, connections
        self._pool: asyncpg.Pool[Any] | None = None
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="interpose:postgres", daemon=True)
        self._thread.start()
        try:
            if self._wait(self._open()):
                self._wait(self._brought_up_to_date(), _PATIENCE)
        except BaseException:
            self.close()
            raise

    def append(self, entries: Sequence[StoredEntry], *, durable: bool = False) -> None:  # noqa: ARG002
        """Add entries, all or none, in order. They are always durable: the server syncs before it answers.

        A connection that is lost in between is followed by another attempt, which finds out what became of the first.
        """
        rows = [(*row_of(entry), _grams_of(entry)) for entry in entries]
        attempts = 0

        async def insert(connection: Connection) -> None:
            nonlocal attempts
            attempts += 1
            try:
                async with connection.transaction():
                    await connection.executemany(_INSERT, rows)
            except asyncpg.UniqueViolationError:
                if attempts == 1 or not await _are_there(connection, entries):
                    raise

        self._wait(self._attempt(insert, again=True))

    def matching(
        self, query: Query, ruled_by: RuledBy, limit: int, after: int | None, oldest_first: bool
    ) -> list[StoredEntry]:
        """Entries that match, where the rule of the query stands in one place."""
        select = Select(*conditions(query, self, ruled_by), after, oldest_first)
        grams = _digests(gram for needle in needles(query) for gram in threes(folded(needle)))
        if not grams:
            return self.entries(select.statement("entries", "id", limit))
        # What many entries have is found among the nearest ones, long before an index has put all of them in order.
        near = self.entries(self._nearest(select, after, oldest_first, limit))
        if len(near) >= limit:
            return near
        return self.entries(select.where("grams @> {}", grams).statement("entries", "id", limit))

    def _nearest(self, select: Select, after: int | None, oldest_first: bool, limit: int) -> tuple[str, list[Any]]:
        sign, direction = (">", "ASC") if oldest_first else ("<", "DESC")
        start = "" if after is None else f"WHERE id {sign} {after}"
        source = f"(SELECT * FROM entries {start} ORDER BY id {direction} LIMIT {_NEAREST}) AS entries"
        return select.statement(source, "id", limit)

    def of_calls(self, call_ids: Sequence[str]) -> list[StoredEntry]:
        """All entries of some calls, in the order in which they were added."""
        sql = f"SELECT {SELECTED} FROM entries WHERE call_id = ANY($1) AND call_id <> '' ORDER BY id"
        return entries_in(self.read(sql, [storable(call_id) for call_id in call_ids]))

    def contains(self, column: str, number: int) -> str:
        """The condition that a column contains the text of a parameter, `text` in any case of its ASCII letters."""
        searched = 'lower(text COLLATE "C")' if column == "text" else column
        return f"strpos({searched}, ${number}) > 0"

    def in_request(self, number: int) -> str:
        """The condition that an entry is one of a call of which some entry came about in the request of a parameter."""
        return _of_calls(f"request = ${number} AND request <> ''")

    def in_rules(self, number: int) -> str:
        """The condition that an entry is one of a call of which some entry has the line of a parameter in its rules."""
        return _of_calls(f"rules <> '' AND {self.contains('rules', number)}")

    def drop(self, writer: str, through_seq: int) -> int:
        """Forget a writer's entries up to a number. Says how many."""
        sql = "WITH gone AS (DELETE FROM entries WHERE writer = $1 AND seq <= $2 RETURNING 1) SELECT count(*) FROM gone"
        return int(self.write(sql, storable(writer), through_seq)[0][0])

    def size(self) -> int:
        """Bytes that the entries take, with their indexes."""
        return int(self.read("SELECT pg_total_relation_size('entries')")[0][0])

    def search_flaws(self) -> list[SearchFlaw]:
        """What would hide entries from those who search."""
        found = flaws_at(list(misspelled(self.read)), MISSPELLED)
        return found + flaws_at([(entry.position, entry.writer, entry.seq) for entry in self._ungrammed()], _UNGRAMMED)

    def reindex(self) -> int:
        """Make what is searched by anew from the entries. Says how many entries there are."""
        for position, _writer, _seq in list(misspelled(self.read)):
            (entry,) = entries_in(self.read(f"SELECT {SELECTED} FROM entries WHERE id = $1", position))
            row = row_of(entry)
            sql = "UPDATE entries SET terms = $2, rules = $3 WHERE id = $1 RETURNING id"
            self.write(sql, position, row[_TERMS], row[COLUMNS.index("rules")])
        for entry in list(self._ungrammed()):
            self.write("UPDATE entries SET grams = $2 WHERE id = $1 RETURNING id", entry.position, _grams_of(entry))
        return int(self.read("SELECT count(*) FROM entries")[0][0])

    def _ungrammed(self) -> Iterator[StoredEntry]:
        """Entries whose digests are not those of their text."""
        after = 0
        sql = f"SELECT {SELECTED}, grams FROM entries WHERE id > $1 ORDER BY id LIMIT {_NEAREST}"
        while rows := self.read(sql, after):
            entries = entries_in([row[:-1] for row in rows])
            after = entries[-1].position
            yield from (one for one, row in zip(entries, rows, strict=True) if not set(_grams_of(one)) <= set(row[-1]))

    def tampered(self) -> str:
        """Nothing: its files are the server's."""
        return ""

    def reopen(self) -> None:
        """Connections are made as they are needed."""

    def close(self) -> None:
        """Let go of the connections. Closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        asyncio.run_coroutine_threadsafe(self._let_go(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of a statement that changes nothing."""
        return self._wait(self._attempt(lambda connection: _rows(connection, sql, values), again=True))

    def write(self, sql: str, *values: Any, durable: bool = True) -> list[tuple[Any, ...]]:  # noqa: ARG002
        """Rows of a statement that changes something. One that may have been done is not done again. Always durable."""
        return self._wait(self._attempt(lambda connection: _rows(connection, sql, values), again=False))

    def write_all(self, *statements: tuple[str, tuple[Any, ...]], durable: bool = True) -> bool:  # noqa: ARG002
        """Statements in one transaction, each of which must return a row. If one doesn't, none happened: False."""

        async def change(connection: Connection) -> bool:
            try:
                async with connection.transaction():
                    for sql, values in statements:
                        if not await _rows(connection, sql, values):
                            raise Undone
            except Undone:
                return False
            return True

        return self._wait(self._attempt(change, again=False))

    def _wait(self, coroutine: Coroutine[Any, Any, R], seconds: float | None = None) -> R:
        seconds = self._timeout if seconds is None else seconds
        if self._closed or not self._thread.is_alive():
            coroutine.close()
            raise StoreError("the store is closed")
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, seconds), self._loop)
        with _translated():
            try:
                return future.result(seconds + _GRACE)
            except FutureCancelledError as error:
                # Whoever closes the store does not wait for those who ask it, and they must hear of it.
                raise StoreError("the store was closed while it was asked") from error
            finally:
                future.cancel()

    async def _attempt(self, work: Callable[[Connection], Awaitable[R]], *, again: bool) -> R:
        """Do something with a connection. Until the time is up, a server that is away is asked again."""
        assert self._pool is not None  # noqa: S101 - made before anybody can call
        while True:
            try:
                connection = await self._pool.acquire()
            except _LOST:
                await asyncio.sleep(_PAUSE)
                continue
            try:
                return await work(connection)
            except _LOST:
                if not again:
                    raise
                await asyncio.sleep(_PAUSE)
            finally:
                await _released(self._pool, connection)

    async def _open(self) -> bool:
        """Connect. True if the tables must be brought up to date."""
        settings = {"search_path": _SCHEMA, "application_name": "interpose"}
        if self._read_only:
            settings["default_transaction_read_only"] = "on"
        self._pool = await asyncpg.create_pool(
            self._address, min_size=0, max_size=self._connections, server_settings=settings, timeout=self._timeout
        )
        async with self._pool.acquire() as connection:
            version = await _version(connection)
        if self._read_only:
            _check(version)
        return version != len(schema.POSTGRES)  # whoever may not make tables can still use them

    async def _brought_up_to_date(self) -> None:
        assert self._pool is not None  # noqa: S101 - it was just opened
        async with self._pool.acquire() as connection:
            await _migrate(connection)

    async def _let_go(self) -> None:
        """End what still waits for an answer, then the connections: a loop that is closed can't finish either."""
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting, timeout=1.0)
        if self._pool is None:
            return
        try:
            await asyncio.wait_for(self._pool.close(), 1.0)
        except (TimeoutError, *_LOST):
            self._pool.terminate()


def _of_calls(condition: str) -> str:
    """The condition that an entry is one of a call that has an entry which fulfils another condition."""
    return f"(call_id <> '' AND call_id IN (SELECT call_id FROM entries WHERE {condition}))"


async def _released(pool: asyncpg.Pool[Any], connection: Connection) -> None:
    """Give a connection back. One that broke meanwhile is let go by the pool, which says so."""
    try:
        await pool.release(connection)
    except _LOST:
        pass


async def _rows(connection: Connection, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await connection.fetch(sql, *values)]


async def _are_there(connection: Connection, entries: Sequence[StoredEntry]) -> bool:
    """Whether exactly these entries are stored."""
    sql = "SELECT hash FROM entries WHERE writer = $1 AND seq = $2"
    return all([await connection.fetchval(sql, storable(entry.writer), entry.seq) == entry.hash for entry in entries])


async def _version(connection: Connection) -> int:
    known = await connection.fetchval("SELECT to_regclass('schema_version') IS NOT NULL")
    return (await connection.fetchval("SELECT version FROM schema_version") or 0) if known else 0


def _check(version: int) -> None:
    if version != len(schema.POSTGRES):
        wrong = OutdatedStoreError if 0 < version < len(schema.POSTGRES) else StoreError
        raise wrong(f"the database holds no ledger of this version of interpose (schema {version})")


async def _migrate(connection: Connection) -> None:
    """Bring the tables up to date. Of several who start at once, one does it and the others find it done."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATING)
        await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
        await connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)")
        version = await _version(connection)
        if version > len(schema.POSTGRES):
            raise StoreError(f"the database was written by a newer version of interpose (schema {version})")
        for statement in (statement for step in schema.POSTGRES[version:] for statement in step):
            await connection.execute(statement)
        await connection.execute("DELETE FROM schema_version")
        await connection.execute("INSERT INTO schema_version VALUES ($1)", len(schema.POSTGRES))


def _grams_of(entry: StoredEntry) -> list[int]:
    row = row_of(entry)
    letters = folded(row[_TEXT] + row[_TERMS])
    return _digests({letters[start : start + 3] for start in range(len(letters) - 2)})


_TEXT, _TERMS = COLUMNS.index("text"), COLUMNS.index("terms")


def _digests(grams: Iterator[str] | set[str]) -> list[int]:
    """Numbers that PostgreSQL's integers can hold. Two threes may share one: what is found is compared again."""
    return [(zlib.crc32(gram.encode()) & 0xFFFFFFFF) - (1 << 31) for gram in grams]


@contextmanager
def _translated() -> Iterator[None]:
    """Whatever asyncpg or the network says becomes a `StoreError`."""
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        taken = error.constraint_name == "entries_writer_seq_key"
        raise (SequenceTakenError if taken else StoreError)(text_of(error)) from error
    except TimeoutError as error:
        raise StoreError("PostgreSQL did not answer in time") from error
    except (asyncpg.PostgresError, ValueError, OverflowError) as error:
        raise StoreError(f"PostgreSQL: {text_of(error)}") from error
    except _LOST as error:
        raise StoreError(f"PostgreSQL can't be reached: {text_of(error)}") from error
