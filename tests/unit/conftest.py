"""What tests of one process share: both stores for those that ask for `place`, and no disk that they wait for."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from interpose.record.store import open_store
from interpose.record.store.protocols import Store
from tests.support.servers.postgres import Server


class UnsyncedConnection(sqlite3.Connection):
    """A connection to a database that is thrown away: it waits for no disk, however durable a store wants to be."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        with suppress(sqlite3.Error):  # what is no database is found out by whoever uses it
            super().execute(_UNSYNCED)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        return super().execute(_UNSYNCED if sql.startswith("PRAGMA synchronous") else sql, parameters)


_UNSYNCED = "PRAGMA synchronous = OFF"


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_the_disk() -> Iterator[None]:
    """No test here pulls the plug, and the kernel keeps what a killed process wrote. What is synced, and when, is
    looked at in `tests/faults`."""
    connect = sqlite3.connect

    def connect_unsynced(*args: Any, **options: Any) -> sqlite3.Connection:
        made: sqlite3.Connection = connect(*args, **{"factory": UnsyncedConnection} | options)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect_unsynced)
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, os.fstat, raising=False)  # which fails for what is no file, too
        yield


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server for all tests of this process."""
    with Server() as started:
        yield started


@pytest.fixture
def postgres_address(server: Server) -> Iterator[str]:
    """An empty database of that server."""
    with server.empty_database() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made: a path or an address."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    address: str = request.getfixturevalue("postgres_address")
    return address


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """An empty store."""
    opened = open_store(place)
    yield opened
    opened.close()
