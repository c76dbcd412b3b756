"""Where entries and shared state are kept: SQLite in one file, or PostgreSQL for many machines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from interpose.core.errors import OutdatedStoreError, StoreError

if TYPE_CHECKING:
    from interpose.record.store.protocols import Store

# `protocols` and `set_aside` are modules, named and not imported.
__all__ = ["POSTGRES_SCHEMES", "is_kept", "open_kept", "open_store", "protocols", "set_aside"]

POSTGRES_SCHEMES = ("postgresql://", "postgres://")


def open_store(where: str | Path, *, read_only: bool = False) -> Store:
    """The store at a path or a `postgresql://` address, brought up to date, and made unless it is only read."""
    try:
        return _opened(str(where), read_only=read_only)
    except OutdatedStoreError as outdated:
        # Who only reads is often the first to come after an update, and must not have to wait for one who writes.
        try:
            _opened(str(where), read_only=False).close()
        except StoreError as error:
            raise error from outdated
        return _opened(str(where), read_only=read_only)


def open_kept(where: str | Path, *, read_only: bool = True) -> Store:
    """The store at a path or an address. Where no file is yet, an empty one for reading; no file is made."""
    text = str(where)
    if text.startswith(POSTGRES_SCHEMES) or is_kept(text):
        return open_store(text, read_only=read_only)
    from interpose.record.store.empty import EmptyStore

    return EmptyStore(text)


def is_kept(path: str | Path) -> bool:
    """Whether anything lies at a path. What can't be looked at is not taken for nothing."""
    try:
        Path(path).lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return True


def _opened(text: str, *, read_only: bool) -> Store:
    if text.startswith(POSTGRES_SCHEMES):
        from interpose.record.store.postgres import PostgresStore

        return PostgresStore(text, read_only=read_only)
    from interpose.record.store.sqlite import SqliteStore

    return SqliteStore(text, read_only=read_only)
