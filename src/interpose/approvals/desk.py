"""The desk: one queue of questions for all surfaces and all servers, in the store.

    ask -> waiting -> approved -> a grant, taken by whoever waits or by who asks again
                   -> denied, or expired: a no that stands for a moment before the same may be asked again

INVARIANT: a call runs only by a use of a grant that the store took away in one transaction. Whoever is faster gets it,
be it a thread, a process or a server: once is once. Nothing in a call can name a question or a grant.

INVARIANT: only a desk that has the seal asks, answers and takes: the server's. A grant counts if the seal is under all
that it binds and its uses are more than those that are known to be spent. What else is in the store is an alarm.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from msgspec import Struct, structs

from interpose.approvals.alarms import GrantAlarms
from interpose.approvals.binding import Bound, Subject, bound, digest, subject_of
from interpose.approvals.grants import Given, given_of, grant_of, signed_of
from interpose.approvals.latest_time import LatestTime
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
from interpose.approvals.seal import Seal, Verifier
from interpose.approvals.uses import REVOKED, Uses
from interpose.approvals.waiters import MOST_WAITERS, Waiters
from interpose.errors import AnsweredError, NoQuestionError, NotProvenError, TooLateError, UnboundError
from interpose.formats.plain_text import plain
from interpose.late_loggers import late_logger
from interpose.secrets import Redactor
from interpose.store.protocols import Approval, Approvals, Counters, Grant, Grants
from interpose.types import Approved, Deny, Pending, PermissionRequest

log = late_logger("interpose.approvals")

REST_SECONDS = 60
"""How long a no, or nobody's answer, stands before the same call is asked about again."""

MOST_WAITING = 1000
MOST_OF_A_SESSION = 100
"""Questions that wait at the same time. More would be no help to those who answer, and they would not see them all."""

KEPT_SECONDS = 31 * 24 * 3600
"""How long questions and grants are kept when they are over."""

MOST_OF_A_SUBJECT = 100
"""Grants for one call that are looked at."""

NO_SERVER = (
    "no server runs, and only a server can take the answer of a person: start one with `interpose serve` (a hook "
    "starts one by itself), then try again"
)

_AHEAD_NS = 300 * 1_000_000_000
"""How far the clocks of servers that share a store may be apart."""
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
        seal: Seal | None = None,
        verifier: Verifier | None = None,
        uses: Uses | None = None,
        alarms: GrantAlarms | None = None,
        on_question: Callable[[Question], object] | None = None,
        clock: Callable[[], int] | None = None,
        waiters: int = MOST_WAITERS,
    ) -> None:
        """`timeout` is in seconds. `key` and `seal` must be the same for all who share the store.

        Without a `seal` it shows what the `verifier` accepts, and neither asks nor answers nor takes. `uses` are those
        of grants that are known beside the store. `on_question` hears of each new question once. `waiters` is how many
        callers may wait for answers at a time.
        """
        self._store, self._key, self._clock = store, key, clock or LatestTime()
        self._seal, self._verifier = seal, seal or verifier or Verifier()
        self.alarms = alarms or GrantAlarms()
        self._uses = uses or Uses(alarm=self.alarms)
        self._timeout_ns = round(timeout * _SECOND)
        self._on_question = on_question
        self._redactor = Redactor(digest(key, b"redaction").encode())
        self._waiters = Waiters(lambda ids: store.settled(ids, now_ns=self._clock()), waiters)
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
        return self._seen(self._store.waiting(now_ns=now, limit=limit), now)

    def recent(self, *, limit: int = 1000) -> list[Question]:
        """Questions of any state, the newest first."""
        return self._seen(self._store.approvals(limit=limit), self._clock())

    def question(self, id: str) -> Question:
        """One question. NoQuestionError if there is none."""
        row = self._store.approval(spoken_id(id))
        found = None if row is None else seen(row, self._clock(), self._verifier)
        if found is None:
            raise NoQuestionError(f"there is no question {id}")
        return found

    def approve(self, id: str, by: str, scope: Scope = ONCE, *, comment: str = "") -> Question:
        """Say yes. Raises NoQuestionError, AnsweredError, TooLateError or ScopeError.

        INVARIANT: who asks for this has shown that `by` is a person and no agent.
        """
        now, seal = self._clock(), self._own_seal()
        row, kept = self._asked(id)
        grant = grant_of(kept, scope, seal, by=by, comment=comment, now_ns=now)
        answer = Answer(approved=True, by=by, at=moment(now), scope=scope, comment=comment)
        text = answer_text(answer, row, seal)
        return self._answered(row.id, self._store.approve(row.id, text, grant, approver=by, now_ns=now))

    def deny(self, id: str, by: str, reason: str = "") -> Question:
        """Say no. Raises NoQuestionError, AnsweredError or TooLateError."""
        now, seal = self._clock(), self._own_seal()
        row, _kept = self._asked(id)
        text = answer_text(Answer(approved=False, by=by, at=moment(now), comment=reason), row, seal)
        return self._answered(row.id, self._store.answer(row.id, text, approver=by, now_ns=now))

    def grants(self, *, limit: int = 1000) -> list[Given]:
        """Grants that can still be used, the oldest first. Those with a `problem` are none."""
        known = self._uses.known()  # before the rows: what is used meanwhile must not look as if they were set back
        rows = self._store.grants(now_ns=self._clock(), limit=limit)
        return [self._given(row, known.get(row.id, 0)) for row in rows]

    def revoke(self, id: str) -> bool:
        """Take a grant back. False if there is none. It stays taken back when the store is set back."""
        id, now = spoken_id(id), self._clock()
        for row in self._store.grants(now_ns=now, limit=MOST_WAITING):
            if row.id == id:
                self._uses.note(id, REVOKED, ends_ns=row.expires_ns, now_ns=now)
        return self._store.revoke(id)

    def flaws(self) -> dict[str, str]:
        """Grants and answers in the store that are not ours, and why: none of them counts."""
        found = {
            f"grant:{given.id}": f"grant {given.id} in the store is INVALID: {given.problem}"
            for given in self.grants()
            if given.problem
        }
        forged = [question.id for question in self.recent() if question.state == "invalid"]
        return found | {f"answer:{id}": self._forged(id) for id in forged}

    def examine(self) -> None:
        """Look for what is not ours. It is an alarm."""
        for key, text in self.flaws().items():
            self.alarms(key, text)

    def _own_seal(self) -> Seal:
        if self._seal is None:
            raise NotProvenError(NO_SERVER, "no_server")
        return self._seal

    def _asked(self, id: str) -> tuple[Approval, Kept]:
        row = self._store.approval(spoken_id(id))
        kept = None if row is None else kept_of(row, self._verifier)
        if row is None or kept is None:
            raise NoQuestionError(f"there is no question {id}")
        return row, kept

    def _given(self, row: Grant, known: int) -> Given:
        given = given_of(row, self._verifier)
        problem = given.problem or self._flaw(row)
        signed = signed_of(row, self._verifier)
        if not problem and signed is not None and signed.uses_left is not None and signed.uses_left - row.uses < known:
            problem = f"the store has more uses left than there are: {known} of {signed.uses_left} are spent"
        return structs.replace(given, problem=problem) if problem else given

    def _flaw(self, row: Grant) -> str:
        """Why a grant that was signed is none any more."""
        if self._uses.spent(row.id) >= REVOKED:
            return "it was revoked, and an older copy of the store brought it back"
        if row.created_ns <= self._uses.void_until_ns:
            return "it was given before uses of grants were removed from their file"
        if row.created_ns > self._clock() + _AHEAD_NS:
            return "it is from a time that has not come yet"
        return ""

    def _forged(self, id: str) -> str:
        return f"the answer to question {id} in the store is INVALID: {self._verifier.doubt}"

    def _answered(self, id: str, counts: bool) -> Question:
        question = self.question(id)
        if not counts:
            if question.state == "invalid":
                raise AnsweredError(f"question {id} has an answer in the store that no server wrote: it counts as a no")
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
        if self._seal is None:
            return Deny(
                f"Nobody can be asked now: {NO_SERVER}. Asked was: {request.message}", rule="approval-no-server"
            )
        if (approved := self._take(bound_to, waited_for)) is not None:
            return approved
        return self._put(request, subject, bound_to, waited_for)

    def _take(self, bound_to: Bound, waited_for: str) -> Approved | None:
        now = self._clock()
        for digested in (bound_to.session, bound_to.principal):
            rows = self._store.grants(digested, now_ns=now, limit=MOST_OF_A_SUBJECT)
            for row in sorted(rows, key=lambda row: (row.expires_ns, row.created_ns, row.id)):
                if (by := self._used(row, now)) is not None:
                    return Approved(by if row.id == waited_for else f"grant:{row.id} of {by}")
        return None

    def _used(self, row: Grant, now: int) -> str | None:
        """Whose grant was used, if it is one."""
        given = signed_of(row, self._verifier)
        if given is None or (flaw := self._flaw(row)):
            why = self._verifier.doubt if given is None else flaw
            self.alarms(f"grant:{row.id}", f"grant {row.id} in the store is INVALID and was not used: {why}")
            return None
        if given.uses_left is None:
            return None if self._store.use(row.id, now_ns=now) is None else given.by
        with self._uses.held():
            known = self._uses.spent(row.id)
            while (taken := self._store.use(row.id, now_ns=now)) is not None:
                spent = given.uses_left - taken.uses
                if spent > known:
                    # INVARIANT: a use is kept outside the store before anything runs by it.
                    self._uses.note(row.id, spent, ends_ns=row.expires_ns, now_ns=now)
                    return given.by
                self.alarms(
                    f"set-back:{row.id}",
                    f"grant {row.id}: the store had more uses left than there are; {known} of {given.uses_left} are "
                    "spent, as was kept beside it",
                )
                self._store.lower(row.id, max(0, given.uses_left - known))
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
                if self._store.ask(
                    row_of(Kept(question, bound_to), self._own_seal(), asked_ns=now, expires_ns=expires)
                ):
                    if self._on_question is not None:
                        self._on_question(question)
                    return _OpenQuestion(id, expires)
                continue  # somebody was faster
            if (kept := kept_of(row, self._verifier)) is not None and kept.bound == bound_to:
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
        answer = answer_of(row, self._verifier)
        if answer is not None and answer.approved:
            return self._take(bound_to, waited_for)  # it may have been approved since we looked for a grant
        ended = row.answered_ns if row.answer else row.expires_ns
        if ended + REST_SECONDS * _SECOND <= now:
            return None
        if not row.answer:
            return Deny(f"Nobody answered question {row.id} in time", rule="approval-timeout")
        if answer is None:
            self.alarms(f"answer:{row.id}", self._forged(row.id))
            return Deny(f"The answer to question {row.id} was not given through a server", rule="approval-invalid")
        why = f": {answer.comment}" if answer.comment else ""
        return Deny(f"Denied by {answer.by} (question {row.id}){why}", rule="approval-denied")

    def _seen(self, rows: list[Approval], now_ns: int) -> list[Question]:
        return [question for row in rows if (question := seen(row, now_ns, self._verifier)) is not None]

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
