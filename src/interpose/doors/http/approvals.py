"""`/api/v1/approvals` and `/api/v1/grants`: what waits for a person, the answers, and what is left of them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct

from interpose.composition.service import people_answers
from interpose.composition.service.operation_answers import ApprovalsAnswer, BatchAnswers, BatchItem, GrantsAnswer
from interpose.composition.service.pause_records import end_pause
from interpose.composition.service.people_answers import MOST_OF_A_BATCH, Yes
from interpose.composition.service.question_views import AnsweredQuestion, ShownQuestion, shown_question
from interpose.doors.http import approval_events, pauses
from interpose.doors.http.answering import ANSWERING, Proving, body_with, done, prove, role_of
from interpose.doors.http.operation_routes import served
from interpose.doors.http.proving import APPROVE, PROVING
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.doors.http_server.query import query_of
from interpose.people.approvals.questions import Question, State, spoken_id
from interpose.people.approvals.scopes import MAX_USES, MOST_KIND_USES, ScopeKind, Sessions, scope

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

T = TypeVar("T")

LOOKED_THROUGH = 1000
"""Questions among which those of one state are looked for."""

Limit = Annotated[int, Meta(ge=1, le=1000, description="how many at most")]
Comment = Annotated[str, Meta(max_length=1000, description="a word to the agent, and for those who look later")]
Reason = Annotated[str, Meta(max_length=1000, description="why not; the agent is told")]
Id = Annotated[str, Meta(min_length=1, max_length=40)]


class ApprovalsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which questions are wanted."""

    state: Annotated[State | Literal["all"], Meta(description="how they stand")] = "waiting"
    limit: Limit = 100


class ApproveBody(Proving, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For how much the yes counts. `uses` belongs to scope `uses` or `kind`, `until` to scope `until` or `kind`.

    `kind` is the id of one of the question's widenings. `arguments` are all arguments of the call, as it shall run.
    """

    scope: ScopeKind = "once"
    uses: Annotated[int, Meta(ge=1, le=MAX_USES)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None
    kind: Annotated[str, Meta(max_length=40)] = ""
    sessions: Annotated[Sessions, Meta(description="for which sessions of the same agent a kind counts")] = "this"
    arguments: dict[str, Any] | None = None
    comment: Comment = ""


_NONE = {"type": "null"}
_NO_KIND = {"kind": {"const": ""}, "sessions": {"const": "this"}}
_PLAIN = {"uses": _NONE, "until": _NONE, **_NO_KIND}
APPROVE_RULES = {
    "oneOf": [
        {"properties": {"scope": {"const": "once"}, **_PLAIN}},
        {"required": ["scope"], "properties": {"scope": {"const": "session"}, "arguments": _NONE, **_PLAIN}},
        {
            "required": ["scope", "uses"],
            "properties": {
                "scope": {"const": "uses"}, "uses": {"type": "integer"}, "until": _NONE, "arguments": _NONE, **_NO_KIND,
            },
        },
        {
            "required": ["scope", "until"],
            "properties": {
                "scope": {"const": "until"}, "until": {"type": "string"}, "uses": _NONE, "arguments": _NONE, **_NO_KIND,
            },
        },
        {
            "required": ["scope", "kind"],
            "properties": {
                "scope": {"const": "kind"}, "kind": {"type": "string", "minLength": 1}, "arguments": _NONE,
                "uses": {"maximum": MOST_KIND_USES},
            },
        },
    ]
}  # fmt: skip


class DenyBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why not, and a word to the agent. It is told both."""

    reason: Reason = ""
    comment: Comment = ""


class DeferBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A word to the agent, which is told to go on with other work."""

    comment: Comment = ""


class BatchBody(Proving, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer to several questions of one kind. Each is bound to its own call."""

    ids: Annotated[list[Id], Meta(min_length=1, max_length=MOST_OF_A_BATCH)]
    answer: Literal["approve", "deny"]
    scope: Literal["once", "uses", "session", "until"] = "once"
    uses: Annotated[int, Meta(ge=1, le=MAX_USES)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None
    reason: Reason = ""
    comment: Comment = ""


class Looking(Struct, frozen=True):
    """Who has the question open now."""

    id: str
    looked_at_by: tuple[str, ...]


class GrantsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many grants are wanted."""

    limit: Limit = 100


class Revoked(Struct, frozen=True):
    """A grant that is no more."""

    id: str
    revoked: bool = True


_STORE = (503, "store_unavailable")
_QUERY = (400, "invalid_query")
_MISSING = (404, "not_found")
_NO_SERVER = (503, "no_server")
_SCOPES = ((400, "invalid_scope"), (400, "invalid_edit"), (403, "not_an_approver"))


def routes(service: Service) -> tuple[Route, ...]:
    """What approvers may do."""

    async def questions(request: Request) -> Response:
        wanted = query_of(request, ApprovalsQuery)
        return json_response(ApprovalsAnswer(await done(lambda: _in_state(service, wanted))))

    async def question(request: Request) -> Response:
        return json_response(await done(lambda: shown_question(service, request.params["id"])))

    async def approve(request: Request) -> Response:
        body = body_with(request, ApproveBody)
        id, by, role = request.params["id"], request.caller.name, role_of(request)

        def answer() -> AnsweredQuestion:
            prove(service, request, body, spoken_id(id), APPROVE)
            chosen = scope(body.scope, uses=body.uses, until=body.until, sessions=body.sessions)
            yes = Yes(scope=chosen, comment=body.comment, arguments=body.arguments, kind=body.kind)
            return people_answers.approve(service, id, by, role, yes)

        return json_response(await done(answer))

    async def deny(request: Request) -> Response:
        body = body_with(request, DenyBody)
        id, by = request.params["id"], request.caller.name
        return json_response(
            await done(lambda: people_answers.deny(service, id, by, reason=body.reason, comment=body.comment))
        )

    async def defer(request: Request) -> Response:
        body = body_with(request, DeferBody)
        id, by = request.params["id"], request.caller.name
        return json_response(await done(lambda: people_answers.defer(service, id, by, comment=body.comment)))

    async def batch(request: Request) -> Response:
        body = body_with(request, BatchBody)
        named = await done(lambda: people_answers.require_alike(service, body.ids))
        if body.answer == "approve":
            await done(lambda: prove(service, request, body, people_answers.name_of_batch(named), APPROVE))
        return json_response(BatchAnswers([await _of_batch(service, request, body, id) for id in named]))

    async def look(request: Request) -> Response:
        id, by = spoken_id(request.params["id"]), request.caller.name
        await done(lambda: service.desk.question(id))
        if service.desk.onlookers.look(id, by):
            service.events.heard("looked-at", id)
        return json_response(Looking(id, service.desk.onlookers.of(id)))

    async def grants(request: Request) -> Response:
        wanted = query_of(request, GrantsQuery)
        return json_response(GrantsAnswer(await done(lambda: service.desk.grants(limit=wanted.limit))))

    async def revoke(request: Request) -> Response:
        id, by = request.params["id"], request.caller.name
        # A pause is a grant, too, and its end stands in the ledger.
        if not await done(lambda: end_pause(service, spoken_id(id), by) or service.desk.revoke(id)):
            raise Refusal(*_MISSING, "there is no grant of this id")
        return json_response(Revoked(id))

    return (
        served(
            "questions", questions,
            query=ApprovalsQuery, answer=ApprovalsAnswer, codes=(_QUERY, _STORE),
        ),
        *approval_events.routes(service),
        served(
            "question", question,
            answer=ShownQuestion, codes=(_MISSING, _STORE),
        ),
        served(
            "batch", batch,
            body=BatchBody, answer=BatchAnswers, codes=((409, "not_alike"), *PROVING, *ANSWERING),
        ),
        served(
            "approve", approve,
            body=ApproveBody, answer=AnsweredQuestion, codes=(*_SCOPES, *PROVING, *ANSWERING), rules=APPROVE_RULES,
        ),
        served(
            "deny", deny,
            body=DenyBody, answer=AnsweredQuestion, codes=(_NO_SERVER, *ANSWERING),
        ),
        served(
            "defer", defer,
            body=DeferBody, answer=AnsweredQuestion, codes=(_NO_SERVER, *ANSWERING),
        ),
        served(
            "look", look,
            answer=Looking, codes=(_MISSING, _STORE),
        ),
        served(
            "grants", grants,
            query=GrantsQuery, answer=GrantsAnswer, codes=(_QUERY, _STORE),
        ),
        served(
            "revoke-grant", revoke,
            answer=Revoked, codes=(_MISSING, _STORE),
        ),
        *pauses.routes(service),
    )  # fmt: skip


async def _of_batch(service: Service, request: Request, body: BatchBody, id: str) -> BatchItem:
    by, role = request.caller.name, role_of(request)

    def answer() -> AnsweredQuestion:
        if body.answer == "deny":
            return people_answers.deny(service, id, by, reason=body.reason, comment=body.comment)
        yes = Yes(scope=scope(body.scope, uses=body.uses, until=body.until), comment=body.comment)
        return people_answers.approve(service, id, by, role, yes)

    try:
        return BatchItem(id, await done(answer))
    except Refusal as refusal:  # the others are answered all the same
        return BatchItem(id, error=refusal.code, message=refusal.message)


def _in_state(service: Service, wanted: ApprovalsQuery) -> list[Question]:
    if wanted.state == "waiting":
        return service.desk.asked(limit=wanted.limit)
    found = service.desk.recent(limit=LOOKED_THROUGH)
    return [each for each in found if wanted.state in ("all", each.state)][: wanted.limit]
