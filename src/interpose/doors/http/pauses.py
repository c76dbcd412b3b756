"""`/api/v1/pause`: questions are answered with yes for a while. What is refused stays refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from interpose.composition.service import pause_records
from interpose.composition.service.operation_answers import Pause, PausesAnswer
from interpose.doors.http.answering import MISSING, STORE, Proving, body_with, done, prove, role_of
from interpose.doors.http.operation_routes import served
from interpose.doors.http.proving import PROVING
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.people.approvals.grants import Given
from interpose.people.approvals.questions import spoken_id

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

PROVEN_AS = "pause"
"""What a code is shown for, where `approvals.proof` is `code`."""
MOST_MINUTES = 480


class PauseBody(Proving, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For how long, for which agent (all of them if none is named), and why."""

    minutes: Annotated[int, Meta(ge=1, le=MOST_MINUTES)]
    agent: Annotated[str, Meta(max_length=256)] = ""
    reason: Annotated[str, Meta(max_length=1000)] = ""


class PauseEnded(Struct, frozen=True):
    """A pause that is over."""

    id: str
    ended: bool = True


def routes(service: Service) -> tuple[Route, ...]:
    """What the operator may do, and everybody who answers may see and end."""

    async def listed(_request: Request) -> Response:
        found = await done(service.desk.pauses.standing)
        return json_response(PausesAnswer([shown(given) for given in found]))

    async def begin(request: Request) -> Response:
        body, by = body_with(request, PauseBody), request.caller.name
        if role_of(request) != "operator":
            raise Refusal(403, "forbidden", "only the operator pauses: this needs a token of the role operator")

        def pause() -> Given:
            prove(service, request, body, PROVEN_AS, "interpose approvals pause TIME")
            until = datetime.now(UTC) + timedelta(minutes=body.minutes)
            return pause_records.pause(service, by, until, agent=body.agent, reason=body.reason)

        return json_response(shown(await done(pause)))

    async def end(request: Request) -> Response:
        id, by = spoken_id(request.params["id"]), request.caller.name
        if not await done(lambda: pause_records.end_pause(service, id, by)):
            raise Refusal(*MISSING, "there is no pause of this id")
        return json_response(PauseEnded(id))

    return (
        served("pauses", listed, answer=PausesAnswer, codes=(STORE,)),
        served(
            "pause", begin,
            body=PauseBody, answer=Pause,
            codes=(
                (400, "invalid_request"), (403, "forbidden"), (409, "too_many"), (415, "invalid_content_type"),
                *PROVING, STORE,
            ),
        ),
        served(
            "end-pause", end, answer=PauseEnded, codes=(MISSING, STORE),
        ),
    )  # fmt: skip


def shown(given: Given) -> Pause:
    """A pause as people see it."""
    return Pause(
        id=given.id, by=given.by, begun=given.given, ends=given.ends, agent=given.agent, reason=given.comment
    )  # fmt: skip
