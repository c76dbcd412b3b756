"""`/api/v1/approvals` and `/api/v1/grants`: what waits for a person, the answers, and what is left of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from msgspec import Meta, Struct

from interpose.approvals.grants import Given
from interpose.approvals.questions import Question, State, spoken_id
from interpose.approvals.scopes import MAX_USES, ScopeKind, scope
from interpose.errors import (
    AnsweredError,
    NoQuestionError,
    NotProvenError,
    ScopeError,
    StoreError,
    TooLateError,
    text_of,
)
from interpose.surfaces.http.incoming import body_of, require_json
from interpose.surfaces.http.proving import PROVING, answerer_of, not_proven, prove
from interpose.surfaces.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.surfaces.http_server.query import query_of

if TYPE_CHECKING:
    from interpose.service.service import Service

T = TypeVar("T")

LOOKED_THROUGH = 1000
"""Questions among which those of one state are looked for."""

Limit = Annotated[int, Meta(ge=1, le=1000, description="how many at most")]
Comment = Annotated[str, Meta(max_length=1000, description="why, for those who look later")]


class ApprovalsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which questions are wanted."""

    state: Annotated[State | Literal["all"], Meta(description="how they stand")] = "waiting"
    limit: Limit = 100


class ApprovalsAnswer(Struct, frozen=True):
    """Questions: those that wait with the oldest first, all others with the newest first."""

    approvals: list[Question]


class ApproveBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For how much the yes counts. `uses` belongs to scope `uses`, `until` to scope `until`."""

    scope: ScopeKind = "once"
    uses: Annotated[int, Meta(ge=1, le=MAX_USES)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None
    comment: Comment = ""
    passphrase: Annotated[str, Meta(max_length=1000, description="where approvals.proof is `passphrase`")] = ""
    code: Annotated[str, Meta(max_length=40, description="where approvals.proof is `code`")] = ""


_NONE = {"type": "null"}
APPROVE_RULES = {
    "oneOf": [
        {"properties": {"scope": {"enum": ["once", "session"]}, "uses": _NONE, "until": _NONE}},
        {
            "required": ["scope", "uses"],
            "properties": {"scope": {"const": "uses"}, "uses": {"type": "integer"}, "until": _NONE},
        },
        {
            "required": ["scope", "until"],
            "properties": {"scope": {"const": "until"}, "until": {"type": "string"}, "uses": _NONE},
        },
    ]
}


class DenyBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why not. The agent is told."""

    reason: Comment = ""


class GrantsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many grants are wanted."""

    limit: Limit = 100


class GrantsAnswer(Struct, frozen=True):
    """Grants that can still be used, the oldest first."""

    grants: list[Given]


class Revoked(Struct, frozen=True):
    """A grant that is no more."""

    id: str
    revoked: bool = True


_STORE = (503, "store_unavailable")
_QUERY = (400, "invalid_query")
_MISSING = (404, "not_found")
_ANSWERING = (
    (400, "invalid_request"), (415, "invalid_content_type"), _MISSING, (409, "already_answered"), (410, "too_late"),
    _STORE,
)  # fmt: skip


def routes(service: Service) -> tuple[Route, ...]:
    """What approvers may do."""

    async def questions(request: Request) -> Response:
        wanted = query_of(request, ApprovalsQuery)
        return json_response(ApprovalsAnswer(await _done(lambda: _in_state(service, wanted))))

    async def question(request: Request) -> Response:
        return json_response(await _done(lambda: service.desk.question(request.params["id"])))

    async def approve(request: Request) -> Response:
        body = _body(request, ApproveBody)
        id, by, who = request.params["id"], request.caller.name, answerer_of(request, body.passphrase, body.code)

        def answer() -> Question:
            prove(service, who, spoken_id(id))
            return service.desk.approve(
                id, by, scope(body.scope, uses=body.uses, until=body.until), comment=body.comment
            )

        return json_response(await _done(answer))

    async def deny(request: Request) -> Response:
        body = _body(request, DenyBody)
        return json_response(
            await _done(lambda: service.desk.deny(request.params["id"], request.caller.name, body.reason))
        )

    async def grants(request: Request) -> Response:
        wanted = query_of(request, GrantsQuery)
        return json_response(GrantsAnswer(await _done(lambda: service.desk.grants(limit=wanted.limit))))

    async def revoke(request: Request) -> Response:
        id = request.params["id"]
        if not await _done(lambda: service.desk.revoke(id)):
            raise Refusal(*_MISSING, "there is no grant of this id")
        return json_response(Revoked(id))

    return (
        Route(
            "GET", "/api/v1/approvals", questions, "approver", "Questions to a person, and their answers",
            query=ApprovalsQuery, answer=ApprovalsAnswer, codes=(_QUERY, _STORE),
        ),
        Route(
            "GET", "/api/v1/approvals/{id}", question, "approver", "One question",
            answer=Question, codes=(_MISSING, _STORE),
        ),
        Route(
            "POST", "/api/v1/approvals/{id}/approve", approve, "approver", "Let the call run",
            body=ApproveBody, answer=Question, codes=((400, "invalid_scope"), *PROVING, *_ANSWERING),
            rules=APPROVE_RULES,
        ),
        Route(
            "POST", "/api/v1/approvals/{id}/deny", deny, "approver", "Refuse the call",
            body=DenyBody, answer=Question, codes=((503, "no_server"), *_ANSWERING),
        ),
        Route(
            "GET", "/api/v1/grants", grants, "approver", "Answers that still count",
            query=GrantsQuery, answer=GrantsAnswer, codes=(_QUERY, _STORE),
        ),
        Route(
            "DELETE", "/api/v1/grants/{id}", revoke, "approver", "Take an answer back",
            answer=Revoked, codes=(_MISSING, _STORE),
        ),
    )  # fmt: skip


def _in_state(service: Service, wanted: ApprovalsQuery) -> list[Question]:
    if wanted.state == "waiting":
        return service.desk.asked(limit=wanted.limit)
    found = service.desk.recent(limit=LOOKED_THROUGH)
    return [each for each in found if wanted.state in ("all", each.state)][: wanted.limit]


def _body(request: Request, kind: type[T]) -> T:
    require_json(request, 415)
    return body_of(request, kind)


async def _done(work: Callable[[], T]) -> T:
    """What the desk says, asked in a thread: the store may take its time."""
    try:
        return await asyncio.to_thread(work)
    except NoQuestionError:
        raise Refusal(*_MISSING, "there is no question of this id") from None
    except NotProvenError as error:
        raise not_proven(error) from None
    except AnsweredError as error:
        raise Refusal(409, "already_answered", text_of(error)) from None
    except TooLateError as error:
        raise Refusal(410, "too_late", text_of(error)) from None
    except ScopeError as error:
        raise Refusal(400, "invalid_scope", text_of(error)) from None
    except StoreError as error:
        raise Refusal(*_STORE, f"the store can't be reached now: {text_of(error)}") from None
