"""Where entries and shared state are kept: SQLite in one file, or PostgreSQL for many machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interpose.store.protocols import Store

# `protocols` is a module, named and not imported.
__all__ = ["POSTGRES_SCHEMES", "open_store", "protocols"]

POSTGRES_SCHEMES = ("postgresql://", "postgres://")


def open_store(where: str | Path, *, read_only: bool = False) -> Store:
    """The store at a path or a `postgresql://` address, made and brought up to date unless it is only read."""
    text = str(where)
    if text.startswith(POSTGRES_SCHEMES):
        from interpose.store.postgres import PostgresStore

        return PostgresStore(text, read_only=read_only)
    from interpose.store.sqlite import SqliteStore

    return SqliteStore(text, read_only=read_only)
