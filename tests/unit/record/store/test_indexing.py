"""The index of a SQLite store follows the entries: whatever it has reached, the answers are the same."""

from __future__ import annotations

import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from interpose.core.errors import StoreError
from interpose.record.store import indexing
from interpose.record.store.protocols import Query
from interpose.record.store.sqlite import SqliteStore
from tests.unit.record.store.test_entries import QUERIES, STORED, entry, seqs


def through(store: SqliteStore) -> int:
    return int(store.read("SELECT through FROM indexed")[0][0])


def index(store: SqliteStore) -> int:
    with store._writing() as connection:
        return indexing.index_chunk(connection)


@pytest.mark.parametrize("reached", range(len(STORED) + 1))
def test_queries_find_the_same_with_half_an_index(tmp_path: Path, reached: int) -> None:
    store = SqliteStore(tmp_path / "ledger.db")
    store.append(STORED[:reached])
    index(store)
    store.append(STORED[reached:])
    assert through(store) == reached
    for note, query, wanted in QUERIES:
        assert seqs(store.query(query, 100)) == wanted, note
        assert seqs(store.query(query, 1)) == wanted[:1], note
        assert seqs(store.query(query, 100, oldest_first=True)) == wanted[::-1], note
    assert seqs(store.of_calls(["call-w-3", "call-w-1"])) == [1, 3, 4]
    store.close()


def test_pages_join_where_the_index_ends(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ledger.db")
    store.append([entry(n, text="words") for n in range(1, 200)])
    index(store)
    store.append([entry(n, text="words") for n in range(200, 401)])
    found: list[int] = []
    after = None
    while page := store.query(Query(text="ord"), 7, after):
        found += seqs(page)
        after = page[-1].position
    store.close()
    assert found == list(range(400, 0, -1))


def test_dropping_clears_the_index(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ledger.db")
    store.append([entry(n, text=f"number {n}") for n in range(1, 201)])
    index(store)
    store.append([entry(n, text=f"number {n}") for n in range(201, 251)])
    store.drop("w", 220)
    assert seqs(store.query(Query(text="number"), 100)) == list(range(250, 220, -1))
    assert store.read("SELECT count(*) FROM calls") == [(0,)]
    assert store.read("SELECT count(*) FROM words WHERE words MATCH '\"num\"'") == [(0,)]
    store.close()


def test_it_is_indexed_in_a_quiet_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "QUIET", 0.0)
    store = SqliteStore(tmp_path / "ledger.db")
    store.append([entry(n, text="words") for n in range(1, 2001)])
    for thread in threading.enumerate():
        if thread.name == "interpose:index":
            thread.join()
    assert through(store) > 2000 - indexing.CHUNK
    store.close()


def test_closing_uses_a_moment_for_what_is_left(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    store = SqliteStore(path)
    store.append([entry(n, text="words") for n in range(1, 301)])
    store.close()
    reading = SqliteStore(path, read_only=True)
    assert through(reading) >= indexing.CHUNK
    assert len(reading.query(Query(text="words"), 1000)) == 300
    reading.close()


def test_others_cannot_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.db"
    SqliteStore(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_locked_file_is_an_error_and_then_works_again(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    store = SqliteStore(path, busy_seconds=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        store.append([entry(1)])
    other.execute("ROLLBACK")
    other.close()
    store.append([entry(1)])
    assert seqs(store.scan("w", 0, 9)) == [1]
    store.close()


def test_a_full_disk_is_an_error_and_then_works_again(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ledger.db")
    store.append([entry(1)])
    with store._writing() as connection:
        ((pages,),) = connection.execute("PRAGMA page_count").fetchall()
    store._writable().execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="full"):
        store.append([entry(n, body=b"x" * 9000) for n in range(2, 99)])
    assert seqs(store.scan("w", 0, 9)) == [1]
    store._writable().execute("PRAGMA max_page_count = 1000000")
    store.append([entry(2)])
    assert seqs(store.scan("w", 0, 9)) == [1, 2]
    store.close()


PLANS = [
    (Query(kinds=("decided",), session="s"), "entries_session"),
    (Query(kinds=("decided",), rule="r"), "entries_rule"),
    (Query(kinds=("decided",), agent="a"), "entries_agent"),
    (Query(kinds=("decided",), tool="t"), "entries_tool"),
    (Query(kinds=("decided",), decision="deny"), "entries_decision"),
    (Query(kinds=("checkpoint", "retention")), "entries_notes"),
    (Query(text="words"), "words VIRTUAL TABLE INDEX"),
    (Query(path="/src"), "words VIRTUAL TABLE INDEX"),
    (Query(call_id="c"), "calls USING PRIMARY KEY"),
    (Query(kinds=("decided",), request="r"), "requests USING PRIMARY KEY"),
    (Query(kinds=("decided",), rule="changed"), "COVERING INDEX entries_rules"),
]


@pytest.mark.parametrize(("query", "index_name"), PLANS, ids=[name for _, name in PLANS])
def test_no_query_reads_the_whole_ledger(
    tmp_path: Path, query: Query, index_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "ledger.db")
    plans: list[str] = []
    read = store.read

    def explained(sql: str, *values: object) -> list[tuple[object, ...]]:
        plans.extend(str(row[-1]) for row in read(f"EXPLAIN QUERY PLAN {sql}", *values))
        return read(sql, *values)

    monkeypatch.setattr(store, "read", explained)
    store.query(query, 10)
    store.close()
    assert any(index_name in step for step in plans), plans
    # This index has only the entries that were rewritten.
    assert not any(step.startswith("SCAN entries") and "entries_rules" not in step for step in plans), plans
