"""`/api/v1/sessions`: which agents were active, how much, and what was decided about them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from interpose.composition.service.seen_sessions import SeenSession, SessionsAnswer, seen_session, seen_sessions
from interpose.core.errors import StoreError, text_of
from interpose.doors.http.audit import Moment
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.doors.http_server.query import invalid_query, query_of
from interpose.record.ledger.times import moment_ns
from interpose.rules.governance.sessions.session_views import ShownState

if TYPE_CHECKING:
    from interpose.composition.service.service import Service


class SessionsQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which sessions are wanted: those that were active since then."""

    since: Moment = "1d"
    state: Annotated[ShownState | Literal[""], Meta(description="governed sessions that stand so; empty is all")] = ""
    limit: Annotated[int, Meta(ge=1, le=1000, description="how many at most")] = 100


_STORE = (503, "store_unavailable")


def routes(service: Service) -> tuple[Route, ...]:
    """What auditors may see."""

    async def sessions(request: Request) -> Response:
        wanted = query_of(request, SessionsQuery)
        try:
            since_ns = moment_ns(wanted.since, time())
        except ValueError as error:
            raise invalid_query("since", text_of(error)) from None
        found = await _read(
            lambda: seen_sessions(
                service.store, service.governed, since_ns=since_ns, limit=wanted.limit, state=wanted.state
            )
        )
        return json_response(SessionsAnswer(found))

    async def session(request: Request) -> Response:
        found = await _read(lambda: seen_session(service.store, service.governed, request.params["id"]))
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


async def _read(work: Callable[[], list[SeenSession]]) -> list[SeenSession]:
    try:
        return await asyncio.to_thread(work)
    except StoreError as error:
        raise Refusal(*_STORE, f"the ledger can't be read now: {text_of(error)}") from None
