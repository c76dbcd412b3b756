"""A SQLite store closes every connection that it opened: when it is closed, and when it could not be opened at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from interpose.core.errors import StoreError
from interpose.record.store import schema
from interpose.record.store.sqlite import SqliteStore
from tests.unit.record.store.test_reopening import entries

_connect = sqlite3.connect


def is_open(connection: sqlite3.Connection) -> bool:
    try:
        connection.total_changes  # noqa: B018 - a closed connection raises here
    except sqlite3.ProgrammingError:
        return False
    return True


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Every connection of the test. Held here, so that the garbage collector closes none of them."""
    made: list[sqlite3.Connection] = []

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        made.append(_connect(*args, **options))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", connect)
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def _is_no_database(path: Path) -> None:
    path.write_bytes(b"no database " * 1000)


def _has_another_schema(path: Path) -> None:
    with closing(_connect(path)) as database:
        database.execute(f"PRAGMA user_version = {len(schema.SQLITE) + 1}")


def _has_no_entries(path: Path) -> None:
    """The version is ours, so that opening it gets as far as the first statement."""
    with closing(_connect(path)) as database:
        database.execute(f"PRAGMA user_version = {len(schema.SQLITE)}")


UNUSABLE = [
    (False, _is_no_database), (False, _has_another_schema), (False, _has_no_entries),
    (True, _is_no_database), (True, _has_another_schema),
]  # fmt: skip


@pytest.mark.parametrize(("read_only", "spoil"), UNUSABLE)
def test_a_store_that_can_not_be_opened_leaves_no_connection(
    path: Path, connections: list[sqlite3.Connection], read_only: bool, spoil: Callable[[Path], None]
) -> None:
    spoil(path)
    with pytest.raises(StoreError):
        SqliteStore(path, read_only=read_only)
    assert connections
    assert not any(map(is_open, connections))


def test_closing_a_store_closes_its_readers_and_its_writer(path: Path, connections: list[sqlite3.Connection]) -> None:
    store = SqliteStore(path)
    store.append(entries("mine", 3))
    assert store.writers() == ["mine"]
    with pytest.raises(StoreError, match="no such table"):
        store.read("SELECT 1 FROM missing")
    store.close()
    assert len(connections) > 1
    assert not any(map(is_open, connections))


def test_closing_a_store_closes_files_that_were_never_rescued(
    path: Path, connections: list[sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(_: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database is locked")

    store = SqliteStore(path)
    store.append(entries("mine", 3), durable=True)
    path.rename(path.with_name("elsewhere"))
    monkeypatch.setattr(SqliteStore, "_open_for_writing", locked)
    with pytest.raises(StoreError, match="locked"):
        store.reopen()
    assert any(map(is_open, connections)), "the moved file is kept open until its entries are rescued"
    store.close()
    assert not any(map(is_open, connections))
