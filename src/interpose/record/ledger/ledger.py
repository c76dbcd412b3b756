"""A ledger that is open for writing: its keys, its journal, its store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Self

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.config.ledger import LedgerSettings, LogSettings
from interpose.core.errors import LedgerError, StoreError
from interpose.core.formats.own_files import why_not_ours
from interpose.core.formats.unwritable import unwritable
from interpose.core.types import Context, ToolCall
from interpose.record.ledger.anchor_places import places_of
from interpose.record.ledger.bodies import Bodies
from interpose.record.ledger.chain import Chain
from interpose.record.ledger.checkpoints import Broken, Head, Heads, recovered
from interpose.record.ledger.folder import Folder
from interpose.record.ledger.journal import SEGMENT_BYTES, Damage, Journal
from interpose.record.ledger.keys import make_keys
from interpose.record.ledger.recorder import LedgerRecorder
from interpose.record.ledger.recovery import Recovery, claim, recover, recover_all
from interpose.record.ledger.shipping import Shipping
from interpose.record.ledger.steady_clock import SteadyClock
from interpose.record.ledger.writer import Storage, Writer
from interpose.record.store.protocols import EntryStore

if TYPE_CHECKING:
    from interpose.record.ledger.anchoring import Anchoring
    from interpose.record.ledger.log import Log
    from interpose.record.ledger.retention import Retention

CLOSING = 10.0
_ATTEMPTS, _PAUSE = 50, 0.1
_PARTING = 2.0
_LOW_SPACE = 1 << 30
"""Bytes, or a twentieth of a smaller disk: less than that is said."""


class LedgerStatus(Struct, frozen=True, kw_only=True):
    """How a ledger fares. `late` are entries that wait for the storage to come back, `lost` those that nobody kept.

    The problems are empty while all is well: of the journal or the store, of the log file, of retention, of anchors,
    of the space on the disk.
    """

    recorded: int
    late: int
    lost: int
    problem: str
    log_lost: int
    log_problem: str
    retention_problem: str
    anchor_problem: str = ""
    space_problem: str = ""


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
        self._journals, self._segment_bytes = journals, segment_bytes
        make_directory(directory)
        self.keys, self._recovery = make_keys(directory), Recovery(directory)
        self._recovered: tuple[Storage, tuple[Broken, ...]] | None = None
        storage = self._open_storage()
        self.writer = Writer(storage, self.settings, self._renewed)
        bodies = Bodies(self.keys, include_argument_values=self.settings.include_argument_values)
        log = self.settings.log
        self._log = _log(directory, log, self.settings.deadline) if log.path else None
        self.recorder = LedgerRecorder(self.writer, bodies, self.settings, self._log)
        self.clock = SteadyClock(directory, int(2e9 * self.settings.retain_every))
        self._retention = _retention(self) if self.settings.retains else None
        self._anchoring: Anchoring | None = None
        if places := places_of(self.settings.anchor):
            from interpose.record.ledger.anchoring import Anchoring

            every = self.settings.anchor.every
            self._anchoring = Anchoring(places, self._known_heads, self.keys.checkpoints, every)

    def _open_storage(self) -> Storage:
        self.keys = make_keys(self.directory, self.keys)
        recover_all(self.directory, self.store)
        self._heads = Heads(self.directory, self.keys.checkpoints)
        claimed = claim(self.directory, self.store, self._heads)
        self._folder, self._lock = claimed.folder, claimed.lock
        self.writer_name = claimed.folder.path.name
        self._shipping = Shipping(self.store, self.writer_name, claimed.chain.seq, self._keep_head)
        journal = Journal(self._journals(claimed.folder.path), segment_bytes=self._segment_bytes)
        return Storage(claimed.chain, journal, self._shipping, self.keys.checkpoints, self._glance)

    def _glance(self) -> str:
        self._recovery.look_again()
        return self.store.tampered()

    def _reopen_store(self) -> None:
        """Whoever recovered the files may still be closing them. Raises StoreError if they can't be had for long."""
        for left in range(_ATTEMPTS, 0, -1):
            try:
                self.store.reopen()
            except StoreError:
                if left == 1:
                    raise
                sleep(_PAUSE)
            else:
                return

    def _renewed(self, why: str, end: Chain) -> Storage | None:
        """Other storage, once `audit recover` was run because somebody was at this one. In the writer's thread.

        What this process still knows is not lost, whatever became of the files that it was written to.
        """
        if self._recovered is None:
            if not self._recovery.is_done(self.writer_name, why):
                return None
            self._recovered = self._recover(why, end)
        # INVARIANT: whatever fails here or before is tried again; nothing of what this process knows is given up.
        storage, breaks = self._recovered
        chain = storage.chain.copy()
        entry = chain.add(recovered(breaks, storage.key))
        storage.journal.append([entry], sync=True)
        storage.shipping.add([entry])
        self._recovered = None
        self._recovery.went_on()
        return replace(storage, chain=chain)

    def _recover(self, why: str, end: Chain) -> tuple[Storage, tuple[Broken, ...]]:
        unshipped = self._shipping.stop()
        self._reopen_store()
        make_directory(self.directory)
        old, folder = self.writer_name, Folder(self._folder.path)
        place = str(self._folder.path.relative_to(self.directory))
        tampered = Damage(old, end.seq + 1, place, why)
        chain, damages = recover(folder, old, self.store, known=(tampered,), end=end, remembered=unshipped)
        self._keep_head(Head(old, chain.seq, chain.head.hex()))
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)
        breaks = [Broken(old, damage.seq, why) for damage in damages]
        breaks += [Broken(writer, 0, why) for writer in self._heads.missing(self.store.writers())]
        return self._open_storage(), tuple(breaks)

    def _known_heads(self) -> tuple[Head, ...]:
        kept = (head for _, head in self._heads.all() if head is not None)
        return tuple(one for head in kept for one in head.heads if one.seq)

    def status(self) -> LedgerStatus:
        """How the ledger fares."""
        writer, log = self.writer.status(), self._log
        return LedgerStatus(
            recorded=writer.recorded, late=writer.late, lost=writer.lost, problem=writer.problem,
            log_lost=0 if log is None else log.lost, log_problem="" if log is None else log.problem,
            retention_problem="" if self._retention is None else self._retention.problem,
            space_problem=self._space_problem(),
            anchor_problem="" if self._anchoring is None else self._anchoring.problem,
        )  # fmt: skip

    def _space_problem(self) -> str:
        """That the disk is nearly full; empty if it is not. It is said in time: when it is full, calls are refused."""
        try:
            disk = os.statvfs(self.directory)
        except OSError:
            return ""
        free = disk.f_bavail * disk.f_frsize
        if not disk.f_blocks or free >= min(_LOW_SPACE, disk.f_blocks * disk.f_frsize // 20):
            return ""
        remedy = "free some" if self.settings.retains else "set ledger.max_bytes or ledger.max_age_days, or free some"
        return (
            f"{free >> 20} MB are left on the disk of {self.directory}, and calls are denied when it is full: {remedy}"
        )

    def open_call(self, context: Context, call: ToolCall, since_ns: int = 0) -> str:
        """The id of the newest call like this one that was let through since then and has no outcome; empty if there is
        none.

        Looks into the store: what another process recorded is found there when it has ended.
        """
        from interpose.record.ledger.record import unfinished

        who, digest = self.recorder.bodies.recognised(replace(call, context=context))
        try:
            return unfinished(
                self.store, session=who.session, tool=call.name, source=context.source, digest=digest, since_ns=since_ns
            )
        except StoreError:
            return ""  # then the outcome has a record of its own, which says so

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
        if self._anchoring is not None:
            self._anchoring.close(_PARTING)
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
            self._heads.keep(head)
        except OSError:
            pass  # the head is one more proof; the chain holds without it


def _log(directory: Path, settings: LogSettings, deadline: float) -> Log:
    from interpose.record.ledger.log import Log

    return Log(directory, settings, deadline)


def _retention(ledger: Ledger) -> Retention:
    from interpose.record.ledger.retention import Retention

    return Retention(ledger)


def make_directory(directory: Path) -> None:
    """Make a ledger's directory, for its owner only. LedgerError if that is not possible."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LedgerError(f"the ledger's directory can't be made: {unwritable(directory, error)}") from error
    for path in (directory, directory / "ledger.db"):
        if path.exists() and (why := why_not_ours(path, path.stat())):
            raise LedgerError(f"the ledger can't be used: {path}: {why}")
