"""Halts that this server knows of. The store can add one, and only a signed lift takes one away.

Whoever can write to the store could take a halt out of a session's row, or the row itself, or put an older one in its
place. So a server remembers halts beside the store; what it finds in the ledger when it starts, it remembers, too. A
session that is not halted any more must show the lift that a server signed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec import Raw
from msgspec import json as fast
from msgspec.structs import replace

from interpose.composition.service.governance_records import TOOL
from interpose.core.late import late_logger
from interpose.people.approvals.seal import Seal, Sealed, Verifier
from interpose.record.ledger import search
from interpose.record.store.protocols import EntryStore, Query
from interpose.rules.governance.sessions.sessions import GovernedSession, Halt, Lift

if TYPE_CHECKING:
    from interpose.record.ledger import Record

log = late_logger("interpose.governance")

MOST = 10_000
"""Halts that are remembered. Sessions of more are as their rows say."""
_LOOKED_THROUGH = 2_000
_KIND = "session-lift"


class HeldHalts:
    """Safe for threads. Servers that share a store share the key of the seal, so each believes the lifts of all."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Halt, str]] = OrderedDict()
        self._told: set[str] = set()

    def learn(self, entries: EntryStore) -> None:
        """Remember the halts of a ledger. Raises StoreError."""
        for record in reversed(search(entries, Query(tool=TOOL), _LOOKED_THROUGH)):
            if (found := _halt_of(record)) is not None:
                key, halt = found
                self._remember(key, halt, record.session)

    def __call__(self, key: str, session: GovernedSession | None) -> GovernedSession | None:
        """The session that was read, with the halt that it must have."""
        if session is not None and session.halt is not None:
            self._remember(key, session.halt, session.id)
            return session
        if not self._known:
            return session
        with self._lock:
            known = self._known.get(key)
        if known is None:
            return session
        halt, id = known
        if session is not None and session.lift is not None and self._is_lift(key, halt, session.lift):
            with self._lock:
                self._known.pop(key, None)
            return session
        self._alarm(key, id)
        return replace(session or GovernedSession(id=id, key=key), halt=halt)

    def signed(self, seal: Seal, key: str, halt: Halt, by: str, now_ns: int) -> Lift:
        """The lift of a halt."""
        lift = Lift(halt_ns=halt.at_ns, by=by, at_ns=now_ns)
        return replace(lift, signature=seal.sealed(_KIND, fast.encode(lift), key).signature)

    def _is_lift(self, key: str, halt: Halt, lift: Lift) -> bool:
        content = fast.encode(replace(lift, signature=b""))
        return lift.halt_ns >= halt.at_ns and self._verifier.accepts(_KIND, Sealed(Raw(content), lift.signature), key)

    def _remember(self, key: str, halt: Halt, id: str) -> None:
        with self._lock:
            known = self._known.get(key)
            if known is None or known[0].at_ns < halt.at_ns:
                self._known[key] = (halt, id)
                self._told.discard(key)
            while len(self._known) > MOST:
                self._told.discard(self._known.popitem(last=False)[0])

    def _alarm(self, key: str, id: str) -> None:
        with self._lock:
            if key in self._told:
                return
            self._told.add(key)
        log.error("alarm: session %r was halted, and somebody changed the store: no operator lifted it", id[:100])


def _halt_of(record: Record) -> tuple[str, Halt] | None:
    """The key and the halt that a record tells of; None if it tells of something else."""
    given = record.arguments
    if not isinstance(given, dict) or given.get("act") != "halted" or given.get("watch"):
        return None
    key, at_ns = given.get("key", record.session), given.get("at_ns")
    if not isinstance(key, str) or not isinstance(at_ns, int):
        return None
    return key, Halt(
        reason=str(given.get("reason", "")), by=str(given.get("by", "")), at_ns=at_ns,
        checkpoint=str(given.get("checkpoint", "")),
    )  # fmt: skip
