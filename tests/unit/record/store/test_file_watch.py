"""The watch over an open database file, beside connections that come and go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interpose.record.store import file_watch
from interpose.record.store.file_watch import DatabaseWatch

MAGIC = b"SQLite format 3\0"


def healthy() -> str:
    return ""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    path.write_bytes(MAGIC + bytes(100))
    return path


def closed_meanwhile(path: Path, patched: pytest.MonkeyPatch) -> None:
    """The handle that is found is another connection's, which closes it before it is read."""
    found = file_watch._handle_of

    def gone(identity: tuple[int, int]) -> int:
        other = os.open(path, os.O_RDONLY)
        number = found(identity)
        os.close(other)
        return number

    patched.setattr(file_watch, "_handle_of", gone)


def test_a_handle_that_is_closed_meanwhile_is_no_failure(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed_meanwhile(database, monkeypatch)
    watch = DatabaseWatch(database, healthy)
    database.write_bytes(MAGIC + bytes(200))
    assert watch.look() == ""


def test_another_file_with_the_number_of_a_closed_handle_is_not_looked_at(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking whose handle it is and reading it, another thread may open another file."""
    other = tmp_path / "other"
    other.write_bytes(b"no database at all")
    ours = os.open(database, os.O_RDONLY)
    try:
        watch = DatabaseWatch(database, healthy)
        database.write_bytes(MAGIC + bytes(200))
        read = os.pread

        def swapped(handle: int, count: int, offset: int) -> bytes:
            foreign = os.open(other, os.O_RDONLY)
            os.dup2(foreign, handle)
            os.close(foreign)
            return read(handle, count, offset)

        monkeypatch.setattr(os, "pread", swapped)
        assert watch.look() == ""
    finally:
        os.close(ours)


def test_a_database_that_was_overwritten_is_noticed(database: Path) -> None:
    ours = os.open(database, os.O_RDONLY)
    try:
        watch = DatabaseWatch(database, healthy)
        assert watch.look() == ""
        database.write_bytes(b"x" * 200)
        assert watch.look() == f"{database} was overwritten"
    finally:
        os.close(ours)
