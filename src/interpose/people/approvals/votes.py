"""Four eyes: questions that several people must answer. Their votes are signed one by one, and kept beside them.

INVARIANT: a vote counts once for a person, never for the one who asked, and only for the very call that was asked
about. A no needs no votes: the first one is the answer.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import MsgspecError, Struct
from msgspec import json as fast

from interpose.core.answers import ApproverRole, Approvers
from interpose.core.errors import StoreError, VoteError
from interpose.people.approvals.questions import Kept, Question
from interpose.people.approvals.seal import Seal, Sealed, Verifier
from interpose.record.store.protocols import Approval, SessionState

_PREFIX = "votes:"
_HOOK = "hook:"
_ATTEMPTS = 20
MOST_VOTES = 50


class Vote(Struct, frozen=True, kw_only=True):
    """A yes of one person. `terms` is what exactly they agree to, where that is not the call as it is."""

    by: str
    role: ApproverRole
    at: datetime
    terms: str = ""
    comment: str = ""


class Missing(Struct, frozen=True):
    """How many more must agree, and who."""

    role: ApproverRole
    count: int


class VoteStore(Protocol):
    """What is needed of a store."""

    def load_session(self, session: str) -> SessionState | None:
        """A state as it is now."""

    def save_session(self, session: str, body: bytes, *, version: int, now_ns: int) -> bool:
        """Replace the state that had this version; 0 makes a new one. False: somebody else was faster."""


_ballots = fast.Decoder(tuple[Sealed, ...]).decode
_vote = fast.Decoder(Vote).decode


class VoteBook:
    """The votes of all questions."""

    def __init__(self, store: VoteStore, verifier: Verifier, alarm: Callable[[str, str], object]) -> None:
        self._store, self._verifier, self._alarm = store, verifier, alarm

    def of(self, row: Approval, kept: Kept) -> tuple[Vote, ...]:
        """Who has agreed so far. What no server of ours signed is no vote, and an alarm."""
        return self._read(row, kept)[0]

    def cast(self, row: Approval, kept: Kept, vote: Vote, seal: Seal, *, now_ns: int) -> tuple[Vote, ...]:
        """Add a vote. All of them with it. VoteError if there is one of the same person, or for something else."""
        name = _PREFIX + row.id
        for _ in range(_ATTEMPTS):
            votes, ballots, version = self._read(row, kept)
            for known in votes:
                if _same_person(known.by, vote.by):
                    raise VoteError(f"{vote.by} has agreed already: another person must, too")
                if known.terms != vote.terms:
                    raise VoteError(
                        f"{known.by} agreed to other arguments than these: agree to the same ones, or deny the call"
                    )
            if len(votes) >= MOST_VOTES:
                raise VoteError("no more votes are taken")
            mine = seal.sealed("vote", fast.encode(vote), *_bound_to(row, kept))
            if self._store.save_session(name, fast.encode((*ballots, mine)), version=version, now_ns=now_ns):
                return (*votes, vote)
        raise StoreError("others vote all the time: try again")

    def _read(self, row: Approval, kept: Kept) -> tuple[tuple[Vote, ...], tuple[Sealed, ...], int]:
        state = self._store.load_session(_PREFIX + row.id)
        if state is None:
            return (), (), 0
        try:
            ballots = _ballots(state.body)
        except MsgspecError:
            ballots = ()
        ours = tuple(one for one in ballots if self._verifier.accepts("vote", one, *_bound_to(row, kept)))
        if len(ours) < len(ballots) or (not ballots and state.body != b"[]"):
            self._alarm(
                f"vote:{row.id}", f"a vote on question {row.id} in the store is INVALID: {self._verifier.doubt}"
            )
        return tuple(_vote(one.content) for one in ours), ours, state.version


def _bound_to(row: Approval, kept: Kept) -> tuple[str | int, ...]:
    """Not its end, which may be put off."""
    return row.id, row.created_ns, kept.bound.session, kept.bound.principal


def missing(approvers: Sequence[Approvers], votes: Sequence[Vote], asked: datetime) -> tuple[Missing, ...]:
    """Who must still agree."""
    left = [(one, one.count - sum(_fits(one, vote.role, vote.at, asked) for vote in votes)) for one in approvers]
    return tuple(Missing(one.role, count) for one, count in left if count > 0)


def require_voter(question: Question, by: str, role: ApproverRole, now: datetime) -> None:
    """Raises VoteError unless this person is one of those who must agree."""
    asker = question.principal or _own_user(question)
    if not asker:
        raise VoteError("it is not known who asked, so nobody is known to be another person")
    if any(_same_person(by, name) for name in (asker, question.claimed) if name):
        raise VoteError(f"{by} asked for this: another person must agree")
    if not any(_fits(one, role, now, question.asked) for one in question.approvers):
        wanted = " and ".join(dict.fromkeys(one.role for one in question.approvers))
        raise VoteError(f"this is for people of the role {wanted} to answer, not {role}")


def escalates(question: Question) -> tuple[tuple[datetime, ApproverRole], ...]:
    """When a question goes to whom besides, if it was not answered."""
    return tuple(
        (question.asked + timedelta(seconds=one.escalate_after), one.escalate_to)
        for one in question.approvers
        if one.escalate_after
    )


def _fits(needed: Approvers, role: ApproverRole, at: datetime, asked: datetime) -> bool:
    if role in ("operator", needed.role):
        return True
    late = bool(needed.escalate_after) and at >= asked + timedelta(seconds=needed.escalate_after)
    return late and role == needed.escalate_to


def _own_user(question: Question) -> str:
    """Whose agent asks through a hook that says no name. INVARIANT: only our own user reaches where hooks are heard."""
    if not question.source.startswith(_HOOK):
        return ""
    try:
        return f"user:{pwd.getpwuid(os.geteuid()).pw_name}"
    except KeyError:
        return f"user:{os.geteuid()}"


def _same_person(one: str, other: str) -> bool:
    """A user of this machine and a token of the same name are one person."""
    return _name(one) == _name(other)


def _name(who: str) -> str:
    return who.removeprefix("user:").strip().casefold()
