"""`/a/{token}`: one question behind a signed link. GET shows it and changes nothing; POST answers it, once.

INVARIANT: whoever answers by a link has what only that person was sent, and the page that it opens. On this machine
that is not enough for a yes, since an agent here could have both: there it takes the same proof as anywhere else.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from msgspec import Struct

from interpose.composition.service import people_answers
from interpose.composition.service.people_answers import Yes
from interpose.core.errors import (
    AnsweredError,
    NoQuestionError,
    NotProvenError,
    StoreError,
    TooLateError,
    VoteError,
    text_of,
)
from interpose.core.formats.plain_text import one_line
from interpose.doors.http import proving
from interpose.doors.http.answer_pages import LONGEST_WORD, AnswerForm, question_page, said_page
from interpose.doors.http_server.messages import Request, Response, Route
from interpose.people.approvals.questions import Kept, Question, moment
from interpose.people.approvals.votes import Vote, missing, require_voter
from interpose.people.notifications.links import (
    PATH,
    AnswerLink,
    arguments_of,
    form_of,
    is_form,
    is_used,
    new_link,
    read_link,
    shown_digest,
    token_of,
    use_up,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.composition.service.service import Service

log = logging.getLogger("interpose.notifications")

_HTML = "text/html"
_FORM = "application/x-www-form-urlencoded"
_LARGEST = 16 << 10
_SECOND = 1_000_000_000
_CODES = ((403, "not_proven"), (404, "not_found"), (409, "already_answered"), (410, "too_late"))


class _NoAnswer(Exception):  # noqa: N818 - it is a page
    """Why a link is not followed."""

    def __init__(self, status: int, title: str, text: str) -> None:
        super().__init__(title)
        self.page = said_page(title, text, status=status)


class _Followed(Struct, frozen=True):
    """A link that counts, and the question that it leads to."""

    link: AnswerLink
    kept: Kept
    votes: tuple[Vote, ...]
    question: Question
    now: int


class _FormSaid(Struct, frozen=True, kw_only=True):
    """What came with a form."""

    answer: str = ""
    form: str = ""
    word: str = ""
    passphrase: str = ""
    code: str = ""


def routes(service: Service) -> tuple[Route, ...]:
    """Two methods of one path. Nobody needs a token: the link is what they have."""

    async def show(request: Request) -> Response:
        return await _page(lambda: _show(service, request, _follow(service, request)))

    async def answer(request: Request) -> Response:
        return await _page(lambda: _answer(service, request))

    return (
        Route(
            "GET", PATH, show, "public", "The question behind a link of a notification; nothing is answered",
            produces=(_HTML,), codes=_CODES, linked=True,
        ),
        Route(
            "POST", PATH, answer, "public", "Answer by the form of that page (form-urlencoded), once",
            produces=(_HTML,), codes=((400, "invalid_request"), (415, "invalid_content_type"), *_CODES),
        ),
    )  # fmt: skip


async def _page(work: Callable[[], Response]) -> Response:
    """A page in any case, made in a thread: the store may take its time."""
    try:
        return await asyncio.to_thread(work)
    except _NoAnswer as refused:
        return refused.page
    except NoQuestionError:
        return said_page("There is no such question", "It was asked long ago, or in another store.", status=404)
    except AnsweredError as error:
        return said_page("It was answered already", text_of(error), status=409)
    except TooLateError as error:
        return said_page("It is too late", text_of(error), status=410)
    except VoteError as error:
        return said_page("Somebody else must answer this", text_of(error), status=403)
    except NotProvenError as error:
        return said_page("Nothing is answered here", text_of(error), status=403)
    except StoreError:
        return said_page("Nothing was answered", "The store can't be reached now. Try again.", status=503)


def _follow(service: Service, request: Request) -> _Followed:
    """What a link leads to. INVARIANT: nothing is shown for one that does not count, and nothing changes."""
    desk = service.desk
    seal = desk.seal()
    link = read_link(request.params["token"], seal)
    if link is None:
        raise _NoAnswer(404, "This is no link of ours", "It was changed on its way, or another server made it.")
    now = _clock(service) // _SECOND
    if link.expires <= now:
        raise _NoAnswer(410, "This link is over", f"It counted until {moment(link.expires * _SECOND):%H:%M} UTC.")
    channel = service.config.notifications.channels.get(link.channel)
    if channel is None or (channel.person, channel.role) != (link.person, link.role):
        raise _NoAnswer(403, "This link counts no more", "Its channel was taken away, or is somebody else's now.")
    if is_used(link, service.store):
        raise _NoAnswer(410, "This link was used", "A link counts once. Nothing was changed.")
    kept, votes = desk.kept(link.question)
    if arguments_of(kept) != link.arguments:
        raise _NoAnswer(409, "This is another call", "The question is not about the call that this link was made for.")
    question = desk.question(link.question)
    if question.state != "waiting":
        raise _over(question)
    return _Followed(link, kept, votes, question, now)


def _clock(service: Service) -> int:
    if service.answering is None:  # pragma: no cover - a desk without a seal was refused before
        raise NotProvenError("this is no server", "no_server")
    return service.answering.clock()


def _over(question: Question) -> _NoAnswer:
    if (answer := question.answer) is not None:
        word = "approved" if answer.approved else "denied"
        return _NoAnswer(409, "It was answered already", f"Question {question.id} was {word} by {answer.by}.")
    return _NoAnswer(410, "It is too late", f"Question {question.id} is not open any more.")


def _show(service: Service, request: Request, found: _Followed, said: str = "", status: int = 200) -> Response:
    link, question = found.link, found.question
    field = form_of(link, shown_digest(found.kept), found.now, service.desk.seal())
    form = AnswerForm(
        field=field, instead=_instead(service, request, question), asks_for=_kind(service),
        only_deny=link.purpose == "deny",
    )  # fmt: skip
    left = missing(question.approvers, found.votes, question.asked)
    return question_page(
        question, form, moment(found.now * _SECOND), who=link.by, votes=found.votes, missing=left, said=said,
        status=status,
    )  # fmt: skip


def _kind(service: Service) -> str:
    return "" if service.answering is None else service.answering.proof.kind


def _instead(service: Service, request: Request, question: Question) -> str:
    """What to do where a yes can't be said on this page."""
    here = proving.answerer_of(request, "", "").on_this_machine
    if _kind(service) in ("terminal", "user") and here:
        return (
            "You look at this on the machine that the agent runs on, where it could press a button, too. To approve, "
            f"type in your own terminal: interpose approvals approve {question.id}"
        )
    return ""


def _answer(service: Service, request: Request) -> Response:
    found = _follow(service, request)
    said = _form_of(request)
    link, question = found.link, found.question
    only_no = link.purpose == "deny" and said.answer == "deny"
    # INVARIANT: what says more than no, or comes by a link to a page, comes from the page that was opened by the link.
    if not only_no and not is_form(said.form, link, shown_digest(found.kept), found.now, service.desk.seal()):
        return _show(
            service, request, found, "Nothing was answered: look at the question as it is now, and answer here.", 409
        )
    if link.purpose == "deny" and not only_no:
        return _show(service, request, found, "Nothing was answered: this link can only deny.", 403)
    if said.answer == "approve":
        if question.approvers:
            _require_voter(found)
        try:
            who = proving.answerer_of(request, said.passphrase, said.code)
            proving.prove(service, who, question.id, f"interpose approvals approve {question.id}")
        except NotProvenError as error:
            return _show(service, request, found, f"Nothing was answered: {text_of(error)}", 403)
    if not use_up(link, service.store):
        raise _NoAnswer(410, "This link was used", "A link counts once. Nothing was changed.")
    log.info("question %s: %s by a link of channel %s, as %s", question.id, said.answer, link.channel, link.by)
    return _answered(service, found, said)


def _require_voter(found: _Followed) -> None:
    link = found.link
    if not link.person:
        raise VoteError("certain people must agree to this, and this link names none: its channel has no `person`")
    require_voter(found.question, link.person, link.role, moment(found.now * _SECOND))


def _answered(service: Service, found: _Followed, said: _FormSaid) -> Response:
    link, id = found.link, found.question.id
    match said.answer:
        case "approve":
            done = people_answers.approve(service, id, link.by, link.role, Yes(comment=said.word))
            notes = " ".join(done.notes)
            if done.answer is None:
                return said_page("You agreed", f"Question {id} waits for others: {notes}", status=200)
            return said_page("Approved", f"Question {id}: this call may run once. {notes}", status=200)
        case "deny":
            people_answers.deny(service, id, link.by, comment=said.word)
            return said_page("Denied", f"Question {id}: this call does not run, and the agent is told.", status=200)
        case _:
            done = people_answers.defer(service, id, link.by, comment=said.word)
            kept, _ = service.desk.kept(id)
            later = new_link(kept, channel=link.channel, person=link.person, role=link.role)
            address = PATH.replace("{token}", token_of(later, service.desk.seal()))
            return said_page("Later", f"Question {id}: {' '.join(done.notes)}.", status=200, link=address)


def _form_of(request: Request) -> _FormSaid:
    """What was typed. Nothing of it is repeated in an error."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        raise _NoAnswer(415, "Nothing was answered", "An answer is sent by the form of the page.")
    if len(request.body) > _LARGEST:
        raise _unreadable("it is too long")
    try:
        fields = parse_qsl(
            request.body.decode("utf-8"), keep_blank_values=True, strict_parsing=bool(request.body), errors="strict",
            max_num_fields=8,
        )  # fmt: skip
    except ValueError:
        raise _unreadable("it is no form") from None
    names = [name for name, _ in fields]
    if len(set(names)) < len(names) or not set(names) <= set(_FormSaid.__struct_fields__):
        raise _unreadable("it has fields twice, or others than the page has")
    said = _FormSaid(**dict(fields))
    if said.answer not in ("approve", "deny", "defer"):
        raise _unreadable("it says neither approve, deny nor defer")
    word = said.word.replace("\r\n", "\n").strip()
    if len(word) > LONGEST_WORD:
        raise _unreadable(f"a word to the agent has {LONGEST_WORD} letters at most")
    return _FormSaid(
        answer=said.answer, form=said.form, word="\n".join(one_line(line) for line in word.split("\n")),
        passphrase=said.passphrase[:LONGEST_WORD], code=said.code[:40].strip(),
    )  # fmt: skip


def _unreadable(why: str) -> _NoAnswer:
    return _NoAnswer(400, "Nothing was answered", f"What came can't be read: {why}.")
