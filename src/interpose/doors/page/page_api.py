"""`/api/v1/page`: where the page is, letting a browser in, and signing everybody out. For terminals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated

from msgspec import Meta

from interpose.composition.service.operation_answers import PageAddress, Paired, SignedOut
from interpose.doors.http.answering import STORE, Proving, body_with, done, prove, role_of
from interpose.doors.http.operation_routes import served
from interpose.doors.http.proving import PROVING
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.doors.page.page_visits import Visits
from interpose.people.approvals.questions import spoken_id

PATH = "/api/v1/page"
PROVEN_AS = "page"
"""What a code is shown for, where `approvals.proof` is `code`."""
_COMING_SECONDS = 6.0
_LOOKED_EVERY = 0.1


class PairingBody(Proving, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The code that a browser shows."""

    pairing: Annotated[str, Meta(min_length=1, max_length=40)]


def routes(visits: Visits, address: Callable[[], Awaitable[str]]) -> tuple[Route, ...]:
    """`address` says where the page is, and listens there if nobody does yet. It raises Refusal if that can't be."""

    async def where(_request: Request) -> Response:
        return json_response(PageAddress(await address()))

    async def pair(request: Request) -> Response:
        body = body_with(request, PairingBody)
        code, name, role = spoken_id(body.pairing), request.caller.name, role_of(request)
        await done(lambda: prove(visits.service, request, body, PROVEN_AS, "interpose open"))
        answering = visits.service.answering
        # INVARIANT: what a browser may do for us is what whoever let it in has proved, just now, in this way.
        proven = answering.proof.kind if answering is not None and request.peer.kind == "unix" else ""
        if not visits.pairings.confirm(code, name, role, proven, _token_of(request, visits)):
            raise Refusal(429, "too_many_attempts", "too many codes were typed that no browser shows: wait two minutes")
        return json_response(Paired(name, role, await _arrived(visits, code)))

    async def sign_out(_request: Request) -> Response:
        return json_response(SignedOut(await done(visits.sessions.end_all)))

    return (
        served("page", where, answer=PageAddress, codes=((503, "no_page"),)),
        served(
            "pair", pair,
            body=PairingBody, answer=Paired,
            codes=((400, "invalid_request"), (415, "invalid_content_type"), *PROVING, STORE),
        ),
        served(
            "sign-out", sign_out,
            answer=SignedOut, codes=(STORE,),
        ),
    )  # fmt: skip


def _token_of(request: Request, visits: Visits) -> str:
    """The digest of the token that lets a browser in: what it began ends with it. Empty where there is none."""
    found = visits.sign_in_with(request.headers.get("authorization", "").partition(" ")[2].strip())
    return "" if found is None else found[2]


async def _arrived(visits: Visits, code: str) -> bool:
    for _ in range(int(_COMING_SECONDS / _LOOKED_EVERY)):
        if not visits.pairings.waits(code):
            return True
        await asyncio.sleep(_LOOKED_EVERY)
    visits.pairings.withdraw(code)
    return False
