"""A lock that another process keeps is waited for once, not with every statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from interpose.core.errors import StoreError
from interpose.record.store.lock_patience import HASTY_SECONDS
from interpose.record.store.sqlite import SqliteStore

BUSY = 0.5


@contextmanager
def held(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


def test_only_the_first_statement_waits_long(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ledger.db", busy_seconds=BUSY)
    try:
        assert store._patience.seconds == BUSY
        with held(store.path):
            for _ in range(3):
                with pytest.raises(StoreError, match="locked"):
                    store.save_session("s", b"{}", version=0, now_ns=1)
                assert store._patience.seconds == HASTY_SECONDS
        assert store.save_session("s", b"{}", version=0, now_ns=1)
        assert store._patience.seconds == BUSY, "the lock is free: whoever meets the next one waits for it again"
        assert store._writable().execute("PRAGMA busy_timeout").fetchall() == [(int(BUSY * 1000),)]
    finally:
        store.close()


def test_what_is_wrong_otherwise_makes_nobody_hasty(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "ledger.db", busy_seconds=BUSY)
    try:
        with pytest.raises(StoreError):
            store.read("SELECT nothing FROM nowhere")
        assert store._patience.seconds == BUSY
        with store._patience.statement(store._writable()), pytest.raises(ZeroDivisionError):
            raise ZeroDivisionError
    finally:
        store.close()
