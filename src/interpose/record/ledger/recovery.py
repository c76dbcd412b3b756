"""After a crash: what writers left in their journals goes to the store, and what was torn is noted in the chain.

What was damaged is left out, named in a note at the end of its chain, and kept beside the journal. Such a chain is
retired: nobody goes on with it, and new entries go to a new one. So one flipped bit stops nothing, and is never hidden.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from time import time_ns

from msgspec import Struct
from msgspec.json import encode

from interpose.core.errors import LedgerError
from interpose.core.formats.unwritable import unwritable
from interpose.record.ledger.chain import Chain, Draft
from interpose.record.ledger.checkpoints import Heads
from interpose.record.ledger.folder import Folder
from interpose.record.ledger.journal import Damage, lost, remains
from interpose.record.store.protocols import EntryStore, StoredEntry

_BATCH = 1000
JOURNALS = "journals"


class Repair(Struct, frozen=True, omit_defaults=True):
    """What recovery found: entries that only the journal had, bytes at its end that were no entry, and damage."""

    recovered: int = 0
    torn_bytes: int = 0
    broken: str = ""
    damages: tuple[Damage, ...] = ()


class Claimed(Struct, frozen=True):
    """A journal of our own with its lock, and where its chain ends."""

    folder: Folder
    lock: int
    chain: Chain


def recover(
    folder: Folder,
    writer: str,
    store: EntryStore,
    heads: Heads | None = None,
    *,
    known: tuple[Damage, ...] = (),
    end: Chain | None = None,
    remembered: Sequence[StoredEntry] = (),
) -> tuple[Chain, tuple[Damage, ...]]:
    """Bring a writer's journal into the store, take the files away, and say where its chain ends, and what is damaged:
    nobody may go on with such a chain. Needs its lock. With `heads` the chain must reach its head.

    `known` is damage that is known already, `end` where the chain ended for whoever wrote it, and `remembered` what
    that one has not given to the store.
    """
    last = store.head(writer)
    chain = Chain(writer) if last is None else Chain(writer, last.seq, last.hash)
    left = remains(folder, writer, chain.seq, chain.head, remembered)
    for at in range(0, len(left.entries), _BATCH):
        store.append(left.entries[at : at + _BATCH], durable=True)
    if left.entries:
        chain = Chain(writer, left.entries[-1].seq, left.entries[-1].hash)
    damages = (*known, *left.damages)
    if end is not None and end.seq > chain.seq:
        damages = (*damages, Damage(writer, chain.seq + 1, "journal", lost(chain.seq + 1, end.seq)))
        chain = end.copy()
    if heads is not None and (why := heads.flaw(writer, store)):
        damages = (*damages, Damage(writer, chain.seq + 1, f"heads/{writer}", why))
    if left.torn_bytes or damages:
        note = Repair(recovered=len(left.entries), torn_bytes=left.torn_bytes, damages=damages)
        store.append([chain.add(Draft(kind="repair", body=encode(note), time_ns=time_ns()))], durable=True)
    if damages:
        folder.retire("; ".join(f"{damage.file}: {damage.why}" for damage in damages))
    for name in folder.names():
        if damages:
            folder.set_aside(name)
        else:
            folder.remove(name)
    return chain, damages


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


def damages_in(directory: Path, store: EntryStore) -> tuple[Damage, ...]:
    """What is damaged in the journals of writers that have ended, as far as we may look. Changes nothing."""
    found: list[Damage] = []
    for path in sorted((directory / JOURNALS).glob("*/")):
        try:
            folder = Folder(path)
            lock = folder.lock() if folder.names() else None
            if lock is None:
                continue
            try:
                head = store.head(path.name)
                start = Chain(path.name) if head is None else Chain(path.name, head.seq, head.hash)
                found += remains(folder, path.name, start.seq, start.head).damages
            finally:
                os.close(lock)
        except OSError:
            continue  # whoever may read the store need not be allowed to lock journals
    return tuple(found)


def claim(directory: Path, store: EntryStore, heads: Heads) -> Claimed:
    """A journal of our own, with its lock: that of a writer that has ended, or a new one.

    INVARIANT: nobody goes on with a chain that does not reach its head: the next head would hide that.
    """
    try:
        for path in sorted((directory / JOURNALS).glob("*/")):
            folder = Folder(path)
            if folder.is_retired or (lock := folder.lock()) is None:
                continue
            chain, damages = recover(folder, path.name, store, heads)
            if not damages:
                return Claimed(folder, lock, chain)
            os.close(lock)
        folder = Folder(directory / JOURNALS / f"w{os.urandom(6).hex()}")
        new = folder.lock()
        heads.begin(folder.path.name)
    except OSError as error:
        why = unwritable(error.filename or directory / JOURNALS, error)
        raise LedgerError(f"no journal can be kept: {why}") from error
    if new is None:
        raise LedgerError(f"{folder.path} was locked by somebody else as soon as it was made")
    return Claimed(folder, new, Chain(folder.path.name))


class Recovery:
    """How those who write and those who recover hear of each other: by files in the ledger's directory.

    A writer that finds its files changed raises an alarm, which `status` and `doctor` show. Who has run
    `interpose audit recover` leaves a mark, and then it goes on.
    """

    def __init__(self, directory: Path) -> None:
        self._mark, self._alarms = directory / "recovered", directory / "alarms"
        self.went_on()

    def is_done(self, writer: str, why: str) -> bool:
        """Whether somebody has recovered the ledger since all was well. If not, raise the alarm."""
        mark = self._read()
        if mark and mark != self._seen:
            return True
        alarm = self._alarms / writer
        try:
            if not alarm.exists():  # who removes everything may remove it, too
                self._alarms.mkdir(parents=True, exist_ok=True, mode=0o700)
                alarm.write_text(f"{why}\n", encoding="utf-8")
        except OSError:
            pass  # calls are refused and the log says why; this is one more way to hear of it
        return False

    def went_on(self) -> None:
        """What is there now is in use: from here on only another recovery counts."""
        self._seen = self._newest = self._read()

    def look_again(self) -> None:
        """For whoever finds its files in order, before each look: what was recovered before the last look is over.

        INVARIANT: a recovery of before never answers what is done to the files after it.
        """
        self._seen, self._newest = self._newest, self._read()

    def alarms(self) -> tuple[str, ...]:
        """What writers have said since the last recovery."""
        try:
            return tuple(
                path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(self._alarms.iterdir())
            )
        except OSError:
            return ()

    def done(self) -> None:
        """Everything that can be was set right: whoever waits for that goes on. Raises OSError."""
        for path in self._alarms.glob("*"):
            path.unlink()
        self._mark.write_bytes(os.urandom(16).hex().encode() + b"\n")

    def _read(self) -> bytes:
        try:
            return self._mark.read_bytes()
        except OSError:
            return b""
