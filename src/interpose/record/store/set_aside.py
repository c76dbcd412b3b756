"""A SQLite file that can't be read any more is set aside, and what it was before its last writes takes its place."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from interpose.core.errors import DamagedStoreError, StoreError
from interpose.record.store.sqlite import SqliteStore

_BESIDE = ("", "-wal", "-shm")


def set_aside_if_damaged(path: Path, aside: Path) -> str:
    """Why a ledger's file was moved to the folder `aside`; empty if it is whole, or if there is none.

    INVARIANT: nothing is deleted. The three files of a database stay together: whoever has them open goes on with them.
    """
    why = _damage(path)
    if not why:
        return ""
    aside.mkdir(parents=True, exist_ok=True, mode=0o700)
    for end in _BESIDE:
        if (file := Path(f"{path}{end}")).exists():
            file.rename(aside / file.name)
    kept = aside / path.name
    if kept.exists() and kept.stat().st_size:
        shutil.copyfile(kept, path)  # without its log: as it was at the last checkpoint
        path.chmod(0o600)
        if _damage(path):
            path.unlink()  # a copy of what lies in `aside`
    return why


def _damage(path: Path) -> str:
    if not path.is_file():
        return "it is gone, and its log is left" if Path(f"{path}-wal").exists() else ""
    try:
        store = SqliteStore(path)
        try:
            found = store.read("PRAGMA quick_check(1)")
            store.read("SELECT count(*) FROM entries WHERE seq < 0 OR length(hash) <> 32")
        finally:
            store.close()
    except StoreError as error:
        if isinstance(error, DamagedStoreError) or isinstance(error.__cause__, sqlite3.Error):
            return str(error)
        raise
    return "" if found == [("ok",)] else str(found[0][0])
