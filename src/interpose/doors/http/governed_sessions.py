"""`/api/v1/sessions/{id}/governance`, `/halt` and `/lift`: how a governed session stands, and a person's word on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta, Struct

from interpose.core.errors import NoSessionError, NotHaltedError, NotProvenError, StoreError, text_of
from interpose.doors.http.incoming import VISIBLE, body_of, require_json
from interpose.doors.http.operation_routes import served
from interpose.doors.http.proving import PROVING, answerer_of, not_proven, prove
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.rules.governance.sessions.halts import how_to_lift
from interpose.rules.governance.sessions.session_views import GovernedDetail

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.rules.governance.sessions.sessions import GovernedSession

T = TypeVar("T")


class HaltBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why. The agent is told."""

    reason: Annotated[str, Meta(min_length=1, max_length=1000, pattern=VISIBLE)]


class LiftBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why it may go on, and proof of who says so."""

    comment: Annotated[str, Meta(max_length=1000, description="why, for those who look later")] = ""
    passphrase: Annotated[str, Meta(max_length=1000, description="where approvals.proof is `passphrase`")] = ""
    code: Annotated[str, Meta(max_length=40, description="where approvals.proof is `code`")] = ""


_STORE = (503, "store_unavailable")
_MISSING = (404, "not_found")
_SAYING = ((400, "invalid_request"), (415, "invalid_content_type"), _MISSING, _STORE)


def routes(service: Service) -> tuple[Route, ...]:
    """What approvers may see and do."""

    async def shown(work: Callable[[], GovernedSession]) -> Response:
        return json_response(await done_to_session(lambda: service.governed.detail(work())))

    async def show(request: Request) -> Response:
        return await shown(lambda: service.governed.session(request.params["id"]))

    async def halt(request: Request) -> Response:
        require_json(request, 415)
        body = body_of(request, HaltBody)
        id, by = request.params["id"], request.caller.name
        return await shown(lambda: service.governed.halt(id, by, body.reason))

    async def lift(request: Request) -> Response:
        require_json(request, 415)
        body = body_of(request, LiftBody)
        id, by = request.params["id"], request.caller.name
        who = answerer_of(request, body.passphrase, body.code)

        def answer() -> GovernedSession:
            prove(service, who, f"session:{id}", how_to_lift(id))
            return service.governed.lift(id, by, body.comment)

        return await shown(answer)

    return (
        served(
            "session", show,
            answer=GovernedDetail, codes=(_MISSING, _STORE),
        ),
        served(
            "halt", halt,
            body=HaltBody, answer=GovernedDetail, codes=_SAYING,
        ),
        served(
            "lift", lift,
            body=LiftBody, answer=GovernedDetail, codes=(*PROVING, (409, "not_halted"), *_SAYING),
        ),
    )  # fmt: skip


async def done_to_session(work: Callable[[], T]) -> T:
    """What the desk says, asked in a thread: the store may take its time."""
    try:
        return await asyncio.to_thread(work)
    except NoSessionError as error:
        raise Refusal(*_MISSING, text_of(error)) from None
    except NotHaltedError as error:
        raise Refusal(409, "not_halted", text_of(error)) from None
    except NotProvenError as error:
        raise not_proven(error) from None
    except StoreError as error:
        raise Refusal(*_STORE, f"the store can't be reached now: {text_of(error)}") from None
