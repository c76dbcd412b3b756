"""Where operators look at governed sessions, halt them, and let them go on.

INVARIANT: nobody reaches `lift` who has not shown to be a person and no agent (surfaces/http/proving.py), and only a
desk that has the seal lifts. A lift that could not be recorded does not count.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Protocol

from interpose.composition.service.governance_records import (
    HALT,
    LIFT,
    GovernanceEvent,
    GovernanceRecords,
    halted_event,
)
from interpose.composition.service.held_halts import HeldHalts
from interpose.core.errors import NoSessionError, NotHaltedError, NotProvenError, text_of
from interpose.core.late import late_logger
from interpose.core.types import Context
from interpose.people.approvals.desk import NO_SERVER
from interpose.rules.governance.governance_log import GovernanceLog, LogEvent
from interpose.rules.governance.sessions.checkpoints import checkpoints_of, write_checkpoint
from interpose.rules.governance.sessions.halts import lifted, with_checkpoint, with_halt
from interpose.rules.governance.sessions.session_keeper import SessionKeeper
from interpose.rules.governance.sessions.session_keys import kept_key
from interpose.rules.governance.sessions.session_views import BudgetsOf, GovernedDetail, detail_of
from interpose.rules.governance.sessions.sessions import GovernedSession

if TYPE_CHECKING:
    from interpose.composition.service.answering import Answering
    from interpose.core.config.settings import Config
    from interpose.people.approvals.seal import Seal
    from interpose.record.ledger import Ledger
    from interpose.record.store.protocols import Store

problems = late_logger("interpose.governance")

LOOKED_THROUGH = 5_000
"""Sessions among which one is looked for that is not known by its key."""


class KeptSessions(Protocol):
    """Where governed sessions are kept: session_keeper.py."""

    def read(self, key: str) -> GovernedSession | None:
        """A session as it is now; None if nobody has heard of it."""

    def change(self, key: str, change: Callable[[GovernedSession | None], GovernedSession]) -> GovernedSession:
        """Make the next value of the last."""

    def recent(self, since_ns: int = 0, limit: int = 100) -> list[GovernedSession]:
        """Sessions that changed since then, the last changed first."""


Told = Callable[[GovernanceEvent], None]


class SessionDesk:
    """Looks, halts and lifts. Safe for threads; any number of desks share a store."""

    def __init__(
        self,
        sessions: KeptSessions,
        *,
        checkpoints: Path | None = None,
        told: Told = lambda _event: None,
        log: GovernanceLog | None = None,
        seal: Seal | None = None,
        halts: HeldHalts | None = None,
        budgets_of: BudgetsOf | None = None,
        clock: Callable[[], int] = time_ns,
    ) -> None:
        """`seal` and `halts` are what only a server has. `told` records what happens, `log` is what people read."""
        self.sessions, self.budgets_of, self.log = sessions, budgets_of, log
        self._checkpoints, self._told, self._clock = checkpoints, told, clock
        self._seal, self._halts = seal, halts

    def recent(self, *, since_ns: int = 0, limit: int = 100) -> list[GovernedSession]:
        """Sessions that changed since then, the last changed first. Raises StoreError."""
        return self.sessions.recent(since_ns, limit)

    def session(self, name: str) -> GovernedSession:
        """The session of this id or key, or of the only one that begins so. Raises NoSessionError or StoreError."""
        found = {_key(one): one for one in self.recent(limit=LOOKED_THROUGH) if name in (one.id, one.key)}
        if (direct := self.sessions.read(name)) is not None:
            found.setdefault(_key(direct), direct)
        if not found and len(name) >= 4:
            found = {
                _key(one): one
                for one in self.recent(limit=LOOKED_THROUGH)
                if one.id.startswith(name) or one.key.startswith(name)
            }
        if len(found) > 1:
            keys = ", ".join(sorted(found)[:5])
            raise NoSessionError(f"{len(found)} governed sessions are called {name!r}; say which by its key: {keys}")
        if not found:
            raise NoSessionError(f"there is no governed session {name!r}")
        return next(iter(found.values()))

    def halt(self, name: str, by: str, reason: str) -> GovernedSession:
        """Stop the tools of a session. One that is halted stays as it is. Raises NoSessionError or StoreError."""
        found = self.session(name)
        if found.halt is not None:
            return found
        key, now, ours = _key(found), self._clock(), False

        def stop(last: GovernedSession | None) -> GovernedSession:
            nonlocal ours
            before = last or found
            ours = before.halt is None
            return with_halt(before, reason, by, now)

        halted = self.sessions.change(key, stop)
        if not ours:  # somebody was faster
            return halted
        if place := self.checkpoint(halted, Context(session_id=found.id, cwd=found.project)):
            halted = self.sessions.change(key, lambda last: with_checkpoint(last or halted, place))
        self._told(halted_event(halted))
        self._logged(now, "halt", found, HALT, f"by {by}: {reason}")
        return halted

    def detail(self, session: GovernedSession) -> GovernedDetail:
        """All of a session, with where its halts were written down. Raises StoreError."""
        kept = [] if self._checkpoints is None else checkpoints_of(self._checkpoints, session=session.id)
        return detail_of(session, self.budgets_of, kept)

    def checkpoint(self, session: GovernedSession, context: Context) -> str:
        """Where the context of a halted session was written; empty if it could not be, which the log tells."""
        if self._checkpoints is None:
            return ""
        try:
            return str(write_checkpoint(self._checkpoints, session, context))
        except OSError as error:
            problems.warning(
                "the context of halted session %r could not be written: %s", session.id[:64], text_of(error)
            )
            return ""

    def lift(self, name: str, by: str, comment: str = "") -> GovernedSession:
        """Let a halted session go on. Raises NoSessionError, NotHaltedError, NotProvenError or StoreError.

        INVARIANT: who asks for this has shown that `by` is a person and no agent.
        """
        if self._seal is None or self._halts is None:
            raise NotProvenError(NO_SERVER, "no_server")
        found = self.session(name)
        halt = found.halt
        if halt is None:
            raise NotHaltedError(f"session {found.id!r} is not halted")
        key, now = _key(found), self._clock()
        lift = self._halts.signed(self._seal, key, halt, by, now)
        self._told(  # first: no record, no lift
            GovernanceEvent(
                act="lifted", session=found.id, key=key, reason=comment or f"{by} lets it go on", by=by,
                host=found.host, project=found.project, principal=found.principal, at_ns=now,
            )
        )  # fmt: skip
        after = self.sessions.change(key, lambda last: lifted(last or found, lift))
        self._logged(now, "lift", found, LIFT, f"by {by}: {comment}" if comment else f"by {by}")
        return after

    def close(self) -> None:
        """Write what waits for the log."""
        if self.log is not None:
            self.log.close()

    def _logged(self, now: int, word: str, session: GovernedSession, rule: str, text: str) -> None:
        if self.log is not None:
            self.log.write(LogEvent(at_ns=now, word=word, host=session.host, session=session.id, rule=rule, text=text))


def open_session_desk(
    config: Config, store: Store, ledger: Ledger, answering: Answering | None, budgets_of: BudgetsOf | None = None
) -> SessionDesk:
    """The desk of a process. Without `answering`, which only a server has, nothing is lifted at it."""
    settings = config.governance
    return SessionDesk(
        SessionKeeper(store) if answering is None else SessionKeeper(store, checked=answering.halts),
        checkpoints=Path(settings.checkpoints),
        told=GovernanceRecords(ledger.recorder),
        log=(
            GovernanceLog(Path(settings.log), max_bytes=settings.log_bytes, archives=settings.log_archives)
            if settings.log
            else None
        ),
        seal=None if answering is None else answering.seal,
        halts=None if answering is None else answering.halts,
        budgets_of=budgets_of,
    )


def _key(session: GovernedSession) -> str:
    return kept_key(session.key or session.id)
