"""`/api/v1/pins`: what MCP servers showed when they were trusted, what they show now, and people's word on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta, Struct

from interpose.core.errors import NoPinError, NotProvenError, PinError, text_of
from interpose.doors.http.incoming import body_of, require_json
from interpose.doors.http.operation_routes import served
from interpose.doors.http.proving import PROVING, answerer_of, not_proven, prove
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.doors.http_server.query import query_of
from interpose.record.pins.pin_desk import PinChoice
from interpose.record.pins.pin_rows import PinRow, PinsAnswer, rows_of

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

T = TypeVar("T")

_MOST = 5000


class PinsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose pins are wanted."""

    server: Annotated[str, Meta(max_length=256, pattern=r"^[^\x00-\x1f\x7f]*$", description="of this server only")] = ""


class PinsBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said yes or no to: each with the digest of the definition that was looked at."""

    items: Annotated[tuple[PinChoice, ...], Meta(min_length=1, max_length=_MOST)]
    passphrase: Annotated[str, Meta(max_length=1000, description="where approvals.proof is `passphrase`")] = ""
    code: Annotated[str, Meta(max_length=40, description="where approvals.proof is `code`")] = ""


class ForgetBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Proof of who asks for it."""

    passphrase: Annotated[str, Meta(max_length=1000)] = ""
    code: Annotated[str, Meta(max_length=40)] = ""


class PinsForgotten(Struct, frozen=True):
    """A server of which nothing is known any more."""

    server: str
    forgotten: bool = True


_UNUSABLE = (503, "pins_unusable")
_MISSING = (404, "not_found")
_SAYING = ((400, "invalid_request"), (415, "invalid_content_type"), _MISSING, _UNUSABLE)


def routes(service: Service) -> tuple[Route, ...]:
    """What approvers may do."""

    async def listed(request: Request) -> Response:
        wanted = query_of(request, PinsQuery)
        return json_response(
            PinsAnswer(await _done(lambda: rows_of(service.pins, wanted.server, service.config.gateway.servers)))
        )

    async def approve(request: Request) -> Response:
        body = _body(request, PinsBody)
        server, by = request.params["server"], request.caller.name
        who = answerer_of(request, body.passphrase, body.code)

        def answer() -> list[PinRow]:
            prove(service, who, f"pins:{server}", f"interpose mcp pins approve {server}")
            service.pins.approve(server, body.items, by)
            return rows_of(service.pins, server)

        return json_response(PinsAnswer(await _done(answer)))

    async def reject(request: Request) -> Response:
        body = _body(request, PinsBody)
        server, by = request.params["server"], request.caller.name

        def answer() -> list[PinRow]:
            service.pins.reject(server, body.items, by)
            return rows_of(service.pins, server)

        return json_response(PinsAnswer(await _done(answer)))

    async def forget(request: Request) -> Response:
        body = _body(request, ForgetBody)
        server, by = request.params["server"], request.caller.name
        who = answerer_of(request, body.passphrase, body.code)

        def answer() -> PinsForgotten:
            prove(service, who, f"pins:{server}", f"interpose mcp pins approve {server}")
            service.pins.forget(server, by)
            return PinsForgotten(server)

        return json_response(await _done(answer))

    return (
        served(
            "pins", listed,
            query=PinsQuery, answer=PinsAnswer, codes=((400, "invalid_query"), _UNUSABLE),
        ),
        served(
            "approve-pins", approve,
            body=PinsBody, answer=PinsAnswer, codes=(*PROVING, *_SAYING),
        ),
        served(
            "reject-pins", reject,
            body=PinsBody, answer=PinsAnswer, codes=_SAYING,
        ),
        served(
            "forget-pins", forget,
            body=ForgetBody, answer=PinsForgotten, codes=(*PROVING, *_SAYING),
        ),
    )  # fmt: skip


def _body(request: Request, kind: type[T]) -> T:
    require_json(request, 415)
    return body_of(request, kind)


async def _done(work: Callable[[], T]) -> T:
    """What the pins say, asked in a thread: their files may take their time."""
    try:
        return await asyncio.to_thread(work)
    except NotProvenError as error:
        raise not_proven(error) from None
    except NoPinError as error:
        raise Refusal(*_MISSING, text_of(error)) from None
    except PinError as error:
        raise Refusal(*_UNUSABLE, text_of(error)) from None
