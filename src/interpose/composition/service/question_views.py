"""One question with all that a person needs to answer it, from facts. What the agent says of it stands apart."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs
from msgspec import json as fast

from interpose.composition.service.recorded_past import would_have_let_through
from interpose.core.errors import StoreError
from interpose.people.approvals.asks_again import AsksAgain, asks_again
from interpose.people.approvals.questions import Question, Widening
from interpose.people.approvals.votes import Missing, Vote, escalates, missing

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.people.approvals.questions import Kept

EARLIER = 200
"""The newest questions among which one like this is looked for."""
LONGEST_DIFF = 64 * 1024
MOST_LINES = 2000
_OWN_WORDS = ("description", "explanation", "justification", "toolSummary", "reason")
_EDITING = (("old_string", "new_string"), ("old_str", "new_str"), ("oldString", "newString"), ("search", "replace"))


class Escalation(Struct, frozen=True):
    """When a question goes to whom besides."""

    at: datetime
    to: str


class ShownQuestion(Question, frozen=True, kw_only=True):
    """A question as one person looks at it.

    `description` is what the agent says of the call, in its own words. `diff` is what an edit would change in a file,
    or what a person changed in the call. `asks_again` is why it is asked although something like it was granted.
    `votes` are those who agreed, `missing` who must still.
    """

    description: str = ""
    diff: str = ""
    asks_again: AsksAgain | None = None
    votes: tuple[Vote, ...] = ()
    missing: tuple[Missing, ...] = ()
    escalates: tuple[Escalation, ...] = ()
    looked_at_by: tuple[str, ...] = ()


class AnsweredQuestion(Question, frozen=True, kw_only=True):
    """A question that was answered, voted on or put off just now. `notes` are what whoever did so should know."""

    notes: tuple[str, ...] = ()


def shown_question(service: Service, id: str) -> ShownQuestion:
    """Everything about one question. NoQuestionError if there is none. Blocks."""
    desk = service.desk
    question = desk.question(id)
    kept, votes = desk.kept(id)
    facts: dict[str, Any] = {name: getattr(question, name) for name in Question.__struct_fields__}
    if question.state == "waiting":
        facts["widenings"] = _with_past(service, question, kept)
    again = _why_again(service, question, kept)
    left = missing(question.approvers, votes, question.asked) if question.state == "waiting" else ()
    return ShownQuestion(
        **facts, description=own_words(question), diff=diff_of(question), asks_again=again,
        votes=votes, missing=left, escalates=tuple(Escalation(at, to) for at, to in escalates(question)),
        looked_at_by=desk.onlookers.of(question.id),
    )  # fmt: skip


def answered(question: Question, notes: Iterator[str]) -> AnsweredQuestion:
    """A question with what whoever answered it should know."""
    facts: dict[str, Any] = {name: getattr(question, name) for name in Question.__struct_fields__}
    return AnsweredQuestion(**facts, notes=tuple(notes))


def _with_past(service: Service, question: Question, kept: Kept) -> tuple[Widening, ...]:
    try:
        past = would_have_let_through(service.store, question, kept.kinds, round(question.asked.timestamp() * 1e9))
    except StoreError:
        return question.widenings  # the ledger can't be read: what is offered stays what it is
    return tuple(structs.replace(one, would_have_let_through=past.get(one.id)) for one in question.widenings)


def _why_again(service: Service, question: Question, kept: Kept) -> AsksAgain | None:
    desk = service.desk
    return asks_again(question, desk.recent(limit=EARLIER), desk.kinds_granted(kept))


def own_words(question: Question) -> str:
    """What the agent says that the call is for. It may say anything."""
    arguments = question.arguments
    if not isinstance(arguments, dict):
        return ""
    return next((text for name in _OWN_WORDS if isinstance(text := arguments.get(name), str) and text), "")


def diff_of(question: Question) -> str:
    """What changes: in the call, where a person edited it; else in the file that the call edits."""
    answer, arguments = question.answer, question.arguments
    if answer is not None and answer.arguments is not None:
        return changes(arguments, answer.arguments, "as it was approved")
    if question.original_arguments is not None:
        return changes(question.original_arguments, arguments, "as it would run")
    if isinstance(arguments, dict):
        for old, new in _EDITING:
            before, after = arguments.get(old), arguments.get(new)
            if isinstance(before, str) and isinstance(after, str):
                return _diff(before, after, "before", "after")
    return ""


def changes(came: object, other: object, called: str) -> str:
    """What is different in the arguments of a call from those that came."""
    return _diff(_text(came), _text(other), "as it came", called)


def _text(arguments: object) -> str:
    command = arguments.get("command") if isinstance(arguments, dict) else None
    if isinstance(command, str) and isinstance(arguments, dict) and len(arguments) == 1:
        return command
    return fast.format(fast.encode(arguments), indent=2).decode()


def _diff(before: str, after: str, was: str, now: str) -> str:
    old, new = before[:LONGEST_DIFF].splitlines(), after[:LONGEST_DIFF].splitlines()
    lines = unified_diff(old[:MOST_LINES], new[:MOST_LINES], was, now, lineterm="")
    return "\n".join(lines)
