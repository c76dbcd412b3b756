"""`/api/v1/overview`, `/api/v1/policy/activity`, `/api/v1/sessions/{id}/timeline`: what happened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import time, time_ns
from typing import TYPE_CHECKING, Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from interpose.composition.service.overview import HeardAgent, Overview, overview
from interpose.composition.service.rule_activity import MOST_DAYS, RuleActivity, rule_activity
from interpose.composition.service.session_timeline import SessionTimeline, session_timeline
from interpose.core.errors import NoSessionError, text_of
from interpose.doors.http.audit import Moment
from interpose.doors.http.ledger_readers import STORE_UNAVAILABLE, LedgerReaders
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.doors.http_server.query import invalid_query, query_of
from interpose.record.ledger.times import moment_ns

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

Agents = Callable[[], Sequence[HeardAgent]]
"""Says which agents should be heard of, and when they were. It may look at files."""

Cursor = Annotated[str, Meta(pattern="^p[0-9a-f]{1,15}$", description="`next` of the page before")]


class OverviewQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Since when."""

    since: Moment = "1d"


class ActivityQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many days, today included."""

    days: Annotated[int, Meta(ge=1, le=MOST_DAYS)] = 7


class TimelineQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page, the newest calls first."""

    limit: Annotated[int, Meta(ge=1, le=500, description="calls of a page, at most")] = 100
    cursor: Cursor | UnsetType = UNSET


_QUERY = (400, "invalid_query")


def routes(service: Service, agents: Agents | None = None) -> tuple[Route, ...]:
    """What auditors may see. `agents` is what only a server on its user's own machine knows."""
    reading = LedgerReaders(service, "figures")

    async def show_overview(request: Request) -> Response:
        wanted = query_of(request, OverviewQuery)
        try:
            since_ns = moment_ns(wanted.since, time())
        except ValueError as error:
            raise invalid_query("since", text_of(error)) from None
        return json_response(
            await reading.read(
                lambda: overview(
                    service, since_ns=since_ns, now_ns=time_ns(), agents=None if agents is None else agents()
                )
            )
        )

    async def activity(request: Request) -> Response:
        wanted = query_of(request, ActivityQuery)
        return json_response(await reading.read(lambda: rule_activity(service, days=wanted.days, now_ns=time_ns())))

    async def timeline(request: Request) -> Response:
        wanted = query_of(request, TimelineQuery)
        after = None if isinstance(wanted.cursor, UnsetType) else int(wanted.cursor[1:], 16)
        try:
            found = await reading.read(
                lambda: session_timeline(service, request.params["id"], limit=wanted.limit, after=after)
            )
        except NoSessionError as error:
            raise Refusal(404, "not_found", text_of(error)) from None
        return json_response(found)

    return (
        Route(
            "GET", "/api/v1/overview", show_overview, "auditor", "Calls, refusals, questions, times and health",
            query=OverviewQuery, answer=Overview, codes=(_QUERY, STORE_UNAVAILABLE),
        ),
        Route(
            "GET", "/api/v1/policy/activity", activity, "auditor", "What each rule and pack did in the last days",
            query=ActivityQuery, answer=RuleActivity, codes=(_QUERY, STORE_UNAVAILABLE),
        ),
        Route(
            "GET", "/api/v1/sessions/{id}/timeline", timeline, "auditor", "One session, call by call",
            query=TimelineQuery, answer=SessionTimeline, codes=(_QUERY, (404, "not_found"), STORE_UNAVAILABLE),
        ),
    )  # fmt: skip
