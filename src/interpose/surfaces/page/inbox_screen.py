"""Inbox: questions that wait for a person, one of them with everything, and the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from interpose.answers import ApproverRole
from interpose.approvals.questions import Question, spoken_id
from interpose.approvals.scopes import Scope, scope
from interpose.errors import ScopeError, text_of
from interpose.service import people_answers
from interpose.service.people_answers import MOST_OF_A_BATCH, Yes
from interpose.service.question_views import AnsweredQuestion, ShownQuestion, shown_question
from interpose.surfaces.http import proving
from interpose.surfaces.http.answering import done
from interpose.surfaces.http_server.messages import Refusal, Response, Route
from interpose.surfaces.page.answer_forms import LONGEST_WORD, answer_forms, proof_fields
from interpose.surfaces.page.edit_fields import editable, edited
from interpose.surfaces.page.frame import shown
from interpose.surfaces.page.html import Content, Html, tag
from interpose.surfaces.page.page_visits import Visit, Visits
from interpose.surfaces.page.pause_forms import pause_form, pauses
from interpose.surfaces.page.pieces import question_path
from interpose.surfaces.page.question_card import full_card, short_card

LISTED = 50
"""Cards of a list. The oldest come first: they end first."""
_ANSWERED = 20

Answering = Callable[[Visit, str], Awaitable[AnsweredQuestion]]


def routes(visits: Visits) -> tuple[Route, ...]:
    """The list, one question, and one address for each answer."""

    def post(path: str, show: Callable[[Visit], Awaitable[Response]], summary: str) -> Route:
        return Route("POST", path, visits.screen("approver", show), "visitor", summary)

    return (
        Route("GET", "/inbox", visits.screen("approver", _inbox), "visitor", "Questions that wait"),
        Route("GET", "/inbox/{id}", visits.screen("approver", _question), "visitor", "One question"),
        post("/inbox/batch", _batch, "Answer several"),
        post("/inbox/{id}/approve", _answering(_approve), "Let it run"),
        post("/inbox/{id}/edit", _answering(_approve_edited), "Let another call run"),
        post("/inbox/{id}/deny", _answering(_deny), "Refuse it"),
        post("/inbox/{id}/defer", _answering(_defer), "Answer later"),
    )


async def _inbox(visit: Visit) -> Response:
    desk = visit.service.desk
    waiting = await done(lambda: desk.asked(limit=LISTED + 1))
    answered = [one for one in await done(lambda: desk.recent(limit=_ANSWERED)) if one.state != "waiting"]
    standing = await done(desk.pauses.standing)
    return shown(
        visit, "Inbox", pauses(visit, standing), _waiting(visit, waiting), pause_form(visit), _over(answered)
    )  # fmt: skip


def _waiting(visit: Visit, waiting: list[Question]) -> Html:
    cards: list[Content] = [short_card(one, _choosing(one)) for one in waiting[:LISTED]]
    if len(waiting) > LISTED:
        more = f"More than {LISTED} wait. Answer some, and the next come up."
        cards.append(tag("p", more, id="more-questions", class_="problem"))
    if not cards:
        cards = [tag("p", "Nothing waits for you.", id="no-questions", class_="quiet")]
    word = tag("label", "A word to the agent ", tag("input", name="comment", maxlength=LONGEST_WORD))
    return tag(
        "form",
        visit.csrf_field(),
        tag("div", cards, id="questions", data_live="questions", data_keyed=True),
        tag(
            "details",
            tag("summary", "Answer those that are ticked"),
            tag("p", "They must be of one kind: the same tool, agent, rules and kinds of effects.", class_="quiet"),
            word, proof_fields(visit.service),
            tag("button", "Approve all, once each", name="answer", value="approve", class_="yes", id="approve-all"),
            tag("button", "Deny all", name="answer", value="deny", class_="no", id="deny-all", formnovalidate=True),
            class_="batch",
        ),
        method="post",
        action="/inbox/batch",
    )  # fmt: skip


def _choosing(one: Question) -> Html:
    box = tag("input", type="checkbox", name="ids", value=one.id)
    return tag(
        "p", tag("label", box, " tick"), tag("a", "Look and answer", href=question_path(one.id), class_="button"),
        class_="actions",
    )  # fmt: skip


def _over(answered: list[Question]) -> Html:
    rows = [
        tag("li", tag("a", f"{one.id} {one.tool}", href=question_path(one.id)), f" {one.state}",
            f" by {one.answer.by}" if one.answer is not None else "")
        for one in answered
    ]  # fmt: skip
    return tag("details", tag("summary", "Answered before"), tag("ul", rows), id="answered", class_="over")


async def _question(visit: Visit) -> Response:
    id = spoken_id(visit.request.params["id"])
    question = await done(lambda: shown_question(visit.service, id))
    _look(visit, question.id)
    return shown(visit, "Question", *_one(visit, question))


def _look(visit: Visit, id: str) -> None:
    """Whoever has it open is seen by others."""
    if visit.service.desk.onlookers.look(id, visit.session.name):
        visit.service.events.heard("looked-at", id)


def _one(visit: Visit, question: ShownQuestion, *notes: Content, typed: Visit | None = None) -> list[Content]:
    forms = answer_forms(visit, question, typed=typed)
    return [*notes, full_card(question, visit.session.name), tag("div", forms, id="answers", data_gone="questions")]


def _answering(answer: Answering) -> Callable[[Visit], Awaitable[Response]]:
    """A form's answer. What the desk refuses is said above the question, with what was typed still there."""

    async def handler(visit: Visit) -> Response:
        id = spoken_id(visit.request.params["id"])
        try:
            given = await answer(visit, id)
        except Refusal as refusal:
            if refusal.status == 404:
                raise
            question = await done(lambda: shown_question(visit.service, id))
            said = tag("p", refusal.message, role="alert", class_="problem", data_error=refusal.code)
            return shown(visit, "Question", *_one(visit, question, said, typed=visit), status=refusal.status)
        question = await done(lambda: shown_question(visit.service, id))
        notes = [tag("p", note, class_="note") for note in given.notes]
        told = tag(
            "div", tag("p", _told(question), tag("a", " Next question", href="/inbox")), notes, role="status", id="told"
        )
        return shown(visit, "Question", *_one(visit, question, told))

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
        proving.prove(visit.service, visit.answerer(), id)
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
        await done(lambda: proving.prove(visit.service, visit.answerer(), people_answers.name_of_batch(named)))
    comment, by = _text(visit, "comment"), visit.session.name
    lines: list[Content] = []
    for id in named:

        def act(id: str = id) -> AnsweredQuestion:
            if answer == "deny":
                return people_answers.deny(visit.service, id, by, comment=comment)
            return people_answers.approve(visit.service, id, by, _role(visit), Yes(comment=comment))

        try:
            given = await done(act)
            lines.append(tag("li", tag("code", id), f" {given.state} ", [tag("small", note) for note in given.notes]))
        except Refusal as refusal:  # the others are answered all the same
            lines.append(tag("li", tag("code", id), " ", tag("span", refusal.message, class_="problem")))
    return shown(visit, "Answered", tag("ul", lines, id="told"), tag("p", tag("a", "Next question", href="/inbox")))


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
