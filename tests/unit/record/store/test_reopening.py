"""A SQLite store that goes on with other files, after somebody was at those that it had open."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.core.errors import StoreError
from interpose.record.ledger.chain import Chain, Draft
from interpose.record.store import open_store
from interpose.record.store.protocols import StoredEntry
from interpose.record.store.sqlite import SqliteStore

_SOMEBODY = """
import sys
from interpose.record.store import open_store
from tests.unit.record.store.test_reopening import entries
store = open_store(sys.argv[1])
store.append(entries(sys.argv[2]), durable=True)
store.close()
"""
MANY = 300


def entries(writer: str, count: int = MANY) -> list[StoredEntry]:
    chain = Chain(writer)
    drafts = (Draft(kind="decided", body=b"x" * 3000, time_ns=1, call_id=f"{writer}-{at}") for at in range(count))
    return [chain.add(draft) for draft in drafts]


def _somebody_writes(path: Path, writer: str) -> None:
    subprocess.run([sys.executable, "-c", _SOMEBODY, str(path), writer], check=True, cwd=Path(__file__).parents[4])


def _set_aside(path: Path) -> None:
    """As `audit recover` does with a database that can't be read."""
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").rename(path.with_name(f"aside{end}"))


def _seq(store: SqliteStore, writer: str) -> int:
    head = store.head(writer)
    return head.seq if head else 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


def test_a_log_that_others_took_away_is_not_written_into_the_file(path: Path) -> None:
    """Seen to fail where the writer closed last: pages of before were written over what others wrote since."""
    store = SqliteStore(path)
    mine = entries("mine", MANY + 50)
    store.append(mine[:MANY], durable=True)
    assert not store.tampered()
    path.open("rb").close()  # as a tool of this process does that reads the file: SQLite's locks are gone with it
    _somebody_writes(path, "somebody")
    assert "ledger.db-wal was removed" in store.tampered()
    store.append(mine[MANY:], durable=True)  # whoever looked just before it was so
    _somebody_writes(path, "another")
    store.reopen()
    assert store.read("PRAGMA quick_check(1)") == [("ok",)]
    assert [_seq(store, writer) for writer in ("mine", "somebody", "another")] == [MANY, MANY, MANY]
    store.close()


def test_nothing_is_indexed_in_a_file_that_somebody_was_at(path: Path) -> None:
    store = SqliteStore(path)
    store.append(entries("mine"), durable=True)
    path.rename(path.with_name("elsewhere"))
    assert "was removed" in store.tampered()
    with pytest.raises(StoreError, match="was removed"), store._indexing():
        pass
    store.close()


def test_what_only_the_old_file_has_is_rescued_however_many_tries_it_takes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail where the first try let go of the old file."""
    store = SqliteStore(path)
    store.append(entries("mine"), durable=True)
    _set_aside(path)

    def locked(_: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteStore, "_open_for_writing", locked)
        for _ in range(2):
            with pytest.raises(StoreError, match="locked"):
                store.reopen()
    store.reopen()
    assert _seq(store, "mine") == MANY
    store.close()


def test_a_reader_of_before_never_reads_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to fail where a reader that was busy meanwhile was kept for the next one."""
    store = SqliteStore(path)
    store.append(entries("mine"), durable=True)
    fetch = SqliteStore.read.__globals__["_fetched"]

    def meanwhile(connection: sqlite3.Connection, sql: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
        monkeypatch.undo()
        _set_aside(path)
        path.with_name("other").rename(path)
        store.reopen()
        found: list[tuple[object, ...]] = fetch(connection, sql, values)
        return found

    other = open_store(path.with_name("other"))
    other.append(entries("other"))
    other.close()
    monkeypatch.setattr("interpose.record.store.sqlite._fetched", meanwhile)
    assert store.writers() == ["mine"]
    assert store.writers() == ["mine", "other"]
    store.close()
