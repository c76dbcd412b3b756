"""Tables are made once, also when many start at the same moment, and never by an older version."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import pytest

from interpose.errors import StoreError
from interpose.store import open_store, schema
from interpose.store.protocols import StoredEntry
from tests.postgres import Server


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
    with pytest.raises(StoreError, match="schema 2"):
        open_store(place, read_only=True)
    open_store(place).close()
    run_sql(place, "DELETE FROM later WHERE x = 'name'")
    open_store(place, read_only=True).close()


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
    from interpose.store.postgres import PostgresStore

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
