"""The writer: one thread gives entries their place in the chain and puts them into the journal, many at once.

Whoever writes waits for a ticket, and no longer than the deadline. While one write hangs past it, everybody else is
told at once. Many callers share one write, and at level `durable` one sync.

Before each write the files are looked at. Once somebody was at them, everything is refused until `audit recover` has
been run: then there are other files, and a new chain.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic

from msgspec import Struct

from interpose.core.config.ledger import LedgerSettings
from interpose.core.errors import AuditUnavailableError, TamperedError, text_of
from interpose.core.formats.unwritable import AGAIN, unwritable
from interpose.record.ledger.chain import Chain, Draft
from interpose.record.ledger.checkpoints import checkpoint
from interpose.record.ledger.journal import Journal
from interpose.record.ledger.shipping import Shipping
from interpose.record.ledger.ticket import Ticket
from interpose.record.store.protocols import StoredEntry

BATCH = 512
QUEUE = 100_000
"""Tickets that may wait, and drafts that are kept for when the storage is back."""
_RETRY = 0.1
_IDLE = 1.0
_GLANCE = 0.01
"""Seconds for which a closer look holds. What is recorded meanwhile is in a journal of the right name and size."""


class WriterStatus(Struct, frozen=True):
    """How the writer fares. `late` are drafts that wait for the storage to come back, `lost` those that nobody kept."""

    recorded: int
    late: int
    lost: int
    problem: str


class Storage(Struct, frozen=True):
    """What a writer writes to, and the key that it signs checkpoints with."""

    chain: Chain
    journal: Journal
    shipping: Shipping
    key: bytes
    glance: Callable[[], str]
    """What somebody did to the store's files, as far as a glance shows; empty if nothing."""


class Writer:
    """One chain, one journal."""

    def __init__(
        self, storage: Storage, settings: LedgerSettings, renewed: Callable[[str, Chain], Storage | None]
    ) -> None:
        """`renewed` is asked for other storage while somebody was at this one; None if there is none yet."""
        self._renewed, self.tampered = renewed, ""
        self._use(storage)
        self._deadline, self._every = settings.deadline, settings.checkpoint_every
        self._sync, self._unwaited = settings.level == "durable", settings.level == "best_effort"
        self._queue: deque[Ticket] = deque()
        self._late: deque[Draft] = deque(maxlen=QUEUE)
        self._wake = threading.Lock()
        self._wake.acquire()
        self._busy_since: float | None = None
        self._closing = False
        self._since_checkpoint = self._recorded = self._lost = 0
        self._problem = ""
        self._thread = threading.Thread(target=self._run, name="interpose:ledger", daemon=True)
        self._thread.start()

    def _use(self, storage: Storage) -> None:
        self._chain, self._journal, self._shipping = storage.chain, storage.journal, storage.shipping
        self._key, self._glance, self._glanced = storage.key, storage.glance, 0.0
        place = self._journal.place
        self._slow = f"{place}: the storage hangs. See whether its disk works: `df {place}`. {AGAIN}"

    def submit(self, drafts: tuple[Draft, ...], *, keep: bool) -> Ticket:
        """Queue drafts that follow each other. They are written when the ticket is sent or waited for.

        Raises AuditUnavailableError if there is no hope for them now.
        """
        since = self._busy_since
        if since is not None and monotonic() - since >= self._deadline:
            return self._refused(drafts, keep, self._slow)
        if len(self._queue) >= QUEUE:
            return self._refused(drafts, keep, f"too many records wait: {self._slow}")
        if self._closing:
            return self._refused(drafts, keep, f"the ledger of {self._journal.place} is closed: open it again")
        ticket = Ticket(drafts, self._deadline, keep=keep, send=self._notify, late=self._slow)
        self._queue.append(ticket)
        if self._unwaited or len(self._queue) >= BATCH:
            self._notify()
        return ticket

    def keep_for_later(self, drafts: tuple[Draft, ...]) -> None:
        """Write these when the storage is back. Nobody waits."""
        self._keep(drafts)
        self._notify()

    def flush(self) -> bool:
        """Wait until all that was queued or kept for later is in the journal. False if it could not be written."""
        try:
            self.submit((), keep=False).wait()
        except AuditUnavailableError:
            return False
        return True

    def status(self) -> WriterStatus:
        """How the writer fares."""
        return WriterStatus(self._recorded, len(self._late), self._lost, self._problem or self._shipping.problem)

    def close(self, timeout: float) -> None:
        """Write what is queued, ship it and stop. What the store does not take stays in the journal."""
        if self._closing:
            return
        self._closing = True
        self._notify()
        self._thread.join(timeout)
        self._shipping.close(timeout)
        if not self._thread.is_alive():
            # What is left of files that somebody was at stays: it is evidence.
            self._journal.close(0 if self.tampered else self._shipping.shipped_seq)

    def _refused(self, drafts: tuple[Draft, ...], keep: bool, why: str) -> Ticket:
        if keep:
            self._keep(drafts)
        raise AuditUnavailableError(why)

    def _keep(self, drafts: tuple[Draft, ...]) -> None:
        self._lost += max(0, len(self._late) + len(drafts) - QUEUE)
        self._late.extend(drafts)

    def _notify(self) -> None:
        if self._wake.locked():
            try:
                self._wake.release()
            except RuntimeError:
                pass  # somebody else was faster

    def _run(self) -> None:
        while True:
            if not self._wake.acquire(timeout=_RETRY if self._late else _IDLE) and not self._late:
                self._write([])  # nobody writes: what happens to the files is noticed all the same
            while self._queue:
                self._write([self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))])
            if self._late:
                self._write([])
            if self._closing and not self._queue:
                if self._since_checkpoint:
                    self._write([], last=True)
                return

    def _write(self, tickets: list[Ticket], *, last: bool = False) -> None:
        # What nobody waits for any more was answered with a refusal: it must not be recorded as allowed.
        tickets = [ticket for ticket in tickets if ticket.keep or not ticket.abandoned]
        late = [self._late.popleft() for _ in range(len(self._late))]
        drafts = late + [draft for ticket in tickets for draft in ticket.drafts]
        if not drafts and not last:
            self._settle_empty(tickets)
            return
        # From when the first of them was there: as soon as one has waited in vain, nobody else has to.
        self._busy_since = min((ticket.since for ticket in tickets if not ticket.keep), default=monotonic())
        try:
            self._look()
            chain = self._chain.copy()
            entries = self._entries(chain, drafts, last)
            if not self._shipping.has_room(self._deadline):
                why = self._shipping.problem or "it does not keep up"
                raise AuditUnavailableError(f"the store takes no records: {why}. {AGAIN}; `interpose status` shows it")
            self._journal.append(entries, sync=self._sync)
        except Exception as error:  # noqa: BLE001 - storage fails in any way it likes
            failure = self._explained(error)
            self._problem = text_of(failure)
            self._late.extend(late)
            for ticket in tickets:
                if ticket.keep:
                    self._keep(ticket.drafts)
                ticket.settle(failure)
        else:
            self._chain, self._problem = chain, ""
            self._recorded += len(entries)
            self._shipping.add(entries)
            for ticket in tickets:
                ticket.settle(None)
            self._journal.forget(self._shipping.shipped_seq)
        finally:
            self._busy_since = None

    def _explained(self, error: Exception) -> Exception:
        """The same with the file and what to do next, where only the system spoke."""
        if not isinstance(error, OSError):
            return error
        explained = AuditUnavailableError(f"{unwritable(error.filename or self._journal.file, error)}. {AGAIN}")
        explained.__cause__ = error
        return explained

    def _settle_empty(self, tickets: list[Ticket]) -> None:
        """For those who only ask whether something could be written."""
        problem: Exception | None = None
        try:
            self._look()
        except Exception as error:  # noqa: BLE001 - as above
            problem = self._explained(error)
            self._problem = text_of(problem)
        for ticket in tickets:
            ticket.settle(problem)

    def _look(self) -> None:
        """INVARIANT (law 9): nothing is said to be recorded in files that somebody else cut, changed or took away."""
        while why := self.tampered or self._tampering():
            self.tampered = why
            storage = self._renewed(why, self._chain)
            if storage is None:
                raise TamperedError(f"{why}. Nothing runs until `interpose audit recover` was run")
            self._use(storage)
            self.tampered, self._since_checkpoint = "", 0

    def _tampering(self) -> str:
        closer = (now := monotonic()) - self._glanced >= _GLANCE
        try:
            self._journal.look(closer=closer)
        except TamperedError as error:
            return text_of(error)
        why = self._glance() if closer else ""
        self._glanced = now if closer else self._glanced
        return why

    def _entries(self, chain: Chain, drafts: list[Draft], last: bool) -> list[StoredEntry]:
        entries = [chain.add(draft) for draft in drafts]
        self._since_checkpoint += len(entries)
        if last or self._since_checkpoint >= self._every:
            entries.append(chain.add(checkpoint(chain, self._shipping.others, self._key)))
            self._since_checkpoint = 0
        return entries
