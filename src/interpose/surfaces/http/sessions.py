"""`/api/v1/sessions`: which agents were active, how much, and what was decided about them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from time import time
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from interpose.approvals.questions import moment
from interpose.errors import StoreError, text_of
from interpose.ledger.times import moment_ns
from interpose.store.protocols import SessionTally
from interpose.surfaces.http.audit import Moment
from interpose.surfaces.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.surfaces.http_server.query import invalid_query, query_of

if TYPE_CHECKING:
    from interpose.service.service import Service


class SessionsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which sessions are wanted: those that were active since then."""

    since: Moment = "1d"
    limit: Annotated[int, Meta(ge=1, le=1000, description="how many at most")] = 100


class SeenSession(Struct, frozen=True, kw_only=True):
    """One session: its calls, and how many of them were decided how. A call that was asked about twice counts twice."""

    id: str
    agent: str
    first: datetime
    last: datetime
    calls: int
    allow: int
    rewrite: int
    ask: int
    deny: int


class SessionsAnswer(Struct, frozen=True):
    """Sessions, the last active first."""

    sessions: list[SeenSession]


_STORE = (503, "store_unavailable")


def routes(service: Service) -> tuple[Route, ...]:
    """What auditors may see."""

    async def sessions(request: Request) -> Response:
        wanted = query_of(request, SessionsQuery)
        try:
            since_ns = moment_ns(wanted.since, time())
        except ValueError as error:
            raise invalid_query("since", text_of(error)) from None
        return json_response(SessionsAnswer(await _seen(service, since_ns, wanted.limit)))

    async def session(request: Request) -> Response:
        found = await _seen(service, 0, 1, request.params["id"])
        if not found:
            raise Refusal(404, "not_found", "there is no session of this id in the ledger")
        return json_response(found[0])

    return (
        Route(
            "GET", "/api/v1/sessions", sessions, "auditor", "Sessions that were active, the last one first",
            query=SessionsQuery, answer=SessionsAnswer, codes=((400, "invalid_query"), _STORE),
        ),
        Route(
            "GET", "/api/v1/sessions/{id}", session, "auditor", "One session",
            answer=SeenSession, codes=((404, "not_found"), _STORE),
        ),
    )  # fmt: skip


async def _seen(service: Service, since_ns: int, limit: int, session: str = "") -> list[SeenSession]:
    def read() -> list[SessionTally]:
        return service.store.session_tallies(since_ns=since_ns, limit=limit, session=session)

    try:
        return [_shown(tally) for tally in await asyncio.to_thread(read)]
    except StoreError as error:
        raise Refusal(*_STORE, f"the ledger can't be read now: {text_of(error)}") from None


def _shown(tally: SessionTally) -> SeenSession:
    return SeenSession(
        id=tally.session, agent=tally.agent, first=moment(tally.first_ns), last=moment(tally.last_ns),
        calls=tally.count, allow=tally.allow, rewrite=tally.rewrite, ask=tally.ask, deny=tally.deny,
    )  # fmt: skip
