"""What people say to questions, as every surface takes it: checked, written down, and told what it comes to.

INVARIANT: whoever calls `approve` or `pause` has shown that a person is there (people/presence). A no needs no proof.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from interpose.composition.service.question_views import AnsweredQuestion, answered
from interpose.core.driving import drive
from interpose.core.errors import EditError, UnlikeError
from interpose.core.types import Deny, Verdict
from interpose.people.approvals.edits import context_of, edited_call
from interpose.people.approvals.questions import Question, spoken_id
from interpose.people.approvals.scopes import ONCE, Scope
from interpose.people.approvals.votes import missing

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.core.answers import ApproverRole
    from interpose.core.types import ToolCall

MOST_OF_A_BATCH = 100
_WHO = ("principal", "claimed", "agent", "role", "source")


class Yes(Struct, frozen=True, kw_only=True):
    """A yes: for how much it counts, what is said to the agent, other arguments, the kind of call."""

    scope: Scope = ONCE
    comment: str = ""
    arguments: dict[str, Any] | None = None
    kind: str = ""


def approve(service: Service, id: str, by: str, role: ApproverRole, yes: Yes) -> AnsweredQuestion:
    """Say yes. Raises what the desk raises, and EditError if the edited call would be refused. Blocks."""
    notes: list[str] = []
    if yes.arguments is not None:
        notes += _foreseen(service, service.desk.question(id), yes.arguments)
    done = service.desk.approve(
        id, by, yes.scope, comment=yes.comment, arguments=yes.arguments, kind=yes.kind, role=role
    )
    return answered(done, iter((*notes, *_notes(service, done, yes))))


def deny(service: Service, id: str, by: str, *, reason: str = "", comment: str = "") -> AnsweredQuestion:
    """Say no. The agent is told both texts when it hears of it. Blocks."""
    return answered(service.desk.deny(id, by, reason, comment=comment), iter(()))


def defer(service: Service, id: str, by: str, *, comment: str = "") -> AnsweredQuestion:
    """Answer later. Blocks."""
    done = service.desk.defer(id, by, comment)
    told = f"the agent is told to go on with other work; the question waits until {done.expires:%Y-%m-%d %H:%M} UTC"
    return answered(done, iter((told,)))


def require_alike(service: Service, ids: Sequence[str]) -> list[str]:
    """The questions of a batch, each once. UnlikeError if they are not of one kind: what is answered at once must be
    seen at once. NoQuestionError if there is none of an id. Blocks."""
    named = list(dict.fromkeys(spoken_id(id) for id in ids))
    if not 1 <= len(named) <= MOST_OF_A_BATCH:
        raise UnlikeError(f"1 to {MOST_OF_A_BATCH} questions are answered at once, not {len(named)}")
    questions = [service.desk.question(id) for id in named]
    first = questions[0]
    for other in questions[1:]:
        if (what := _unlike(first, other)) != "":
            raise UnlikeError(f"questions {first.id} and {other.id} are not alike: {what}")
    return named


def name_of_batch(ids: Sequence[str]) -> str:
    """What the proof of an answer to several questions is for: exactly these."""
    if len(ids) == 1:
        return ids[0]
    return f"batch-{hashlib.sha256(','.join(sorted(ids)).encode()).hexdigest()[:12]}"


def _unlike(one: Question, other: Question) -> str:
    """What makes two questions different kinds of questions."""
    if (one.point, one.tool, one.said) != (other.point, other.tool, other.said):
        return "another tool"
    if set(one.rules) != set(other.rules):
        return "other rules ask"
    if {effect.kind for effect in one.effects} != {effect.kind for effect in other.effects}:
        return "other effects"
    # Hooks name no agent of their own: then it is the host that tells two of them apart.
    if any(getattr(one, name) != getattr(other, name) for name in _WHO):
        return "another agent"
    return ""


def _foreseen(service: Service, question: Question, arguments: dict[str, Any]) -> list[str]:
    """What would be said now about a call that a person wrote: whoever writes it hears of a refusal at once."""
    call = edited_call(question, arguments)
    context = context_of(question)
    verdict: Verdict[ToolCall] = drive(service.policies.engine(context).flow(context).decide(call))
    if isinstance(verdict.decision, Deny):
        rule = f" ({verdict.rule})" if verdict.rule else ""
        raise EditError(f"the edited call would be refused{rule}: {verdict.reason}")
    known = {(found.interceptor, found.rule) for found in question.findings}
    others = {
        found.rule or found.interceptor
        for found in verdict.findings
        if found.said == "ask" and found.mode == "enforce" and (found.interceptor, found.rule) not in known
    }
    if not others:
        return []
    return [f"the edited call is asked about by others, too ({', '.join(sorted(others))}): that will be a new question"]


def _notes(service: Service, done: Question, yes: Yes) -> Iterator[str]:
    if done.answer is None:
        kept, votes = service.desk.kept(done.id)
        for left in missing(kept.question.approvers, votes, done.asked):
            yield f"your vote counts; {left.count} more of the role {left.role} must agree"
    if yes.comment and not done.hears:
        yield "this agent's host has no place for a word beside a result: yours is in the record only"
    if yes.arguments is not None and not done.rewrites:
        yield "this agent's host runs calls as they came: the agent is shown the edited call, and may make it"
