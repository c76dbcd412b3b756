"""`/api/v1/operator/hand-overs`: agents that may ask ordinary questions at prompts which may answer themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from interpose.composition.service.operation_answers import BegunHandOver, HandOversAnswer
from interpose.doors.http.answering import MISSING, STORE, Proving, body_with, done, prove, role_of
from interpose.doors.http.operation_routes import served
from interpose.doors.http.proving import PROVING
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.people.approvals.questions import moment

if TYPE_CHECKING:
    from interpose.composition.service.hand_overs import HandOverChoice
    from interpose.composition.service.service import Service

PROVEN_AS = "hand-over"
"""What a code is shown for, where `approvals.proof` is `code`."""


class HandOverBody(Proving, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which agent."""

    host: Annotated[str, Meta(min_length=1, max_length=40)]


class HandOverEnded(Struct, frozen=True):
    """An agent that may not ask any more."""

    host: str
    ended: bool = True


def routes(service: Service) -> tuple[Route, ...]:
    """What the operator may do, and everybody who answers may see and end."""

    async def listed(_request: Request) -> Response:
        def look() -> HandOversAnswer:
            found = [shown(one) for one in service.hand_overs.choices()]
            return HandOversAnswer(found, service.config.hooks.ask == "host", service.hand_overs.ended())

        return json_response(await done(look))

    async def begin(request: Request) -> Response:
        body, by = body_with(request, HandOverBody), request.caller.name
        if role_of(request) != "operator":
            raise Refusal(403, "forbidden", "only the operator hands over: this needs a token of the role operator")

        def choose() -> HandOverChoice:
            prove(service, request, body, PROVEN_AS, f"interpose operator handover {body.host}")
            return service.hand_overs.choose(body.host, by)

        return json_response(shown(await done(choose)))

    async def end(request: Request) -> Response:
        host, by = request.params["host"], request.caller.name
        if not await done(lambda: service.hand_overs.withdraw(host, by)):
            raise Refusal(*MISSING, "nothing is handed over to this agent")
        return json_response(HandOverEnded(host))

    return (
        served(
            "hand-overs", listed, answer=HandOversAnswer,
            codes=(STORE,),
        ),
        served(
            "hand-over", begin,
            body=HandOverBody, answer=BegunHandOver,
            codes=((400, "invalid_request"), (403, "forbidden"), (415, "invalid_content_type"), *PROVING, STORE),
        ),
        served(
            "end-hand-over", end, answer=HandOverEnded,
            codes=(MISSING, STORE),
        ),
    )  # fmt: skip


def shown(choice: HandOverChoice) -> BegunHandOver:
    """As people see it."""
    return BegunHandOver(host=choice.host, by=choice.by, begun=moment(choice.given_ns))
