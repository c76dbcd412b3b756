"""Both stores, for tests that ask for `place`: each test gets an empty one, all of a process one server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.store import open_store
from interpose.store.protocols import Store
from tests.postgres import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL server for all tests of this process."""
    with Server() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made: a path or an address."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    server: Server = request.getfixturevalue("server")
    return server.new_database()


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    """An empty store."""
    opened = open_store(place)
    yield opened
    opened.close()
