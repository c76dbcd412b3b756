"""What becomes of a question: a yes, a yes to another call, no answer yet; and who may give the answer.

Frozen values that cross layers, as those of types.py, and importing nothing of ours.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

ApproverRole = Literal["approver", "operator"]
"""Who answers, by the roles that callers of the server have. An operator may do what an approver may."""


class Approvers(Struct, frozen=True):
    """Who must agree to what a rule asks: so many people of a role, and none of them is the one who asked.

    With `escalate_after` seconds without an answer, those of the role `escalate_to` count, too.
    """

    role: ApproverRole = "approver"
    count: int = 1
    escalate_after: float = 0.0
    escalate_to: ApproverRole = "operator"


class Approved(Struct, frozen=True):
    """A question was answered with yes. `by` is who said so, for the record; `word` is what they say to the agent."""

    by: str
    word: str = ""


class Pending(Struct, frozen=True):
    """A question still waits for its answer. `approval` is its id in the queue; empty where another asks the person.

    `word` is what a person says to the agent meanwhile: whoever says something wants it to go on with other work.
    """

    approval: str = ""
    word: str = ""


class Edited(Struct, frozen=True):
    """A yes to the same call with other arguments: those that a person wrote. It is no yes to the call as it is.

    `approval` is the question that was answered so.
    """

    arguments: dict[str, Any]
    by: str
    approval: str = ""
