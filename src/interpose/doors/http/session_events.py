"""`POST /api/v1/sessions/{id}/events`: a program tells of its agent's session, and gets what the agent should read.

INVARIANT: the session is one of the caller's own principal, which its credential says: no other is read or changed. No
event lifts a halt, gives a budget back or forgets a denial (governance/session_states.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from interpose.core.driving import drive_in_server
from interpose.core.errors import StoreError, text_of
from interpose.doors.http.incoming import CallerContext, Directory, Name, body_of, context_of, require_json
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

SOURCE = "intercept"
"""That of events and calls: a session is the same at all of these routes."""
_LONGEST_ID = 256
"""As every part of a path: see openapi.py."""

SessionSaying = Literal["start", "resume", "clear", "compact", "compacted", "idle", "end", "due"]
"""`clear`: it goes on with an empty context. `compact`: its context is about to be shortened; `compacted`: it was.
`idle`: the agent waits for its user. `due`: the agent can be told something now."""


class SessionEventBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happened to the session of this id, and where its agent works."""

    event: Annotated[SessionSaying, Meta(description="what happened; `due` only asks what the agent is to be told")]
    agent_id: Annotated[Name | None, Meta(description="the agent, as its calls name it in `context.agentId`")] = None
    cwd: Annotated[Directory | None, Meta(description="where it works: that project's governance file holds, too")] = (
        None
    )


class SessionEventAnswer(Struct, frozen=True, kw_only=True):
    """`text` is for the agent: its role, its rules, what it is reminded of. Empty where there is nothing to say."""

    session: str
    event: SessionSaying
    governed: bool
    text: str


def routes(service: Service) -> tuple[Route, ...]:
    """What agents' programs may say."""

    async def hear(request: Request) -> Response:
        require_json(request, 415)
        said = body_of(request, SessionEventBody)
        id = request.params["id"]
        if request.caller.anonymous or not request.caller.name:
            raise Refusal(
                401, "unauthorized", "a session belongs to a token: send one, or come over the server's own socket"
            )
        if not id.strip() or len(id) > _LONGEST_ID:
            raise Refusal(400, "invalid_request", f"the id of a session is text of at most {_LONGEST_ID} characters")
        named = CallerContext(session_id=id, agent_id=said.agent_id)
        context = context_of(request, SOURCE, named, cwd=said.cwd)
        try:
            text = await drive_in_server(service.session_heard(context, said.event))
        except StoreError as error:
            raise Refusal(503, "store_unavailable", f"the store can't be reached now: {text_of(error)}") from None
        governed = bool(service.rulebooks(context))
        return json_response(SessionEventAnswer(session=id, event=said.event, governed=governed, text=text))

    return (
        Route(
            "POST", "/api/v1/sessions/{id}/events", hear, "agent", "Tell of an agent's session",
            body=SessionEventBody, answer=SessionEventAnswer,
            codes=(
                (400, "invalid_request"), (401, "unauthorized"), (415, "invalid_content_type"),
                (503, "store_unavailable"),
            ),
        ),
    )  # fmt: skip
