"""After a crash: what writers left in their journals goes to the store, and what was torn is noted in the chain."""

from __future__ import annotations

import os
from pathlib import Path
from time import time_ns

from msgspec import Struct
from msgspec.json import encode

from interpose.errors import LedgerError
from interpose.ledger.chain import Chain, Draft
from interpose.ledger.folder import Folder
from interpose.ledger.journal import remains
from interpose.store.protocols import EntryStore

_BATCH = 1000
JOURNALS = "journals"


class Repair(Struct, frozen=True, omit_defaults=True):
    """What recovery found: entries that only the journal had, and bytes at its end that were no entry."""

    recovered: int = 0
    torn_bytes: int = 0
    broken: str = ""


def recover(folder: Folder, writer: str, store: EntryStore) -> Chain:
    """Bring a writer's journal into the store, take the files away, and say where its chain ends. Needs its lock."""
    head = store.head(writer)
    chain = Chain(writer) if head is None else Chain(writer, head.seq, head.hash)
    left = remains(folder, writer, chain.seq, chain.head)
    for at in range(0, len(left.entries), _BATCH):
        store.append(left.entries[at : at + _BATCH], durable=True)
    if left.entries:
        chain = Chain(writer, left.entries[-1].seq, left.entries[-1].hash)
    if left.torn_bytes or left.broken:
        note = Repair(recovered=len(left.entries), torn_bytes=left.torn_bytes, broken=left.broken)
        store.append([chain.add(Draft(kind="repair", body=encode(note), time_ns=time_ns()))], durable=True)
    for name in folder.names():
        if left.broken:
            folder.set_aside(name)
        else:
            folder.remove(name)
    return chain


def recover_all(directory: Path, store: EntryStore) -> int:
    """Recover the journals of all writers that have ended. Says how many there were."""
    count = 0
    for path in sorted((directory / JOURNALS).glob("*/")):
        folder = Folder(path)
        lock = folder.lock()
        if lock is None:
            continue  # alive: it ships by itself
        try:
            if folder.names():
                recover(folder, path.name, store)
                count += 1
        finally:
            os.close(lock)
    return count


def claim(directory: Path) -> tuple[Folder, int]:
    """A journal of our own, with its lock: that of a writer that has ended, or a new one."""
    try:
        for path in sorted((directory / JOURNALS).glob("*/")):
            folder = Folder(path)
            if (lock := folder.lock()) is not None:
                return folder, lock
        folder = Folder(directory / JOURNALS / f"w{os.urandom(6).hex()}")
        lock = folder.lock()
    except OSError as error:
        raise LedgerError(f"no journal can be kept under {directory}: {error}") from error
    if lock is None:
        raise LedgerError(f"{folder.path} was locked by somebody else as soon as it was made")
    return folder, lock
