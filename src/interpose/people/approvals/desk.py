"""The desk: one queue of questions for all surfaces and all servers, in the store.

    ask -> waiting -> approved -> a grant, taken by whoever waits or by who asks again
                   -> edited   -> a grant for the call that a person wrote; whoever asks again is told that one
                   -> put off  -> waits on, and the agent is told to go on with other work
                   -> denied, or expired: a no that stands for a moment before the same may be asked again

INVARIANT: only a desk that has the seal asks, answers and takes: the server's. Nothing in a call can name a question or
a grant. How grants are used up is in taking.py, who must agree in votes.py, how it is answered in answering.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

from msgspec import Struct

from interpose.core.answers import Approved, ApproverRole, Edited, Pending
from interpose.core.errors import NoQuestionError, NotProvenError, UnboundError
from interpose.core.late import late_logger
from interpose.core.types import Deny, PermissionRequest, ToolCall
from interpose.people.approvals.alarms import GrantAlarms
from interpose.people.approvals.answer_book import AnswerBook
from interpose.people.approvals.binding import Subject, asked_by, bound, digest, kind_bound, subject_of
from interpose.people.approvals.edits import edit_subject, edited_call
from interpose.people.approvals.grants import Given
from interpose.people.approvals.latest_time import LatestTime
from interpose.people.approvals.news import News
from interpose.people.approvals.onlookers import Onlookers
from interpose.people.approvals.pauses import Pauses
from interpose.people.approvals.questions import (
    Answer,
    Kept,
    Question,
    answer_of,
    approvers_of,
    kept_of,
    moment,
    question_id,
    row_of,
    seen,
    spoken_id,
    written,
)
from interpose.people.approvals.scopes import ONCE, Scope
from interpose.people.approvals.seal import Seal, Verifier
from interpose.people.approvals.taking import GrantTaker, Wanted
from interpose.people.approvals.uses import REVOKED, Uses
from interpose.people.approvals.votes import Vote, VoteBook, escalates
from interpose.people.approvals.waiters import MOST_WAITERS, Waiters
from interpose.reading.secrets import Redactor
from interpose.record.store.protocols import Approval, Approvals, Counters, Grants, Sessions

log = late_logger("interpose.approvals")

REST_SECONDS = 60
"""How long a no, or nobody's answer, stands before the same call is asked about again."""

MOST_WAITING = 1000
MOST_OF_A_SESSION = 100
"""Questions that wait at the same time. More would be no help to those who answer, and they would not see them all."""

KEPT_SECONDS = 31 * 24 * 3600
"""How long questions and grants are kept when they are over."""

NO_SERVER = (
    "no server runs, and only a server can take the answer of a person: start one with `interpose serve` (a hook "
    "starts one by itself), then try again"
)

Happened = Callable[[str, str], object]
"""Hears what happened to a question: `opened`, `answered`, `voted` or `deferred`, and its id. Comes back at once."""

OnWait = Callable[[Question, float], object]
"""Hears that the answer to this question is waited for now, and for how many seconds at most."""

_TIDY_SECONDS = 3600.0
_SECOND = 1_000_000_000


class ApprovalStore(Approvals, Grants, Counters, Sessions, Protocol):
    """What the desk needs of a store."""


class _OpenQuestion(Struct, frozen=True):
    """A question that waits. `word` is there if somebody put it off."""

    asked: Question
    expires_ns: int
    word: str = ""


class _Asker(Struct, frozen=True):
    """What the caller can do with an answer, and how many seconds it waits for one in all."""

    hears: bool
    rewrites: bool
    seconds: float


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
        on_escalated: Callable[[Question], object] | None = None,
        clock: Callable[[], int] | None = None,
        waiters: int = MOST_WAITERS,
    ) -> None:
        """`timeout` is in seconds. `key` and `seal` must be the same for all who share the store.

        Without a `seal` it shows what the `verifier` accepts, and neither asks nor answers nor takes. `uses` are those
        of grants that are known beside the store. `on_question` hears of each new question once, `on_escalated` of each
        that goes to others, as nobody answered. `waiters` is how many callers may wait for answers at a time.
        """
        self._store, self._key, self._clock = store, key, clock or LatestTime()
        self._seal, self._verifier = seal, seal or verifier or Verifier()
        self.alarms = alarms or GrantAlarms()
        self._uses = uses or Uses(alarm=self.alarms)
        self._timeout_ns = round(timeout * _SECOND)
        self._on_question, self._on_escalated = on_question, on_escalated
        self._redactor = Redactor(digest(key, b"redaction").encode())
        self._waiters = Waiters(lambda ids: store.settled(ids, now_ns=self._clock()), waiters)
        self._taker = GrantTaker(store, self._verifier, self._uses, self.alarms, self._clock)
        self._votes = VoteBook(store, self._verifier, self.alarms)
        self._book = AnswerBook(store, self._votes, self._verifier, self._clock, key, self._redactor)
        self.pauses = Pauses(store, self._taker, self._clock, key)
        self.news, self.onlookers = News(), Onlookers()
        self.happened: Happened = lambda _word, _id: None
        self._tidying = threading.Lock()
        self._tidied = -_TIDY_SECONDS

    def waiting(
        self,
        seconds: float = 0.0,
        *,
        hears: bool = False,
        rewrites: bool = True,
        on_wait: OnWait | None = None,
        then: float = 0.0,
    ) -> Waiting:
        """A confirmation handler that puts questions on the desk and waits so long for their answers.

        `hears` says whether a word with a yes reaches the agent, `rewrites` whether another call than it made can run.
        `on_wait` hears once of the question that is waited for. It is called on the caller's loop, and must be quick.
        `then` is how many seconds the caller waits by itself after that (see `settled`).
        """
        return Waiting(self, seconds, _Asker(hears, rewrites, seconds + then), on_wait)

    @property
    def crowded(self) -> bool:
        """Whether so many wait for answers already that one more would not be held."""
        return self._waiters.full

    @property
    def awaited(self) -> bool:
        """Whether anybody waits for an answer."""
        return self._waiters.held > 0

    def let_go(self) -> None:
        """Nobody waits any longer: this process ends, and questions stay where they are."""
        self._waiters.let_go()

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

    def kept(self, id: str) -> tuple[Kept, tuple[Vote, ...]]:
        """A question as it is kept, and who has agreed so far. NoQuestionError if there is none."""
        row, kept = self._book.asked(id)
        return kept, self._votes.of(row, kept) if kept.question.approvers else ()

    def kinds_granted(self, kept: Kept) -> list[tuple[Given, str]]:
        """Grants for kinds of calls that whoever asks has, each with what of this call it has not."""
        call = (
            edited_call(kept.question, kept.question.arguments) if isinstance(kept.question.arguments, dict) else None
        )
        wanted = Wanted(kept.bound, kept.kind_bound, call, kept.asked)
        return [(given, self._taker.outside(given, wanted)) for given in self._taker.of_kinds(kept.kind_bound)]

    def approve(
        self,
        id: str,
        by: str,
        scope: Scope = ONCE,
        *,
        comment: str = "",
        arguments: dict[str, Any] | None = None,
        kind: str = "",
        role: ApproverRole = "approver",
    ) -> Question:
        """Say yes; with other `arguments`, to the call that they make. `kind` is the widening of a scope `kind`.

        Where several must agree it is one vote of them, and the question may wait on. Raises NoQuestionError,
        AnsweredError, TooLateError, ScopeError, EditError or VoteError.

        INVARIANT: who asks for this has shown that `by` is a person and no agent.
        """
        seal = self._own_seal()
        done = self._book.approve(
            id, by, scope, seal, comment=comment, arguments=arguments, kind=kind, role=role
        )  # fmt: skip
        return self._told(done, "answered" if done.answer is not None else "voted")

    def deny(self, id: str, by: str, reason: str = "", *, comment: str = "") -> Question:
        """Say no. Raises NoQuestionError, AnsweredError or TooLateError."""
        return self._told(self._book.deny(id, by, self._own_seal(), reason=reason, comment=comment), "answered")

    def defer(self, id: str, by: str, comment: str = "") -> Question:
        """Answer later: the agent is told to go on with other work. Raises as `deny` does."""
        return self._told(self._book.defer(id, by, self._own_seal(), comment=comment), "deferred")

    def grants(self, *, limit: int = 1000) -> list[Given]:
        """Grants that can still be used, pauses among them, the oldest first. Those with a `problem` are none."""
        known = self._uses.known()  # before the rows: what is used meanwhile must not look as if they were set back
        rows = self._store.grants(now_ns=self._clock(), limit=limit)
        return [self._taker.given(row, known.get(row.id, 0)) for row in rows]

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

    def escalate(self) -> None:
        """Tell of questions that go to others now, as nobody answered. Each is told once, whoever looks."""
        now = moment(self._clock())
        for question in self.asked():
            for at, to in escalates(question):
                if at <= now and self._store.spend(f"escalated:{question.id}:{to}", 1, budget=1) is not None:
                    log.warning("question %s goes to the role %s, too: nobody answered in time", question.id, to)
                    if self._on_escalated is not None:
                        self._on_escalated(question)
                    self.happened("escalated", question.id)

    def seal(self) -> Seal:
        """What only a server signs with. NotProvenError if this is none."""
        return self._own_seal()

    def paused(self, request: PermissionRequest) -> Approved | None:
        """The yes of a pause to a question, if one answers it. Blocks."""
        return None if self._seal is None else self.pauses.answering(request)

    def _own_seal(self) -> Seal:
        if self._seal is None:
            raise NotProvenError(NO_SERVER, "no_server")
        return self._seal

    def _forged(self, id: str) -> str:
        return f"the answer to question {id} in the store is INVALID: {self._verifier.doubt}"

    def _told(self, question: Question, word: str) -> Question:
        if word != "voted":
            self._waiters.wake([question.id])
        if word == "answered":
            self.news.add(question)
        self.happened(word, question.id)
        return question

    def _consult(
        self, request: PermissionRequest, waited_for: str, asker: _Asker
    ) -> Approved | Deny | Edited | _OpenQuestion:
        """What is known about a call: a pause, a grant, a no, or a question that waits. Blocks."""
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
        call = request.subject if isinstance(request.subject, ToolCall) else None
        wanted = Wanted(
            bound_to,
            kind_bound(subject, self._key),
            call,
            asked_by(request.findings, self._key),
            approvers_of(request.findings),
        )
        if (approved := self.pauses.answering(request) or self._taker.take(wanted, waited_for)) is not None:
            return approved
        return self._put(request, subject, wanted, waited_for, asker)

    def _put(
        self, request: PermissionRequest, subject: Subject, wanted: Wanted, waited_for: str, asker: _Asker
    ) -> Approved | Deny | Edited | _OpenQuestion:
        """The question about a call. Whoever asks the same at the same time, here or elsewhere, gets the same one.

        Questions about a call are numbered. Of several who see that the last one is over, one counts on.
        """
        counter = f"question:{wanted.bound.session}"
        while True:
            number, now = self._store.spent(counter), self._clock()
            id = question_id(digest(self._key, b"question", wanted.bound.session, str(number)))
            row = self._store.approval(id)
            if row is None:
                if (refused := self._refused(request, subject, now)) is not None:
                    return refused
                if (opened := self._ask(id, request, subject, wanted, now, asker)) is not None:
                    return opened
                continue  # somebody was faster
            if (kept := kept_of(row, self._verifier)) is not None and kept.bound == wanted.bound:
                standing = self._standing(row, kept, wanted, waited_for)
                if standing is not None:
                    return standing
            self._store.spend(counter, 1, budget=number + 1)

    def _ask(
        self, id: str, request: PermissionRequest, subject: Subject, wanted: Wanted, now: int, asker: _Asker
    ) -> _OpenQuestion | None:
        """Put a new question. None if there is one of this id."""
        from interpose.people.approvals.known_calls import known_of

        # INVARIANT: a question that goes to others after a time waits long enough for them, too. And the time to
        # answer begins when its caller has gone, whatever ended the caller: until then the agent stands still.
        later = max((one.escalate_after for one in approvers_of(request.findings)), default=0.0)
        expires = now + self._timeout_ns + round((later + asker.seconds) * _SECOND)
        known = known_of(request, self._redactor, hears=asker.hears, rewrites=asker.rewrites)
        question = written(id, request, subject, redactor=self._redactor, asked_ns=now, expires_ns=expires, known=known)
        kept = Kept(question, wanted.bound, wanted.asked, known.kinds, wanted.kind_bound)
        if not self._store.ask(row_of(kept, self._own_seal(), asked_ns=now, expires_ns=expires)):
            return None
        if self._on_question is not None:
            self._on_question(question)
        self.happened("opened", id)
        return _OpenQuestion(question, expires)

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

    def _standing(
        self, row: Approval, kept: Kept, wanted: Wanted, waited_for: str
    ) -> Approved | Deny | Edited | _OpenQuestion | None:
        """What the last question about a call says now; None if it says nothing any more."""
        now = self._clock()
        if not row.answer and row.expires_ns > now:
            return _OpenQuestion(kept.question, row.expires_ns, put_off(kept.question))
        answer = answer_of(row, self._verifier)
        if answer is not None and answer.approved:
            # It may have been approved since we looked for a grant.
            return self._taker.take(wanted, waited_for) or self._edited(row, kept, answer)
        ended = row.answered_ns if row.answer else row.expires_ns
        if ended + REST_SECONDS * _SECOND <= now:
            return None
        if not row.answer:
            return Deny(f"Nobody answered question {row.id} in time", rule="approval-timeout")
        if answer is None:
            self.alarms(f"answer:{row.id}", self._forged(row.id))
            return Deny(f"The answer to question {row.id} was not given through a server", rule="approval-invalid")
        why = f": {answer.comment}" if answer.comment else ""
        word = f"\n{answer.by} says: {answer.word}" if answer.word else ""
        return Deny(f"Denied by {answer.by} (question {row.id}){why}{word}", rule="approval-denied")

    def _edited(self, row: Approval, kept: Kept, answer: Answer) -> Edited | None:
        """The call that a person wrote instead, as long as nobody has made it."""
        if answer.arguments is None:
            return None
        subject = edit_subject(kept, answer.arguments, self._key)
        if not self._taker.is_left(row.id, subject):
            return None
        return Edited(answer.arguments, answer.by, row.id)

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


def put_off(question: Question) -> str:
    """What the agent is told of a question that somebody will answer later; empty if nobody said so."""
    if (deferred := question.deferred) is None:
        return ""
    said = f" {deferred.by} says: {deferred.comment}" if deferred.comment else ""
    return f"{deferred.by} will answer this later. Go on with other work, and make the same call again then.{said}"


class Waiting:
    """A confirmation handler whose questions are answered at the desk."""

    counts_votes = True

    def __init__(self, desk: Desk, seconds: float, asker: _Asker, on_wait: OnWait | None = None) -> None:
        self._desk, self._seconds, self._asker, self._on_wait = desk, seconds, asker, on_wait

    async def confirm(self, request: PermissionRequest, /) -> Approved | Deny | Pending | Edited:
        """A grant first, else a question. Pending if nobody answers in the time that there is, or somebody puts it
        off."""
        import asyncio

        desk, end, waited_for = self._desk, monotonic() + self._seconds, ""
        while True:
            known = await asyncio.to_thread(desk._consult, request, waited_for, self._asker)  # noqa: SLF001 - one desk, two halves
            if not isinstance(known, _OpenQuestion):
                return known
            left = end - monotonic()
            if left <= 0 or known.word:
                return Pending(known.asked.id, known.word)
            until_expiry = (known.expires_ns - desk._clock()) / _SECOND  # noqa: SLF001 - as above
            left = max(0.0, min(left, until_expiry))
            if self._on_wait is not None and not waited_for and not desk.crowded:
                self._on_wait(known.asked, left)
            waited_for = known.asked.id
            if not await desk._waiters.wait(waited_for, left):  # noqa: SLF001 - as above
                return Pending(waited_for)
