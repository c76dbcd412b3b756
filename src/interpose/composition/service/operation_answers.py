"""What a server answers to those who operate it: written by the routes, read by the verbs.

One shape for both: a field that a route adds is there for the verb.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from interpose.composition.service.question_views import AnsweredQuestion
from interpose.people.approvals.grants import Given
from interpose.people.approvals.questions import Question


class BypassRow(Struct, frozen=True, kw_only=True):
    """A bypass as people see it. With a `problem` it is none: nothing passes by it."""

    id: str
    command: str
    by: str
    reason: str
    given: datetime
    ends: datetime
    session: str = ""
    problem: str = ""


class BypassesAnswer(Struct, frozen=True):
    """Bypasses that have not ended, the oldest first."""

    bypasses: list[BypassRow]


class Pause(Struct, frozen=True, kw_only=True):
    """A pause that holds now."""

    id: str
    by: str
    begun: datetime
    ends: datetime
    agent: str = ""
    reason: str = ""


class PausesAnswer(Struct, frozen=True):
    """All that hold now."""

    pauses: list[Pause]


class BegunHandOver(Struct, frozen=True, kw_only=True):
    """An agent that may ask, and who said so."""

    host: str
    by: str
    begun: datetime


class HandOversAnswer(Struct, frozen=True):
    """All of them, whether the configuration lets them count, and where an agent ran something unasked."""

    hand_overs: list[BegunHandOver]
    counts: bool
    ended: list[str]


class PageAddress(Struct, frozen=True):
    """Where a browser finds the page."""

    address: str


class Paired(Struct, frozen=True):
    """Who is signed in now. `arrived` is False if no browser came that shows the code."""

    name: str
    role: str
    arrived: bool


class SignedOut(Struct, frozen=True):
    """How many browsers were signed in."""

    ended: int


class ApprovalsAnswer(Struct, frozen=True):
    """Questions: those that wait with the oldest first, all others with the newest first."""

    approvals: list[Question]


class BatchItem(Struct, frozen=True, omit_defaults=True):
    """What became of one question. `error` and `message` say why it was not answered."""

    id: str
    question: AnsweredQuestion | None = None
    error: str = ""
    message: str = ""


class BatchAnswers(Struct, frozen=True):
    """What became of each question, in the order in which they were named."""

    answers: list[BatchItem]


class GrantsAnswer(Struct, frozen=True):
    """Grants that can still be used, the oldest first."""

    grants: list[Given]
