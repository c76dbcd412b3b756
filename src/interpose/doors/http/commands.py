"""`/api/v1/commands/check` and `/api/v1/bypasses`: what would be said about a host's command, and letting one pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta, Struct

from interpose.composition.service.operation_answers import BypassesAnswer, BypassRow
from interpose.core.errors import NotProvenError, ScopeError, StoreError, text_of
from interpose.core.types import HookPoint
from interpose.doors.http import deciding, incoming
from interpose.doors.http.events import CommandBefore, EventAnswer, event_answer
from interpose.doors.http.incoming import NOBODY, body_of, require_json
from interpose.doors.http.operation_routes import served
from interpose.doors.http.proving import PROVING, answerer_of, not_proven, prove
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.engine.flow.hosted import undecidable
from interpose.people.approvals.questions import moment
from interpose.rules.governance.roles.bypasses import MOST_SECONDS, USUAL_SECONDS, Bypass, CommandPattern

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

T = TypeVar("T")

CHECK = "/api/v1/commands/check"

Words = Annotated[str, Meta(min_length=1, max_length=1000, pattern=incoming.VISIBLE)]


class BypassBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which commands pass their chain rules, for how long, where, and why."""

    command: Annotated[CommandPattern, Meta(description="a name or a glob; of a rule about the state file, its id")]
    reason: Annotated[Words, Meta(description="why, for those who look later")]
    seconds: Annotated[int, Meta(ge=1, le=MOST_SECONDS)] = USUAL_SECONDS
    session: Annotated[str, Meta(max_length=1024, description="in this session only; empty is in all")] = ""
    passphrase: Annotated[str, Meta(max_length=1000, description="where approvals.proof is `passphrase`")] = ""
    code: Annotated[str, Meta(max_length=40, description="where approvals.proof is `code`")] = ""


class BypassRevoked(Struct, frozen=True):
    """A bypass that is no more."""

    id: str
    revoked: bool = True


_STORE = (503, "store_unavailable")
_MISSING = (404, "not_found")
_READING = ((400, "invalid_request"), (415, "invalid_content_type"))


def routes(service: Service) -> tuple[Route, ...]:
    """What anybody may ask, and what approvers may do."""

    async def check(request: Request) -> Response:
        require_json(request, 415)
        asked = body_of(request, CommandBefore)
        context = incoming.context_of(request, "check", asked.context or NOBODY, cwd=asked.cwd)
        try:
            verdict = await deciding.walk(
                service, request, context, lambda hosted: hosted.decide_command(asked.name, asked.arguments),
                asks=deciding.question_of,
            )  # fmt: skip
        except Exception as error:  # noqa: BLE001 - deny by default, whatever broke
            verdict = undecidable(error)
        return json_response(event_answer(HookPoint.COMMAND_BEFORE, verdict, request))

    async def listed(_request: Request) -> Response:
        found = await _done(service.bypasses.seen)
        return json_response(BypassesAnswer([bypass_row(one.bypass, one.problem) for one in found]))

    async def give(request: Request) -> Response:
        require_json(request, 415)
        body = body_of(request, BypassBody)
        by, who = request.caller.name, answerer_of(request, body.passphrase, body.code)

        def answer() -> Bypass:
            prove(service, who, f"bypass:{body.command}", f"interpose governance command bypass {body.command}")
            return service.bypasses.give(
                body.command, by=by, reason=body.reason, seconds=body.seconds, session=body.session
            )

        return json_response(bypass_row(await _done(answer)))

    async def revoke(request: Request) -> Response:
        id, by = request.params["id"], request.caller.name
        if not await _done(lambda: service.bypasses.revoke(id, by)):
            raise Refusal(*_MISSING, "there is no bypass of this id")
        return json_response(BypassRevoked(id))

    return (
        Route(
            "POST", CHECK, check, "agent", "What would be said about a host's command, without recording it",
            body=CommandBefore, answer=EventAnswer, codes=_READING,
        ),
        served(
            "bypasses", listed,
            answer=BypassesAnswer, codes=(_STORE,),
        ),
        served(
            "bypass", give,
            body=BypassBody, answer=BypassRow, codes=((400, "invalid_scope"), *PROVING, *_READING, _STORE),
        ),
        served(
            "revoke-bypass", revoke,
            answer=BypassRevoked, codes=(_MISSING, _STORE),
        ),
    )  # fmt: skip


def bypass_row(bypass: Bypass, problem: str = "") -> BypassRow:
    """A bypass as people see it."""
    return BypassRow(
        id=bypass.id, command=bypass.command, by=bypass.by, reason=bypass.reason, given=moment(bypass.given_ns),
        ends=moment(bypass.ends_ns), session=bypass.session, problem=problem,
    )  # fmt: skip


async def _done(work: Callable[[], T]) -> T:
    """What the desk says, asked in a thread: the store may take its time."""
    try:
        return await asyncio.to_thread(work)
    except NotProvenError as error:
        raise not_proven(error) from None
    except ScopeError as error:
        raise Refusal(400, "invalid_scope", text_of(error)) from None
    except StoreError as error:
        raise Refusal(*_STORE, f"the store can't be reached now: {text_of(error)}") from None
