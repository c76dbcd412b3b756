"""Inbox: questions that wait for a person, and one of them with everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.composition.service.question_views import ShownQuestion, shown_question
from interpose.doors.http.answering import done
from interpose.doors.page.answer_forms import LONGEST_WORD, answer_forms, proof_fields
from interpose.doors.page.frame import MOST_WAITING, Shown, shown
from interpose.doors.page.html import Content, Html, tag
from interpose.doors.page.page_visits import Tab, Visit
from interpose.doors.page.pause_forms import pause_form, pauses
from interpose.doors.page.pieces import question_path
from interpose.doors.page.question_card import full_card, short_card
from interpose.doors.page.screens import Screen
from interpose.people.approvals.questions import Question, spoken_id

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

LISTED = MOST_WAITING
"""Cards of a list. The oldest come first: they end first."""
_ANSWERED = 20


def screens() -> tuple[Screen, ...]:
    """The list, and one question. The answers are in inbox_answers.py."""
    return (
        Screen("GET", "/inbox", "approver", _inbox, "Questions that wait", Tab("Inbox", count_asked)),
        Screen("GET", "/inbox/{id}", "approver", _question, "One question"),
    )


def count_asked(service: Service, most: int) -> int:
    """How many questions wait: those that the list shows, counted up to so many. Blocks."""
    return len(service.desk.asked(limit=most))


async def _inbox(visit: Visit) -> Shown:
    desk = visit.service.desk
    waiting = await done(lambda: desk.asked(limit=LISTED + 1))
    answered = [one for one in await done(lambda: desk.recent(limit=_ANSWERED)) if one.state != "waiting"]
    standing = await done(desk.pauses.standing)
    return shown(
        "Inbox", pauses(visit, standing), _waiting(visit, waiting), pause_form(visit), _over(answered)
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
            tag(
                "div",
                tag("button", "Approve all, once each", name="answer", value="approve", class_="yes", id="approve-all"),
                tag("button", "Deny all", name="answer", value="deny", class_="no", id="deny-all", formnovalidate=True),
                class_="apart",
            ),
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


async def _question(visit: Visit) -> Shown:
    id = spoken_id(visit.request.params["id"])
    question = await done(lambda: shown_question(visit.service, id))
    _look(visit, question.id)
    further = tag("p", tag("a", "Next question", href="/inbox")) if visit.outcome() else None
    return shown("Question", *question_parts(visit, question, further))


def _look(visit: Visit, id: str) -> None:
    """Whoever has it open is seen by others."""
    if visit.service.desk.onlookers.look(id, visit.session.name):
        visit.service.events.heard("looked-at", id)


def question_parts(
    visit: Visit, question: ShownQuestion, *notes: Content, typed: Visit | None = None
) -> list[Content]:  # fmt: skip
    """A question and its forms. `typed` is what was tried just now and did not work."""
    forms = answer_forms(visit, question, typed=typed)
    return [*notes, full_card(question, visit), tag("div", forms, id="answers", data_gone="questions")]
