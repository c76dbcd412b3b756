"""Answers to questions, as the forms of the Inbox send them.

INVARIANT: what was answered is shown at an address of its own: to load that again answers nothing again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from interpose.composition.service import people_answers
from interpose.composition.service.people_answers import MOST_OF_A_BATCH, Yes
from interpose.composition.service.question_views import AnsweredQuestion, shown_question
from interpose.core.answers import ApproverRole
from interpose.core.errors import ScopeError, text_of
from interpose.doors.http import proving
from interpose.doors.http.answering import done
from interpose.doors.http_server.messages import Refusal, Response
from interpose.doors.page.answer_forms import LONGEST_WORD
from interpose.doors.page.edit_fields import editable, edited
from interpose.doors.page.frame import Shown, shown
from interpose.doors.page.html import tag
from interpose.doors.page.inbox_screen import question_parts
from interpose.doors.page.outcomes import told
from interpose.doors.page.page_sessions import OutcomeLine
from interpose.doors.page.page_visits import Visit
from interpose.doors.page.pieces import question_path
from interpose.doors.page.screens import Screen, Show
from interpose.people.approvals.questions import Question, spoken_id
from interpose.people.approvals.scopes import Scope, scope

Answering = Callable[[Visit, str], Awaitable[AnsweredQuestion]]


def screens() -> tuple[Screen, ...]:
    """One address for each answer."""

    def post(path: str, show: Show, summary: str) -> Screen:
        return Screen("POST", path, "approver", show, summary)

    return (
        post("/inbox/batch", _batch, "Answer several"),
        post("/inbox/{id}/approve", _answering(_approve), "Let it run"),
        post("/inbox/{id}/edit", _answering(_approve_edited), "Let another call run"),
        post("/inbox/{id}/deny", _answering(_deny), "Refuse it"),
        post("/inbox/{id}/defer", _answering(_defer), "Answer later"),
    )


def _answering(answer: Answering) -> Show:
    """A form's answer. What the desk refuses is said above the question, with what was typed still there."""

    async def handler(visit: Visit) -> Shown | Response:
        id = spoken_id(visit.request.params["id"])
        try:
            given = await answer(visit, id)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            question = await done(lambda: shown_question(visit.service, id))
            said = tag("p", refusal.message, role="alert", class_="problem", data_error=refusal.code)
            return shown("Question", *question_parts(visit, question, said, typed=visit), status=refusal.status)
        return await told(visit, question_path(id), OutcomeLine(_told(given), notes=given.notes))

    return handler


def _told(question: Question) -> str:
    match question.state:
        case "approved":
            return "You let it run."
        case "denied":
            return "You refused it."
        case "waiting":
            return "Noted. It still waits." if question.deferred is None else "You answer later."
        case "expired" | "invalid":
            return "It is over."


async def _approve(visit: Visit, id: str) -> AnsweredQuestion:
    chosen, kind = _scope(visit)
    return await _say_yes(visit, id, Yes(scope=chosen, comment=_text(visit, "comment"), kind=kind))


async def _approve_edited(visit: Visit, id: str) -> AnsweredQuestion:
    question = await done(lambda: visit.service.desk.question(id))
    arguments = editable(question)
    if arguments is None:
        raise Refusal(400, "invalid_edit", "this call can't be edited: it is not shown whole")
    return await _say_yes(visit, id, Yes(comment=_text(visit, "comment"), arguments=edited(visit, arguments)))


async def _say_yes(visit: Visit, id: str, yes: Yes) -> AnsweredQuestion:
    def answer() -> AnsweredQuestion:
        proving.prove(visit.service, visit.answerer(), id, proving.APPROVE)
        return people_answers.approve(visit.service, id, visit.session.name, _role(visit), yes)

    return await done(answer)


async def _deny(visit: Visit, id: str) -> AnsweredQuestion:
    reason, comment = _text(visit, "reason"), _text(visit, "comment")
    return await done(
        lambda: people_answers.deny(visit.service, id, visit.session.name, reason=reason, comment=comment)
    )


async def _defer(visit: Visit, id: str) -> AnsweredQuestion:
    comment = _text(visit, "comment")
    return await done(lambda: people_answers.defer(visit.service, id, visit.session.name, comment=comment))


async def _batch(visit: Visit) -> Response:
    ids, answer = visit.fields("ids"), visit.field("answer")
    if answer not in ("approve", "deny") or not 1 <= len(ids) <= MOST_OF_A_BATCH:
        raise Refusal(400, "invalid_request", f"tick 1 to {MOST_OF_A_BATCH} questions first")
    named = await done(lambda: people_answers.require_alike(visit.service, ids))
    if answer == "approve":
        subject = people_answers.name_of_batch(named)
        await done(lambda: proving.prove(visit.service, visit.answerer(), subject, proving.APPROVE))
    comment, by = _text(visit, "comment"), visit.session.name
    lines: list[OutcomeLine] = []
    for id in named:

        def act(id: str = id) -> AnsweredQuestion:
            if answer == "deny":
                return people_answers.deny(visit.service, id, by, comment=comment)
            return people_answers.approve(visit.service, id, by, _role(visit), Yes(comment=comment))

        try:
            given = await done(act)
            lines.append(OutcomeLine(given.state, question=id, notes=given.notes))
        except Refusal as refusal:  # the others are answered all the same
            lines.append(OutcomeLine(refusal.message, question=id, failed=True))
    return await told(visit, "/inbox", *lines)


def _role(visit: Visit) -> ApproverRole:
    return "operator" if visit.session.role == "operator" else "approver"


def _scope(visit: Visit) -> tuple[Scope, str]:
    """For how much a yes counts, and the kind of call that was chosen."""
    word, _, kind = (visit.field("scope") or "once").partition(":")
    try:
        match word:
            case "once" | "session":
                return scope(word), ""
            case "uses":
                return scope("uses", uses=_number(visit, "uses")), ""
            case "until":
                return scope("until", until=_later(visit, "minutes")), ""
            case "kind":
                return scope("kind", uses=_number(visit, "kind_uses"), until=_later(visit, "kind_minutes")), kind
            case _:
                raise Refusal(400, "invalid_scope", "choose for how much your yes counts")
    except ScopeError as error:
        raise Refusal(400, "invalid_scope", text_of(error)) from None


def _later(visit: Visit, name: str) -> datetime:
    return datetime.now(UTC) + timedelta(minutes=_number(visit, name))


def _number(visit: Visit, name: str) -> int:
    text = visit.field(name)
    if not text.isdecimal() or not text.isascii() or len(text) > 7:
        raise Refusal(400, "invalid_scope", f"{name.replace('_', ' ')}: a whole number is wanted")
    return int(text)


def _text(visit: Visit, name: str) -> str:
    text = visit.field(name)
    if len(text) > LONGEST_WORD:
        raise Refusal(400, "invalid_request", f"{name}: {LONGEST_WORD} letters at most")
    return text
