"""Tables are made once, also when many start at the same moment, and never by an older version."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from interpose.core.errors import OutdatedStoreError, StoreError
from interpose.record.ledger import search, verify
from interpose.record.ledger.chain import Chain, Draft
from interpose.record.store import open_store, schema
from interpose.record.store.protocols import Query, Store, StoredEntry
from interpose.record.store.rows import COLUMNS, row_of
from interpose.record.store.sqlite import SqliteStore
from tests.support.servers.postgres import Server


def run_sql(place: str, *statements: str) -> None:
    async def on_postgres() -> None:
        connection = await asyncpg.connect(place, server_settings={"search_path": "interpose"})
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    if place.startswith("postgresql"):
        asyncio.run(on_postgres())
        return
    connection = sqlite3.connect(place)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_many_starters_make_one_store(place: str) -> None:
    starters = 8
    start = threading.Barrier(starters)

    def begin(number: int) -> None:
        start.wait()
        store = open_store(place)
        store.append([StoredEntry(writer=f"w{number}", seq=1, kind="decided", time_ns=1, prev=b"", hash=b"", body=b"")])
        store.close()

    with ThreadPoolExecutor(starters) as pool:
        list(pool.map(begin, range(starters)))
    store = open_store(place)
    assert len(store.writers()) == starters
    store.close()


def test_opening_again_changes_nothing(place: str) -> None:
    first = open_store(place)
    first.spend("name", 7, budget=9)
    first.close()
    again = open_store(place)
    assert again.spent("name") == 7
    again.close()


def test_a_later_step_is_applied_to_what_is_there(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_store(place)
    first.spend("name", 7, budget=9)
    first.close()
    for steps in ("SQLITE", "POSTGRES"):
        copied = "INSERT INTO later SELECT counter FROM counters"
        added = (*getattr(schema, steps), ("CREATE TABLE later (x TEXT)", copied))
        monkeypatch.setattr(schema, steps, added)
    with pytest.raises(OutdatedStoreError, match="schema 4"):
        opened_to_read(place)
    open_store(place).close()
    run_sql(place, "DELETE FROM later WHERE x = 'name'")
    opened_to_read(place).close()


def opened_to_read(place: str) -> Store:
    """As `open_store` does, but never for writing."""
    from interpose.record.store.postgres import PostgresStore

    return (PostgresStore if place.startswith("postgresql") else SqliteStore)(place, read_only=True)


def old_store(place: str, entries: Sequence[StoredEntry]) -> None:
    """A store as it was made and filled before entries had requests and rules."""
    columns = [name for name in COLUMNS if name not in ("request", "rules")]
    rows = [row_of(entry)[: len(columns)] for entry in entries]
    names = ", ".join(columns)
    if not place.startswith("postgresql"):
        with closing(sqlite3.connect(place)) as connection:
            for statement in (*schema.SQLITE[0], *schema.SQLITE[1], "PRAGMA user_version = 2"):
                connection.execute(statement)
            connection.executemany(f"INSERT INTO entries ({names}) VALUES ({', '.join('?' * len(columns))})", rows)
            connection.commit()
        return

    async def make() -> None:
        connection = await asyncpg.connect(place, server_settings={"search_path": "interpose"})
        made = ("CREATE SCHEMA interpose", "CREATE TABLE schema_version (version INTEGER NOT NULL)")
        for statement in (*made, *schema.POSTGRES[0], *schema.POSTGRES[1], "INSERT INTO schema_version VALUES (2)"):
            await connection.execute(statement)
        holders = ", ".join(f"${n}" for n in range(1, len(columns) + 1))
        await connection.executemany(f"INSERT INTO entries ({names}, grams) VALUES ({holders}, '{{}}')", rows)
        await connection.close()

    asyncio.run(make())


@pytest.mark.parametrize("read_only", [True, False])
def test_an_old_ledger_goes_on(place: str, read_only: bool) -> None:
    """Whoever comes first brings it up to date. Its chain verifies, and so does what is added to it."""
    chain = Chain("w")
    drafts = [Draft(kind="decided", body=b"{}", time_ns=n, call_id=f"c{n}", rule="old", text=f"t{n}") for n in range(9)]
    old_store(place, [chain.add(draft) for draft in drafts])
    with closing(open_store(place, read_only=read_only)) as store:
        assert verify(store).ok
        assert len(search(store, Query(rule="old"), 100)) == 9
    new = [
        Draft(kind="decided", body=b"{}", time_ns=10, call_id="new", request="req", rules=("mask",)),
        Draft(kind="finished", body=b"{}", time_ns=11, call_id="c3", request="req", rules=("old", "mask")),
        Draft(kind="decided", body=b"{}", time_ns=12, call_id="newer", rule="old"),
    ]
    with closing(open_store(place)) as store:
        store.append([chain.add(draft) for draft in new])
        assert verify(store).ok
        assert verify(store).entries == 12
        assert [one.call_id for one in search(store, Query(request="req"), 100)] == ["new", "c3"]
        assert [one.call_id for one in search(store, Query(rule="mask"), 100)] == ["new", "c3"]
        assert len(search(store, Query(rule="old"), 100)) == 10
    for column in ("request", "rules"):
        run_sql(place, f"UPDATE entries SET {column} = 'x' WHERE call_id = 'c2'")
        with closing(open_store(place)) as store:
            assert [broken.seq for broken in verify(store).broken] == [3]
        run_sql(place, f"UPDATE entries SET {column} = '' WHERE call_id = 'c2'")


def test_one_who_only_reads_needs_nobody_to_have_written(tmp_path: Path) -> None:
    """What is no ledger stays as it is: only one of an older version is brought up to date."""
    path = tmp_path / "other.db"
    run_sql(str(path), "CREATE TABLE mine (x TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="schema 0"):
        open_store(path, read_only=True)
    assert path.read_bytes() == before


def test_a_step_that_fails_leaves_nothing_behind(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(place).close()
    for steps in ("SQLITE", "POSTGRES"):
        broken = (*getattr(schema, steps), ("CREATE TABLE later (x TEXT)", "no statement at all"))
        monkeypatch.setattr(schema, steps, broken)
    with pytest.raises(StoreError):
        open_store(place)
    monkeypatch.undo()
    open_store(place).close()
    run_sql(place, "CREATE TABLE later (x TEXT)")


def test_a_newer_store_is_refused(place: str) -> None:
    open_store(place).close()
    newer = "UPDATE schema_version SET version = 99" if place.startswith("postgresql") else "PRAGMA user_version = 99"
    run_sql(place, newer)
    for read_only in (False, True):
        with pytest.raises(StoreError, match="99"):
            open_store(place, read_only=read_only)


NO_STORES = [
    ("not a database", lambda path: path.write_bytes(b"hello " * 1000)),
    ("a directory", lambda path: path.mkdir()),
    ("a directory that can't be made", lambda path: path.parent.joinpath("ledger.db").write_text("x")),
]


@pytest.mark.parametrize(("note", "spoil"), NO_STORES, ids=[note for note, _ in NO_STORES])
def test_what_is_no_store_is_refused_clearly(note: str, spoil: object, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    assert callable(spoil)
    spoil(path)
    where = path / "below" / "ledger.db" if "made" in note else path
    for read_only in (False, True):
        with pytest.raises(StoreError):
            open_store(where, read_only=read_only)


def test_a_server_that_is_not_there_is_refused_clearly(tmp_path: Path) -> None:
    from interpose.record.store.postgres import PostgresStore

    with pytest.raises(StoreError):
        PostgresStore(f"postgresql://postgres@/none?host={tmp_path}", timeout=0.3)
    with pytest.raises(StoreError):
        PostgresStore("postgresql://postgres@/none?host=", timeout=0.3)


def test_a_role_that_may_not_make_tables_can_use_them(server: Server) -> None:
    address = server.new_database()
    open_store(address).close()
    run_sql(
        address,
        "CREATE ROLE plain LOGIN",
        "GRANT USAGE ON SCHEMA interpose TO plain",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA interpose TO plain",
    )
    store = open_store(address.replace("postgres@", "plain@"))
    store.append([StoredEntry(writer="w", seq=1, kind="decided", time_ns=1, prev=b"", hash=b"", body=b"")])
    assert store.spend("c", 1, budget=1) == 1
    store.close()
