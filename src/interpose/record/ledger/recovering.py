"""`interpose audit recover`: after somebody was at the ledger's files, set aside what is damaged, and go on.

Nothing is deleted. What is broken stays broken and is said by every `audit verify`; a signed note at the beginning of a
new chain says that somebody knows of it. Processes that refuse calls because of it go on by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from interpose.record.ledger.checkpoints import Broken, recovered
from interpose.record.ledger.folder import Folder
from interpose.record.ledger.keys import load_keys
from interpose.record.ledger.ledger import Ledger, make_directory
from interpose.record.ledger.recovery import JOURNALS, Recovery, recover_all
from interpose.record.ledger.verification import verify_directory
from interpose.record.store.protocols import EntryStore


class RecoveryReport(Struct, frozen=True, kw_only=True):
    """What was found and done. `waiting` are the alarms of processes that refused calls, and go on now."""

    set_aside: str = ""
    broken: tuple[Broken, ...] = ()
    entries: int = 0
    chain: str = ""
    waiting: tuple[str, ...] = ()


def recover_ledger(directory: Path, open_store: Callable[[], EntryStore], set_aside: str = "") -> RecoveryReport:
    """Recover a ledger whose store can be opened. `set_aside` says what was done to its file before.

    Raises LedgerError, StoreError or OSError.
    """
    make_directory(directory)
    recovery = Recovery(directory)
    waiting = recovery.alarms()
    if waiting and load_keys(directory) is None:
        # Everything is gone but what a process knows, its key included: it puts back what it has.
        recovery.done()
        return RecoveryReport(set_aside=set_aside, waiting=waiting)
    store = open_store()
    try:
        recover_all(directory, store)
        entries = store.reindex()
        broken = verify_directory(directory, store).broken
        for writer in {one.writer for one in broken if one.writer}:
            if (path := directory / JOURNALS / writer).is_dir():
                Folder(path).retire("audit recover: its chain is broken")
        with Ledger(directory, store) as ledger:
            if set_aside:
                broken = (*broken, Broken("", 0, set_aside))
            if broken:
                ledger.writer.submit((recovered(broken, ledger.keys.checkpoints),), keep=False).wait()
            ledger.flush()
            chain = ledger.writer_name
    finally:
        store.close()
    recovery.done()
    return RecoveryReport(set_aside=set_aside, broken=broken, entries=entries, chain=chain, waiting=waiting)
