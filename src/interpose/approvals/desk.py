"""The desk: one queue of questions for all surfaces and all servers, in the store.

    ask -> waiting -> approved -> a grant, taken by whoever waits or by who asks again
                   -> denied, or expired: a no that stands for a moment before the same may be asked again

INVARIANT: a call runs only by a use of a grant that the store took away in one transaction. Whoever is faster gets it,
be it a thread, a process or a server: once is once. Nothing in a call can name a question or a grant.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from time import monotonic, time_ns
from typing import Protocol

from msgspec import Struct

from interpose.approvals.binding import Bound, Subject, bound, digest, subject_of
from interpose.approvals.grants import Given, given_of, grant_of
from interpose.approvals.questions import (
    Answer,
    Kept,
    Question,
    answer_of,
    answer_text,
    kept_of,
    moment,
    question_id,
    row_of,
    seen,
    spoken_id,
    written,
)
from interpose.approvals.scopes import ONCE, Scope
from interpose.approvals.waiters import MOST_WAITERS, Waiters
from interpose.errors import AnsweredError, NoQuestionError, TooLateError, UnboundError
from interpose.formats.plain_text import plain
from interpose.secrets import Redactor
from interpose.store.protocols import Approval, Approvals, Counters, Grants
from interpose.types import Approved, Deny, Pending, PermissionRequest

log = logging.getLogger("interpose.approvals")

REST_SECONDS = 60
"""How long a no, or nobody's answer, stands before the same call is asked about again."""

MOST_WAITING = 1000
MOST_OF_A_SESSION = 100
"""Questions that wait at the same time. More would be no help to those who answer, and they would not see them all."""

KEPT_SECONDS = 31 * 24 * 3600
"""How long questions and grants are kept when they are over."""

_TIDY_SECONDS = 3600.0
_SECOND = 1_000_000_000


class ApprovalStore(Approvals, Grants, Counters, Protocol):
    """What the desk needs of a store."""


class _OpenQuestion(Struct, frozen=True):
    """A question that waits."""

    id: str
    expires_ns: int


class Desk:
    """Asks, answers and remembers. Safe to share by threads; any number of desks share a store."""

    def __init__(
        self,
        store: ApprovalStore,
        *,
        timeout: float,
        key: bytes,
        on_question: Callable[[Question], object] | None = None,
        clock: Callable[[], int] = time_ns,
        waiters: int = MOST_WAITERS,
    ) -> None:
        """`timeout` is in seconds. `key` must be the same for all who share the store.

        `on_question` hears of each new question once. `waiters` is how many callers may wait for answers at a time.
        """
        self._store, self._key, self._clock = store, key, clock
        self._timeout_ns = round(timeout * _SECOND)
        self._on_question = on_question
        self._redactor = Redactor(digest(key, b"redaction").encode())
        self._waiters = Waiters(lambda ids: store.settled(ids, now_ns=clock()), waiters)
        self._tidying = threading.Lock()
        self._tidied = -_TIDY_SECONDS

    def waiting(self, seconds: float = 0.0) -> Waiting:
        """A confirmation handler that puts questions on the desk and waits so long for their answers."""
        return Waiting(self, seconds)

    @property
    def crowded(self) -> bool:
        """Whether so many wait for answers already that one more would not be held."""
        return self._waiters.full

    async def settled(self, id: str, seconds: float) -> None:
        """Wait so long for the answer to a question; not at all if too many wait already."""
        await self._waiters.wait(id, seconds)

    def asked(self, *, limit: int = MOST_WAITING) -> list[Question]:
        """Questions that wait for an answer, the oldest first."""
        now = self._clock()
        return _seen(self._store.waiting(now_ns=now, limit=limit), now)

    def recent(self, *, limit: int = 1000) -> list[Question]:
        """Questions of any state, the newest first."""
        return _seen(self._store.approvals(limit=limit), self._clock())

    def question(self, id: str) -> Question:
        """One question. NoQuestionError if there is none."""
        row = self._store.approval(spoken_id(id))
        found = None if row is None else seen(row, self._clock())
        if found is None:
            raise NoQuestionError(f"there is no question {id}")
        return found

    def approve(self, id: str, by: str, scope: Scope = ONCE, *, comment: str = "") -> Question:
        """Say yes. Raises NoQuestionError, AnsweredError, TooLateError or ScopeError."""
        now = self._clock()
        row = self._store.approval(spoken_id(id))
        kept = None if row is None else kept_of(row)
        if row is None or kept is None:
            raise NoQuestionError(f"there is no question {id}")
        grant = grant_of(kept, scope, by=by, comment=comment, now_ns=now)
        answer = answer_text(Answer(approved=True, by=by, at=moment(now), scope=scope, comment=comment))
        return self._answered(row.id, self._store.approve(row.id, answer, grant, approver=by, now_ns=now))

    def deny(self, id: str, by: str, reason: str = "") -> Question:
        """Say no. Raises NoQuestionError, AnsweredError or TooLateError."""
        now, id = self._clock(), spoken_id(id)
        answer = answer_text(Answer(approved=False, by=by, at=moment(now), comment=reason))
        return self._answered(id, self._store.answer(id, answer, approver=by, now_ns=now))

    def grants(self, *, limit: int = 1000) -> list[Given]:
        """Grants that can still be used, the oldest first."""
        rows = self._store.grants(now_ns=self._clock(), limit=limit)
        return [given for row in rows if (given := given_of(row)) is not None]

    def revoke(self, id: str) -> bool:
        """Take a grant back. False if there is none."""
        return self._store.revoke(spoken_id(id))

    def _answered(self, id: str, counts: bool) -> Question:
        question = self.question(id)
        if not counts:
            if (answer := question.answer) is not None:
                word = "approved" if answer.approved else "denied"
                raise AnsweredError(f"question {id} was {word} by {answer.by} already")
            raise TooLateError(f"question {id} timed out at {question.expires:%Y-%m-%d %H:%M:%S} UTC")
        self._waiters.wake([id])
        _log_answer(question)
        return question

    def _consult(self, request: PermissionRequest, waited_for: str) -> Approved | Deny | _OpenQuestion:
        """What is known about a call: a grant, a no, or a question that waits. Blocks."""
        self._tidy()
        try:
            subject = subject_of(request)
            bound_to = bound(subject, self._key)
        except UnboundError as error:
            return Deny(f"Nobody can be asked, as {error}: {request.message}", rule="approval-impossible")
        if (approved := self._take(bound_to, waited_for)) is not None:
            return approved
        return self._put(request, subject, bound_to, waited_for)

    def _take(self, bound_to: Bound, waited_for: str) -> Approved | None:
        for digested in (bound_to.session, bound_to.principal):
            row = self._store.take(digested, now_ns=self._clock())
            if row is not None:
                given = given_of(row)
                by = "somebody" if given is None else given.by
                return Approved(by if row.id == waited_for else f"grant:{row.id} of {by}")
        return None

    def _put(
        self, request: PermissionRequest, subject: Subject, bound_to: Bound, waited_for: str
    ) -> Approved | Deny | _OpenQuestion:
        """The question about a call. Whoever asks the same at the same time, here or elsewhere, gets the same one.

        Questions about a call are numbered. Of several who see that the last one is over, one counts on.
        """
        counter = f"question:{bound_to.session}"
        while True:
            number, now = self._store.spent(counter), self._clock()
            id = question_id(digest(self._key, b"question", bound_to.session, str(number)))
            row = self._store.approval(id)
            if row is None:
                if (refused := self._refused(request, subject, now)) is not None:
                    return refused
                expires = now + self._timeout_ns
                question = written(id, request, subject, redactor=self._redactor, asked_ns=now, expires_ns=expires)
                if self._store.ask(row_of(Kept(question, bound_to), asked_ns=now, expires_ns=expires)):
                    if self._on_question is not None:
                        self._on_question(question)
                    return _OpenQuestion(id, expires)
                continue  # somebody was faster
            if (kept := kept_of(row)) is not None and kept.bound == bound_to:
                standing = self._standing(row, bound_to, waited_for)
                if standing is not None:
                    return standing
            self._store.spend(counter, 1, budget=number + 1)

    def _refused(self, request: PermissionRequest, subject: Subject, now: int) -> Deny | None:
        """INVARIANT: who asks without end is refused, and does not hide what others ask."""
        everyone, of_session = self._store.count_waiting(subject.context.session_id, now_ns=now)
        if everyone < MOST_WAITING and of_session < MOST_OF_A_SESSION:
            return None
        number, whose = (of_session, " of this session") if of_session >= MOST_OF_A_SESSION else (everyone, "")
        return Deny(
            f"{number} questions{whose} wait for an answer already, and one more is not asked: {request.message}",
            rule="approval-queue-full",
        )

    def _standing(self, row: Approval, bound_to: Bound, waited_for: str) -> Approved | Deny | _OpenQuestion | None:
        """What the last question about a call says now; None if it says nothing any more."""
        now = self._clock()
        if not row.answer and row.expires_ns > now:
            return _OpenQuestion(row.id, row.expires_ns)
        answer = answer_of(row)
        if answer is not None and answer.approved:
            return self._take(bound_to, waited_for)  # it may have been approved since we looked for a grant
        ended = row.answered_ns if row.answer else row.expires_ns
        if ended + REST_SECONDS * _SECOND <= now:
            return None
        if not row.answer:
            return Deny(f"Nobody answered question {row.id} in time", rule="approval-timeout")
        why = f": {answer.comment}" if answer is not None and answer.comment else ""
        return Deny(f"Denied by {row.approver} (question {row.id}){why}", rule="approval-denied")

    def _tidy(self) -> None:
        """Forget what is long over, now and then."""
        if not self._tidying.acquire(blocking=False):
            return
        try:
            if monotonic() - self._tidied >= _TIDY_SECONDS:
                self._tidied = monotonic()
                self._store.forget_approvals(self._clock() - KEPT_SECONDS * _SECOND)
        finally:
            self._tidying.release()


class Waiting:
    """A confirmation handler whose questions are answered at the desk."""

    def __init__(self, desk: Desk, seconds: float) -> None:
        self._desk, self._seconds = desk, seconds

    async def confirm(self, request: PermissionRequest, /) -> Approved | Deny | Pending:
        """A grant first, else a question. Pending if nobody answers in the time that there is."""
        import asyncio

        desk, end, waited_for = self._desk, monotonic() + self._seconds, ""
        while True:
            known = await asyncio.to_thread(desk._consult, request, waited_for)  # noqa: SLF001 - one desk, two halves
            if not isinstance(known, _OpenQuestion):
                return known
            left = end - monotonic()
            if left <= 0:
                return Pending(known.id)
            waited_for = known.id
            until_expiry = (known.expires_ns - desk._clock()) / _SECOND  # noqa: SLF001 - as above
            if not await desk._waiters.wait(known.id, max(0.0, min(left, until_expiry))):  # noqa: SLF001 - as above
                return Pending(known.id)


def _log_answer(question: Question) -> None:
    if (answer := question.answer) is None:
        return
    scope = "" if answer.scope is None else answer.scope.text()
    log.info(
        "question %s about %s was %s by %s%s", question.id, plain(question.tool) or question.point.value,
        question.state, plain(answer.by), f" ({scope})" if scope else "",
        extra={
            "question": question.id, "state": question.state, "approver": answer.by, "scope": scope,
            "session": question.session, "tool": question.tool,
        },
    )  # fmt: skip


def _seen(rows: list[Approval], now_ns: int) -> list[Question]:
    return [question for row in rows if (question := seen(row, now_ns)) is not None]
