"""`POST /api/v1/roles/check`: what governance says to a role that would use a tool. Nothing is run or recorded."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from interpose.core.carried_calls import canonical
from interpose.core.errors import InvalidCallError, text_of
from interpose.core.types import Context, Outcome
from interpose.doors.http import deciding, incoming
from interpose.doors.http.incoming import NOBODY, VISIBLE, Arguments, Directory, Name, body_of, require_json
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.rules.governance.roles.role_check import decision_of, rulings_for_role
from interpose.rules.governance.rulings import Ruling

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

CHECK = "/api/v1/roles/check"


class RoleCheckBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who would call what, where."""

    role: Annotated[Name, Meta(pattern=VISIBLE)]
    tool: Annotated[Name, Meta(pattern=VISIBLE, description="the tool, by any agent's name for it")]
    arguments: Arguments | None = None
    cwd: Directory | None = None


class RoleCheckAnswer(Struct, frozen=True, kw_only=True):
    """The strictest word, and all that was said."""

    role: str
    tool: str
    decision: Outcome
    rulings: tuple[Ruling, ...]


def routes(service: Service) -> tuple[Route, ...]:
    """What auditors may ask."""

    async def check(request: Request) -> Response:
        require_json(request, 415)
        asked = body_of(request, RoleCheckBody)
        context = incoming.context_of(request, "check", NOBODY, cwd=asked.cwd)
        answer = await deciding.in_thread_if_large(request, partial(_answer, service, asked, context))
        return json_response(answer)

    return (
        Route(
            "POST", CHECK, check, "auditor", "What governance says to a role that would use a tool",
            body=RoleCheckBody, answer=RoleCheckAnswer,
            codes=((400, "invalid_request"), (404, "not_found"), (415, "invalid_content_type")),
        ),
    )  # fmt: skip


def _answer(service: Service, asked: RoleCheckBody, context: Context) -> RoleCheckAnswer:
    books = service.rulebooks(context)
    if not any(asked.role in book.roles for book in books):
        why = "no governance.yaml here has this role" if books else "there is no governance.yaml here"
        raise Refusal(404, "not_found", why)
    try:
        call = canonical(incoming.call_of(asked.tool, asked.arguments, context))
    except InvalidCallError as error:
        raise Refusal(400, "invalid_request", text_of(error)) from None
    rulings = rulings_for_role(books, asked.role, call)
    return RoleCheckAnswer(role=asked.role, tool=call.name, decision=decision_of(rulings), rulings=rulings)
