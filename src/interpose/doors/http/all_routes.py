"""Every route of the decision server, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from interpose.doors.http import (
    answer_links,
    approvals,
    audit,
    commands,
    events,
    figures,
    governed_sessions,
    hand_overs,
    health,
    intercept,
    metrics,
    notifications,
    pins,
    playground,
    policy,
    roles,
    session_events,
    sessions,
    validate,
)
from interpose.doors.http.metrics import Traffic
from interpose.doors.http.openapi import with_document
from interpose.doors.http_server.messages import Route

if TYPE_CHECKING:
    from interpose.composition.service.service import Service


def for_people(service: Service) -> tuple[Route, ...]:
    """What a person answers and orders. The sockets have these, too: whoever comes to one proves who they are there."""
    return (
        *approvals.routes(service),
        *notifications.routes(service),
        *pins.routes(service),
        *commands.routes(service),
        *governed_sessions.routes(service),
        *hand_overs.routes(service),
    )


def routes(
    service: Service,
    *,
    version: str,
    traffic: Traffic | None = None,
    more: Sequence[Route] = (),
    agents: figures.Agents | None = None,
) -> tuple[Route, ...]:
    """What the server answers, and the document that describes it. `agents` says which agents were heard of."""
    served = (
        *intercept.routes(service),
        *validate.routes(service),
        *events.routes(service),
        *session_events.routes(service),
        *for_people(service),
        *answer_links.routes(service),
        *sessions.routes(service),
        *audit.routes(service),
        *policy.routes(service),
        *playground.routes(service),
        *figures.routes(service, agents),
        *roles.routes(service),
        *metrics.routes(service, traffic),
        *health.routes(service),
        *more,
    )
    return with_document(served, version)
