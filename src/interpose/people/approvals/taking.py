"""Using up grants: for exactly the call that was asked about, or for one of its kind.

INVARIANT: a call runs only by a use of a grant that the store took away in one transaction, that the seal is under, and
whose uses are more than those that are known to be spent. What else is in the store is an alarm.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from msgspec import Struct, structs

from interpose.core.answers import Approved, Approvers
from interpose.core.types import ToolCall
from interpose.people.approvals.alarms import GrantAlarms
from interpose.people.approvals.binding import Bound
from interpose.people.approvals.grants import Given, given_of, signed_of
from interpose.people.approvals.seal import Verifier
from interpose.people.approvals.uses import REVOKED, Uses
from interpose.record.store.protocols import Grant, Grants

MOST_OF_A_SUBJECT = 100
"""Grants for one call that are looked at."""

_AHEAD_NS = 300 * 1_000_000_000
"""How far the clocks of servers that share a store may be apart."""
_MOST_TOLD = 1000


class Wanted(Struct, frozen=True):
    """What somebody wants to do: the call, what it is bound to, and who asks about it."""

    bound: Bound
    kind_bound: Bound
    call: ToolCall | None
    asked: tuple[str, ...]
    approvers: tuple[Approvers, ...] = ()


class GrantTaker:
    """Takes grants, and tells those that are none. Safe to share by threads."""

    def __init__(
        self, store: Grants, verifier: Verifier, uses: Uses, alarms: GrantAlarms, clock: Callable[[], int]
    ) -> None:
        self._store, self._verifier, self._uses, self._alarms, self._clock = store, verifier, uses, alarms, clock
        self._lock = threading.Lock()
        self._told: dict[str, None] = {}

    def take(self, wanted: Wanted, waited_for: str) -> Approved | None:
        """Use up a grant for a call: one for exactly this first. None if there is none."""
        now = self._clock()
        for digested in (wanted.bound.session, wanted.bound.principal):
            for row in self._rows(digested, now):
                given = self._own(row)
                if given is not None and _answers(given, wanted) and self._used(row, given, now):
                    return self._approved(row, given, waited_for)
        if wanted.call is None or not wanted.asked:
            return None
        for digested in (wanted.kind_bound.session, wanted.kind_bound.principal):
            for row in self._rows(digested, now):
                given = self._own(row)
                if given is not None and not self.outside(given, wanted) and self._used(row, given, now):
                    return self._approved(row, given, waited_for)
        return None

    def outside(self, given: Given, wanted: Wanted) -> str:
        """What of a call a grant for a kind has not; empty if it has all of it."""
        from interpose.people.widenings.covering import outside

        if given.kind is None or wanted.call is None:
            return "it is for one call alone"
        if not _answers(given, wanted):
            return "a rule asks that did not ask when this was granted"
        return outside(given.kind, wanted.call)

    def of_kinds(self, kind_bound: Bound) -> list[Given]:
        """Grants for kinds of calls that somebody has."""
        now = self._clock()
        rows = [row for digested in (kind_bound.session, kind_bound.principal) for row in self._rows(digested, now)]
        return [given for row in rows if (given := self._own(row)) is not None]

    def is_left(self, id: str, subject: str) -> bool:
        """Whether there is a use left of a grant."""
        rows = self._store.grants(subject, now_ns=self._clock(), limit=MOST_OF_A_SUBJECT)
        for row in rows:
            if row.id == id and (given := self._own(row)) is not None:
                return given.uses_left is None or self._uses.spent(id) < given.uses_left
        return False

    def standing(self, subject: str) -> list[Given]:
        """Grants of a subject that count and are not used up by being asked for, such as pauses."""
        return [given for row in self._rows(subject, self._clock()) if (given := self._own(row)) is not None]

    def given(self, row: Grant, known: int) -> Given:
        """A grant as people see it; `known` uses are spent."""
        given = given_of(row, self._verifier)
        problem = given.problem or self.flaw(row)
        signed = signed_of(row, self._verifier)
        if not problem and signed is not None and signed.uses_left is not None and signed.uses_left - row.uses < known:
            problem = f"the store has more uses left than there are: {known} of {signed.uses_left} are spent"
        return structs.replace(given, problem=problem) if problem else given

    def flaw(self, row: Grant) -> str:
        """Why a grant that was signed is none any more."""
        if self._uses.spent(row.id) >= REVOKED:
            return "it was revoked, and an older copy of the store brought it back"
        if row.created_ns <= self._uses.void_until_ns:
            return "it was given before uses of grants were removed from their file"
        if row.created_ns > self._clock() + _AHEAD_NS:
            return "it is from a time that has not come yet"
        return ""

    def _rows(self, subject: str, now: int) -> list[Grant]:
        if not subject:
            return []
        rows = self._store.grants(subject, now_ns=now, limit=MOST_OF_A_SUBJECT)
        return sorted(rows, key=lambda row: (row.expires_ns, row.created_ns, row.id))

    def _own(self, row: Grant) -> Given | None:
        given = signed_of(row, self._verifier)
        if given is None or (flaw := self.flaw(row)):
            why = self._verifier.doubt if given is None else flaw
            self._alarms(f"grant:{row.id}", f"grant {row.id} in the store is INVALID and was not used: {why}")
            return None
        return given

    def _used(self, row: Grant, given: Given, now: int) -> bool:
        """Whether a use of a grant was ours."""
        if given.uses_left is None:
            return self._store.use(row.id, now_ns=now) is not None
        with self._uses.held():
            known = self._uses.spent(row.id)
            while (taken := self._store.use(row.id, now_ns=now)) is not None:
                spent = given.uses_left - taken.uses
                if spent > known:
                    # INVARIANT: a use is kept outside the store before anything runs by it.
                    self._uses.note(row.id, spent, ends_ns=row.expires_ns, now_ns=now)
                    return True
                self._alarms(
                    f"set-back:{row.id}",
                    f"grant {row.id}: the store had more uses left than there are; {known} of {given.uses_left} are "
                    "spent, as was kept beside it",
                )
                self._store.lower(row.id, max(0, given.uses_left - known))
        return False

    def _approved(self, row: Grant, given: Given, waited_for: str) -> Approved:
        by = given.by if row.id == waited_for else f"grant:{row.id} of {given.by}"
        return Approved(by, given.comment if self._is_first(row.id) else "")

    def _is_first(self, id: str) -> bool:
        """What a person says to the agent is said once, not with each use."""
        with self._lock:
            if id in self._told:
                return False
            if len(self._told) >= _MOST_TOLD:
                del self._told[next(iter(self._told))]
            self._told[id] = None
            return True


def _answers(given: Given, wanted: Wanted) -> bool:
    """INVARIANT: a grant for a kind, or for an edited call, answers nobody who had not asked when it was given. What
    certain people must agree to is answered by what they agreed to alone."""
    if not set(wanted.approvers) <= set(given.approvers):
        return False
    return (given.kind is None and not given.edited) or set(wanted.asked) <= set(given.asked)
