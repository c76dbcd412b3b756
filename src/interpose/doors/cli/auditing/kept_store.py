"""The store that is configured, for verbs that only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from interpose.core.config.settings import Config
from interpose.core.errors import DamagedStoreError, StoreError, text_of
from interpose.doors.hooks.install.situation import ledger_gone
from interpose.record.store import POSTGRES_SCHEMES, is_kept, open_kept
from interpose.record.store.protocols import Store


def with_remedy(error: Exception) -> str:
    """What went wrong with a store, and what to do where it is damaged."""
    said = text_of(error)
    if isinstance(error, DamagedStoreError) and "`interpose audit recover`" not in said:
        return f"{said}. `interpose audit recover` sets it aside and deletes nothing"
    return said


def was_kept(config: Config) -> bool:
    """Whether anything was kept in this home yet. Raises StoreError if it is gone."""
    where, directory = _place(config)
    require_not_gone(where, directory)
    return where.startswith(POSTGRES_SCHEMES) or is_kept(where)


def _place(config: Config) -> tuple[str, Path]:
    directory = Path(config.ledger.directory)
    return config.store.url or str(directory / "ledger.db"), directory


@contextmanager
def kept_store(config: Config, *, read_only: bool = True) -> Iterator[Store]:
    """What is kept: empty in a home in which nothing was kept yet. Raises StoreError."""
    where, directory = _place(config)
    require_not_gone(where, directory)
    store = open_kept(where, read_only=read_only)
    try:
        yield store
    finally:
        store.close()


def require_not_gone(where: str, directory: Path) -> None:
    """INVARIANT: a ledger that was deleted is an error, and never reads as one in which nothing was recorded yet."""
    if not where.startswith(POSTGRES_SCHEMES) and not is_kept(where) and (gone := ledger_gone(directory)):
        raise StoreError(f"{where}: {gone}")
