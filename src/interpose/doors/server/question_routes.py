"""`POST /question`: a question of a process that is no server, put to the desk of this one.

An MCP gateway that an agent started decides by itself. It has no key: it can neither ask nor honour a grant. So it
comes here, over the socket that only our own user can reach, with the call as it would really run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.core.answers import Approved, Edited, Pending
from interpose.core.driving import drive_in_server
from interpose.core.types import Deny, Finding, PermissionRequest, ToolCall
from interpose.doors.hooks.clients.questions import PutQuestion, QuestionAnswer, request_of
from interpose.doors.http import deciding, incoming
from interpose.doors.http_server.messages import Refusal, Request, Response, Route, json_response
from interpose.people.approvals import EDITED
from interpose.people.presence.agents import MOST_KNOWN

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.people.presence.agents import SeenAgents

PATH = "/question"
_SECOND_LOOK = ("deny", "ask")


def routes(service: Service) -> tuple[Route, ...]:
    """The one route. It belongs on the Unix socket alone: nobody proves anything here but which user they are."""

    async def ask(request: Request) -> Response:
        incoming.require_json(request, 415)
        asked = incoming.body_of(request, PutQuestion)
        try:
            question = request_of(asked)
        except ValueError as error:
            raise Refusal(400, "invalid_request", f"arguments: {error}") from None
        if service.answering is not None:  # whoever started this gateway is an agent, and may not answer
            service.answering.agents.heard(request.peer.pid)
            _note_askers(service.answering.agents, asked)
        wait = 0.0 if service.desk.crowded else max(0.0, min(asked.wait, service.config.intercept.wait_limit))
        return json_response(await _answer(service, question, wait, hears=asked.hears, rewrites=asked.rewrites))

    return (
        Route(
            "POST", PATH, ask, role="agent", summary="Put a question to the desk", body=PutQuestion,
            answer=QuestionAnswer, codes=((400, "invalid_request"), (415, "invalid_content_type")),
        ),
    )  # fmt: skip


def _note_askers(agents: SeenAgents, asked: PutQuestion) -> None:
    """Those who came to the gateway itself may not answer, either. A wrong list can only make fewer people answer."""
    for one in asked.askers[:MOST_KNOWN]:
        agents.told(one.pid, one.start)
    if asked.unplaced:
        agents.miss()


async def _answer(
    service: Service, question: PermissionRequest, wait: float, *, hears: bool, rewrites: bool
) -> QuestionAnswer:
    answer: object = await _seen_here(service, question)
    if isinstance(answer, PermissionRequest):
        answer = await service.desk.waiting(wait, hears=hears, rewrites=rewrites).confirm(answer)
    match answer:
        case Approved(by, word):
            return QuestionAnswer(said="approved", by=by, word=word)
        case Edited(arguments, by, approval):
            return QuestionAnswer(said="edited", by=by, approval=approval, arguments=arguments)
        case Deny(reason, rule):
            return QuestionAnswer(said="deny", reason=reason, rule=rule)
        case Pending(approval, word):
            return QuestionAnswer(said="pending", approval=approval, word=word)
        case _:
            return QuestionAnswer(said="deny", reason="the desk gave no answer", rule="approval-impossible")


async def _seen_here(service: Service, question: PermissionRequest) -> PermissionRequest | Deny:
    """The question with what this server says of the call.

    INVARIANT: whoever puts a question can't make it look harmless. What is refused here is not asked about, and what
    would be asked about here is said in our own words, before anything that the other process says.
    """
    call = question.subject
    if not isinstance(call, ToolCall):
        return question
    verdict = await drive_in_server(service.hosted(call.context, deciding.AS_IT_CAME).decide(call))
    if verdict.outcome == "deny":
        return verdict.decision if isinstance(verdict.decision, Deny) else Deny(verdict.reason)
    own = tuple(found for found in verdict.findings if found.said in _SECOND_LOOK and found.mode == "enforce")
    told = {(found.rule, found.reason) for found in own}
    others = tuple(
        _as_told(found)
        for found in question.findings
        if found.interceptor != EDITED and (found.rule, found.reason) not in told
    )
    message = question.message
    if own and own[0].reason not in message:
        message = f"{own[0].reason}\n{message}"
    return replace(question, message=message, findings=(*own, *others))


def _as_told(found: Finding) -> Finding:
    return replace(found, interceptor=f"gateway: {found.interceptor}")
