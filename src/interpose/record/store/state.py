"""Sessions, approvals, grants, counters and refusals, written once for both stores.

Sessions and budgets are as durable as entries: they survive the end of a process. Answers, grants and single counters
survive a power loss, too.

INVARIANT: each change is one conditional statement, a loop that repeats one, or a few of them in one transaction. What
a race decides is decided by the database: the statement says in its WHERE what must still hold, and its answer says
whether it did.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from interpose.record.store.protocols import Approval, Grant, SessionState, Spending
from interpose.record.store.rows import storable
from interpose.record.store.schema import IS_DECISION

_SESSION = "session, version, updated_ns, body"
_APPROVAL = "id, session, created_ns, expires_ns, body, answer, approver, answered_ns"
_GRANT = "id, subject, uses, expires_ns, created_ns, body"
_ANSWER = """UPDATE approvals SET answer = $2, approver = $3, answered_ns = $4
             WHERE id = $1 AND answer = '' AND expires_ns > $4 AND body = $5 RETURNING id"""
_POSTPONE = """UPDATE approvals SET body = $2, expires_ns = $3, approver = $4
               WHERE id = $1 AND answer = '' AND expires_ns > $5 AND body = $6 RETURNING id"""
_GIVE = "INSERT INTO grants VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING RETURNING id"
_SPEND = """INSERT INTO counters VALUES ($1, $2) ON CONFLICT (counter) DO UPDATE
            SET spent = counters.spent + excluded.spent WHERE counters.spent <= $3 RETURNING spent"""
_IDS_AT_ONCE = 500


class Undone(Exception):  # noqa: N818 - it ends a transaction, it is no error
    """A statement of a transaction found that something no longer holds."""


class SharedState(ABC):
    """The state of a store that can run one statement."""

    @abstractmethod
    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Rows of a statement that changes nothing."""

    @abstractmethod
    def write(self, sql: str, *values: Any, durable: bool = True) -> list[tuple[Any, ...]]:
        """Rows of a statement that changes something, in a transaction of its own. What it changed survives the end of
        this process, and if `durable` a power loss."""

    @abstractmethod
    def write_all(self, *statements: tuple[str, tuple[Any, ...]], durable: bool = True) -> bool:
        """Statements in one transaction, each of which must return a row. If one doesn't, none happened: False."""

    def load_session(self, session: str) -> SessionState | None:
        """A session as it is now."""
        rows = self.read(f"SELECT {_SESSION} FROM sessions WHERE session = $1", storable(session))
        return _session(rows[0]) if rows else None

    def save_session(self, session: str, body: bytes, *, version: int, now_ns: int) -> bool:
        """Replace the state that had this version; 0 makes a new session. False: somebody else was faster."""
        if version == 0:
            sql = "INSERT INTO sessions VALUES ($1, 1, $2, $3) ON CONFLICT DO NOTHING RETURNING version"
            return bool(self.write(sql, storable(session), now_ns, body, durable=False))
        sql = """UPDATE sessions SET version = version + 1, updated_ns = $2, body = $3
                 WHERE session = $1 AND version = $4 RETURNING version"""
        return bool(self.write(sql, storable(session), now_ns, body, version, durable=False))

    def sessions(self, *, since_ns: int = 0, limit: int = 1000, prefix: str = "") -> list[SessionState]:
        """Sessions that changed since then, the last changed first; those whose names begin so."""
        sql = f"""SELECT {_SESSION} FROM sessions WHERE updated_ns >= $1 AND substr(session, 1, length($3)) = $3
                  ORDER BY updated_ns DESC, session LIMIT $2"""
        return [_session(row) for row in self.read(sql, since_ns, limit, storable(prefix))]

    def keep_refusal(self, place: str, body: bytes, *, now_ns: int) -> None:
        """Keep a refusal, in place of an older one at the same place."""
        sql = """INSERT INTO refusals VALUES ($1, $2, $3) ON CONFLICT (place) DO UPDATE
                 SET at_ns = excluded.at_ns, body = excluded.body RETURNING place"""
        self.write(sql, storable(place), now_ns, body, durable=False)

    def refusal(self, place: str) -> bytes | None:
        """The refusal at a place; None if there is none."""
        rows = self.read("SELECT body FROM refusals WHERE place = $1", storable(place))
        return bytes(rows[0][0]) if rows else None

    def forget_refusals(self, before_ns: int, most: int) -> int:
        """Forget refusals of before then, and the oldest beyond so many. Says how many."""
        sql = """DELETE FROM refusals WHERE at_ns < $1
                 OR at_ns < (SELECT at_ns FROM refusals ORDER BY at_ns DESC LIMIT 1 OFFSET $2) RETURNING place"""
        return len(self.write(sql, before_ns, most - 1, durable=False))

    def ask(self, approval: Approval) -> bool:
        """Put a question. False if its id is taken."""
        sql = "INSERT INTO approvals VALUES ($1, $2, $3, $4, $5, '', '', 0) ON CONFLICT DO NOTHING RETURNING id"
        names = storable(approval.id), storable(approval.session)
        return bool(self.write(sql, *names, approval.created_ns, approval.expires_ns, approval.body))

    def answer(self, id: str, answer: str, *, body: bytes, approver: str, now_ns: int) -> bool:
        """Answer a question that has this body. True for the one answer that counts; False if there was one, if it is
        too late, or if the question is another one meanwhile."""
        return bool(answer and self.write(_ANSWER, storable(id), storable(answer), storable(approver), now_ns, body))

    def approve(self, id: str, answer: str, grant: Grant, *, body: bytes, approver: str, now_ns: int) -> bool:
        """Answer a question and keep what the answer grants: both, or neither and False."""
        answered = storable(id), storable(answer), storable(approver), now_ns, body
        return bool(answer) and self.write_all((_ANSWER, answered), (_GIVE, _given(grant)))

    def postpone(self, changed: Approval, *, body: bytes, now_ns: int) -> bool:
        """Let a question that has this body wait longer: its body, its end and who said so change. False as above."""
        values = (storable(changed.id), changed.body, changed.expires_ns, storable(changed.approver), now_ns, body)
        return bool(self.write(_POSTPONE, *values))

    def approval(self, id: str) -> Approval | None:
        """A question with its answer."""
        rows = self.read(f"SELECT {_APPROVAL} FROM approvals WHERE id = $1", storable(id))
        return _approval(rows[0]) if rows else None

    def approvals(self, *, limit: int = 1000) -> list[Approval]:
        """Questions, answered or not, the newest first."""
        sql = f"SELECT {_APPROVAL} FROM approvals ORDER BY created_ns DESC, id LIMIT $1"
        return [_approval(row) for row in self.read(sql, limit)]

    def settled(self, ids: Sequence[str], *, now_ns: int) -> list[str]:
        """Which of these questions need not be waited for: somebody answered, it is too late, or it was put off."""
        found: list[str] = []
        for start in range(0, len(ids), _IDS_AT_ONCE):
            wanted = [storable(id) for id in ids[start : start + _IDS_AT_ONCE]]
            holders = ", ".join(f"${number}" for number in range(2, len(wanted) + 2))
            sql = f"""SELECT id FROM approvals
                      WHERE id IN ({holders}) AND (answer <> '' OR approver <> '' OR expires_ns <= $1)"""
            found += [str(id) for (id,) in self.read(sql, now_ns, *wanted)]
        return found

    def waiting(self, *, now_ns: int, limit: int = 1000) -> list[Approval]:
        """Questions that can still be answered, the oldest first."""
        sql = f"""SELECT {_APPROVAL} FROM approvals WHERE answer = '' AND expires_ns > $1
                  ORDER BY created_ns, id LIMIT $2"""
        return [_approval(row) for row in self.read(sql, now_ns, limit)]

    def count_waiting(self, session: str, *, now_ns: int) -> tuple[int, int]:
        """How many questions can still be answered: all of them, and those of one session."""
        sql = """SELECT count(*), count(*) FILTER (WHERE session = $2) FROM approvals
                 WHERE answer = '' AND expires_ns > $1"""
        ((everyone, of_session),) = self.read(sql, now_ns, storable(session))
        return int(everyone), int(of_session)

    def forget_approvals(self, before_ns: int) -> int:
        """Forget questions that ended before then, and grants that did. Says how many questions."""
        self.write("DELETE FROM grants WHERE expires_ns < $1 RETURNING id", before_ns)
        return len(self.write("DELETE FROM approvals WHERE expires_ns < $1 RETURNING id", before_ns))

    def give(self, grant: Grant) -> bool:
        """Keep a grant. False if its id is taken."""
        return bool(self.write(_GIVE, *_given(grant)))

    def use(self, id: str, *, now_ns: int) -> Grant | None:
        """Use up one use of a grant. As it is afterwards; None if it is used up, over or gone."""
        sql = f"UPDATE grants SET uses = uses - 1 WHERE id = $1 AND uses > 0 AND expires_ns > $2 RETURNING {_GRANT}"
        taken = self.write(sql, storable(id), now_ns)
        return _grant(taken[0]) if taken else None

    def lower(self, id: str, uses: int) -> None:
        """Leave a grant no more uses than this."""
        self.write("UPDATE grants SET uses = $2 WHERE id = $1 AND uses > $2 RETURNING id", storable(id), uses)

    def grants(self, subject: str = "", *, now_ns: int, limit: int = 1000) -> list[Grant]:
        """Grants that can still be used, the oldest first; of everything if no subject is named."""
        sql = f"""SELECT {_GRANT} FROM grants WHERE ($1 = '' OR subject = $1) AND uses > 0 AND expires_ns > $2
                  ORDER BY created_ns, id LIMIT $3"""
        return [_grant(row) for row in self.read(sql, storable(subject), now_ns, limit)]

    def revoke(self, id: str) -> bool:
        """Forget a grant. False if it isn't there."""
        return bool(self.write("DELETE FROM grants WHERE id = $1 RETURNING id", storable(id)))

    def latest_ns(self) -> int:
        """The latest time of anything that is kept: of decisions, questions and answers; 0 if there is nothing."""
        sql = f"""SELECT (SELECT max(time_ns) FROM entries WHERE {IS_DECISION}), max(created_ns), max(answered_ns)
                  FROM approvals"""
        return max(int(time_ns or 0) for time_ns in self.read(sql)[0])

    def spend(self, counter: str, amount: int, *, budget: int) -> int | None:
        """Add to a counter and say what it is now; None, and nothing is added, if that would exceed the budget."""
        if amount < 0:
            raise ValueError("an amount to spend can't be negative")
        if amount > budget:
            return None
        rows = self.write(_SPEND, storable(counter), amount, budget - amount)
        return int(rows[0][0]) if rows else None

    def spend_all(self, spendings: Sequence[Spending]) -> tuple[str, ...]:
        """Add to several counters: to all, or to none if one would exceed its budget. Says which would; none is yes."""
        if any(each.amount < 0 for each in spendings):
            raise ValueError("an amount to spend can't be negative")
        # INVARIANT: everybody takes the counters in the same order, or two could wait for each other for ever.
        rows = {storable(each.counter): each for each in sorted(spendings, key=lambda each: storable(each.counter))}
        if len(rows) < len(spendings):
            raise ValueError("a counter stands only once in what is spent")
        if over := tuple(each.counter for each in spendings if each.amount > each.budget):
            return over
        statements = [(_SPEND, (name, each.amount, each.budget - each.amount)) for name, each in rows.items()]
        if not statements or self.write_all(*statements, durable=False):
            return ()
        # Counters never shrink: who would have exceeded a budget then would do so now.
        now = self.spent_of([each.counter for each in spendings])
        return tuple(each.counter for each in spendings if now[each.counter] + each.amount > each.budget)

    def spent(self, counter: str) -> int:
        """What a counter is now; 0 if nobody spent anything."""
        rows = self.read("SELECT spent FROM counters WHERE counter = $1", storable(counter))
        return int(rows[0][0]) if rows else 0

    def spent_of(self, counters: Sequence[str]) -> dict[str, int]:
        """What these counters are now, all at one moment."""
        if not counters:
            return {}
        holders = ", ".join(f"${number}" for number in range(1, len(counters) + 1))
        names = [storable(counter) for counter in counters]
        rows = self.read(f"SELECT counter, spent FROM counters WHERE counter IN ({holders})", *names)
        known = {str(name): int(spent) for name, spent in rows}
        return {counter: known.get(name, 0) for counter, name in zip(counters, names, strict=True)}


def _session(row: tuple[Any, ...]) -> SessionState:
    return SessionState(**dict(zip(SessionState.__struct_fields__, row, strict=True)))


def _given(grant: Grant) -> tuple[Any, ...]:
    names = storable(grant.id), storable(grant.subject)
    return (*names, grant.uses, grant.expires_ns, grant.created_ns, grant.body)


def _approval(row: tuple[Any, ...]) -> Approval:
    return Approval(**dict(zip(Approval.__struct_fields__, row, strict=True)))


def _grant(row: tuple[Any, ...]) -> Grant:
    return Grant(**dict(zip(Grant.__struct_fields__, row, strict=True)))
