"""A ledger that is open for writing: its keys, its journal, its store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Self

from msgspec import Struct

from interpose.errors import LedgerError
from interpose.formats.own_files import why_not_ours
from interpose.ledger.bodies import Bodies
from interpose.ledger.checkpoints import Head, Heads
from interpose.ledger.folder import Folder
from interpose.ledger.journal import SEGMENT_BYTES, Journal
from interpose.ledger.keys import make_keys
from interpose.ledger.log import Log
from interpose.ledger.recorder import LedgerRecorder
from interpose.ledger.recovery import claim, recover, recover_all
from interpose.ledger.retention import Retention
from interpose.ledger.settings import LedgerSettings
from interpose.ledger.shipping import Shipping
from interpose.ledger.writer import Writer
from interpose.store.protocols import EntryStore

CLOSING = 10.0


class LedgerStatus(Struct, frozen=True, kw_only=True):
    """How a ledger fares. `late` are entries that wait for the storage to come back, `lost` those that nobody kept.

    The problems are empty while all is well: of the journal or the store, of the log file, of retention.
    """

    recorded: int
    late: int
    lost: int
    problem: str
    log_lost: int
    log_problem: str
    retention_problem: str


class Ledger:
    """Opened once for each process; any number of threads may use it.

    What an earlier process left in its journal is in the store when this returns.
    """

    def __init__(
        self,
        directory: Path,
        store: EntryStore,
        settings: LedgerSettings | None = None,
        *,
        journals: Callable[[Path], Folder] = Folder,
        segment_bytes: int = SEGMENT_BYTES,
        owns_store: bool = False,
    ) -> None:
        """With `owns_store`, closing the ledger closes the store. `journals` makes the folder of the journal."""
        self.directory, self.store, self._owns_store = directory, store, owns_store
        self.settings = settings or LedgerSettings()
        make_directory(directory)
        self.keys = make_keys(directory)
        recover_all(directory, store)
        folder, self._lock = claim(directory)
        self.writer_name = folder.path.name
        chain = recover(folder, self.writer_name, store)
        self._heads = Heads(directory)
        self._shipping = Shipping(store, self.writer_name, chain.seq, self._keep_head)
        journal = Journal(journals(folder.path), segment_bytes=segment_bytes)
        self.writer = Writer(chain, journal, self._shipping, self.settings, self.keys.checkpoints)
        bodies = Bodies(self.keys, include_argument_values=self.settings.include_argument_values)
        log = self.settings.log
        self._log = Log(directory, log, self.settings.deadline) if log.path else None
        self.recorder = LedgerRecorder(self.writer, bodies, self.settings, self._log)
        self._retention = Retention(self) if self.settings.retains else None

    def status(self) -> LedgerStatus:
        """How the ledger fares."""
        writer, log = self.writer.status(), self._log
        return LedgerStatus(
            recorded=writer.recorded, late=writer.late, lost=writer.lost, problem=writer.problem,
            log_lost=0 if log is None else log.lost, log_problem="" if log is None else log.problem,
            retention_problem="" if self._retention is None else self._retention.problem,
        )  # fmt: skip

    def flush(self, timeout: float = CLOSING) -> bool:
        """Wait until the store has everything that was recorded. False if it did not take it in time."""
        return self.writer.flush() and self._shipping.flush(timeout)

    def close(self, timeout: float = CLOSING) -> None:
        """Write what is queued, with a checkpoint at the end. Closing twice is fine."""
        if self._retention is not None:
            self._retention.close(timeout)
        self.writer.close(timeout)
        if self._log is not None:
            self._log.close(timeout)
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _keep_head(self, head: Head) -> None:
        try:
            self._heads.keep(head, self.keys.checkpoints)
        except OSError:
            pass  # the head is one more proof; the chain holds without it


def make_directory(directory: Path) -> None:
    """Make a ledger's directory, for its owner only. LedgerError if that is not possible."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LedgerError(f"the ledger's directory {directory} can't be made: {error.strerror}") from error
    for path in (directory, directory / "ledger.db"):
        if path.exists() and (why := why_not_ours(path, path.stat())):
            raise LedgerError(f"the ledger can't be used: {path}: {why}")
