"""How a question is answered: yes, yes to another call, yes to a kind of call, one vote of several, no, or later.

INVARIANT: of all who answer a question at the same time one is the answer, and an answer is to the question as it was
shown: one that was put off meanwhile is another, and looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Protocol

from msgspec import structs

from interpose.core.answers import ApproverRole
from interpose.core.errors import AnsweredError, EditError, NoQuestionError, ScopeError, StoreError, TooLateError
from interpose.core.formats.plain_text import plain
from interpose.core.late import late_logger
from interpose.people.approvals.binding import digest
from interpose.people.approvals.edits import checked
from interpose.people.approvals.grants import grant_of
from interpose.people.approvals.questions import (
    Answer,
    Deferral,
    Kept,
    Question,
    answer_text,
    kept_of,
    moment,
    row_of,
    seen,
    spoken_id,
)
from interpose.people.approvals.scopes import Scope, end_of
from interpose.people.approvals.seal import Seal, Verifier
from interpose.people.approvals.votes import Vote, VoteBook, missing, require_voter
from interpose.people.widenings.kind_values import CallKind
from interpose.reading.secrets import Redactor
from interpose.record.store.protocols import Approval, Approvals

log = late_logger("interpose.approvals")

DEFERRED_FOR = timedelta(hours=24)
LONGEST_WAIT = timedelta(days=7)
"""How long a question waits that somebody put off, and how long at most, however often it was."""
_ATTEMPTS = 20
_SECOND = 1_000_000_000


class Attempt(Protocol):
    """Tries to answer a question as it is now. None if it is another one meanwhile."""

    def __call__(self, row: Approval, kept: Kept, now_ns: int, /) -> Question | None:
        """The question as it stands then."""


class AnswerBook:
    """Writes answers into the store. Safe to share by threads."""

    def __init__(
        self,
        store: Approvals,
        votes: VoteBook,
        verifier: Verifier,
        clock: Callable[[], int],
        key: bytes,
        redactor: Redactor,
    ) -> None:
        self._store, self._votes, self._verifier, self._clock = store, votes, verifier, clock
        self._key, self._redactor = key, redactor

    def asked(self, id: str) -> tuple[Approval, Kept]:
        """A question as it is kept. NoQuestionError if there is none."""
        row = self._store.approval(spoken_id(id))
        kept = None if row is None else kept_of(row, self._verifier)
        if row is None or kept is None:
            raise NoQuestionError(f"there is no question {id}")
        return row, kept

    def approve(
        self,
        id: str,
        by: str,
        scope: Scope,
        seal: Seal,
        *,
        comment: str,
        arguments: dict[str, Any] | None,
        kind: str,
        role: ApproverRole,
    ) -> Question:
        """Say yes, or vote for it."""
        voted = False

        def yes(row: Approval, kept: Kept, now_ns: int) -> Question | None:
            chosen, whole = self._scoped(kept, scope, kind, arguments, now_ns)
            edited = None
            if arguments is not None:
                edited = checked(kept, arguments, key=self._key, redactor=self._redactor)
            everybody = by
            if kept.question.approvers:
                nonlocal voted
                mine = None if voted else self._vote(kept, by, role, arguments, comment, now_ns)
                votes = (
                    self._votes.of(row, kept)
                    if mine is None
                    else self._votes.cast(row, kept, mine, seal, now_ns=now_ns)
                )
                voted = True
                if missing(kept.question.approvers, votes, kept.question.asked):
                    log.info("question %s was agreed to by %s, and waits for others", row.id, plain(by))
                    return self._seen(row, now_ns)
                everybody = ", ".join(vote.by for vote in votes)
            grant = grant_of(
                kept, whole, seal, by=everybody, comment=comment, now_ns=now_ns, kind=chosen, edited=edited
            )
            answer = Answer(
                approved=True, by=everybody, at=moment(now_ns), scope=whole, comment=comment, word=comment,
                arguments=arguments, kind=kind,
            )  # fmt: skip
            text = answer_text(answer, row, seal)
            done = self._store.approve(row.id, text, grant, body=row.body, approver=everybody, now_ns=now_ns)
            if done:
                return self._logged(row.id)
            now = self._seen(self.asked(id)[0], now_ns)
            # Whoever voted at the same time was faster, and counted this vote, too.
            return now if voted and now.answer is not None and now.answer.by == everybody else None

        return self._answered(id, yes)

    def deny(self, id: str, by: str, seal: Seal, *, reason: str, comment: str) -> Question:
        """Say no."""

        def no(row: Approval, _kept: Kept, now_ns: int) -> Question | None:
            answer = Answer(approved=False, by=by, at=moment(now_ns), comment=reason, word=comment)
            text = answer_text(answer, row, seal)
            done = self._store.answer(row.id, text, body=row.body, approver=by, now_ns=now_ns)
            return self._logged(row.id) if done else None

        return self._answered(id, no)

    def defer(self, id: str, by: str, seal: Seal, *, comment: str) -> Question:
        """Answer later."""

        def later(row: Approval, kept: Kept, now_ns: int) -> Question | None:
            last = row.created_ns + round(LONGEST_WAIT.total_seconds()) * _SECOND
            ends = max(row.expires_ns, min(last, now_ns + round(DEFERRED_FOR.total_seconds()) * _SECOND))
            deferred = Deferral(by=by, at=moment(now_ns), comment=comment)
            question = structs.replace(kept.question, expires=moment(ends), deferred=deferred)
            changed = row_of(structs.replace(kept, question=question), seal, asked_ns=row.created_ns, expires_ns=ends)
            if not self._store.postpone(structs.replace(changed, approver=by), body=row.body, now_ns=now_ns):
                return None
            log.info("question %s was put off by %s", row.id, plain(by))
            return question

        return self._answered(id, later)

    def _answered(self, id: str, answer: Attempt) -> Question:
        for _ in range(_ATTEMPTS):
            row, kept = self.asked(id)
            now = self._clock()
            if row.answer or row.expires_ns <= now:
                raise self._over(row.id, now)
            done = answer(row, kept, now)
            if done is not None:
                return done
        raise StoreError(f"question {id} changes all the time: try again")

    def _over(self, id: str, now_ns: int) -> AnsweredError | TooLateError:
        question = self._seen(self.asked(id)[0], now_ns)
        if question.state == "invalid":
            return AnsweredError(f"question {id} has an answer in the store that no server wrote: it counts as a no")
        if (answer := question.answer) is not None:
            word = "approved" if answer.approved else "denied"
            return AnsweredError(f"question {id} was {word} by {answer.by} already")
        return TooLateError(f"question {id} timed out at {question.expires:%Y-%m-%d %H:%M:%S} UTC")

    def _scoped(
        self, kept: Kept, scope: Scope, kind: str, arguments: dict[str, Any] | None, now_ns: int
    ) -> tuple[CallKind | None, Scope]:
        """The kind of call that is granted, and for how much."""
        if (scope.kind == "kind") != bool(kind):
            raise ScopeError("scope 'kind' needs one of the widenings" if not kind else f"{scope.kind!r} takes no kind")
        if arguments is not None and scope.kind != "once":
            raise ScopeError("a call that was edited is approved once")
        if kept.question.approvers and scope.kind != "once":
            raise ScopeError("what several people must agree to is approved once")
        if not kind:
            return None, scope
        wanted = next((one for one in kept.kinds if one.id.casefold() == kind.casefold()), None)
        if wanted is None:
            offers = ", ".join(one.id for one in kept.kinds) or "none"
            raise ScopeError(f"there is no widening {kind!r} of this call; there are: {offers}")
        return wanted, structs.replace(scope, until=end_of(scope, kept.question.session, moment(now_ns)))

    def _vote(
        self,
        kept: Kept,
        by: str,
        role: ApproverRole,
        arguments: dict[str, Any] | None,
        comment: str,
        now_ns: int,
    ) -> Vote:
        """The vote of somebody who may vote."""
        require_voter(kept.question, by, role, moment(now_ns))
        # INVARIANT: several who agree, agree to the same call.
        terms = "" if arguments is None else digest(self._key, b"terms", _exact(arguments))
        return Vote(by=by, role=role, at=moment(now_ns), terms=terms, comment=comment)

    def _seen(self, row: Approval, now_ns: int) -> Question:
        question = seen(row, now_ns, self._verifier)
        if question is None:
            raise NoQuestionError(f"there is no question {row.id}")
        return question

    def _logged(self, id: str) -> Question:
        question = self._seen(self.asked(id)[0], self._clock())
        if (answer := question.answer) is not None:
            scope = "" if answer.scope is None else answer.scope.text()
            log.info(
                "question %s about %s was %s by %s%s%s", question.id, plain(question.tool) or question.point.value,
                question.state, plain(answer.by), f" ({scope})" if scope else "",
                "" if answer.arguments is None else ", edited",
                extra={
                    "question": question.id, "state": question.state, "approver": answer.by, "scope": scope,
                    "session": question.session, "tool": question.tool,
                },
            )  # fmt: skip
        return question


def _exact(arguments: dict[str, Any]) -> str:
    import json

    try:
        return json.dumps(arguments, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise EditError(f"the arguments have no exact form: {error}") from None
