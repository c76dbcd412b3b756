"""Questions of the gateway: to the person in front of the MCP client, or to people at the desk.

Both are confirmation handlers of the one flow: what they are asked about is the call as it would really run. One that
has something for the client has it in `put` afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import msgspec

from interpose.core.answers import Approved, Edited, Pending
from interpose.core.errors import InterposeError, text_of
from interpose.core.formats.plain_text import one_line, plain, without_blank_runs
from interpose.core.types import Deny, PermissionRequest, thaw
from interpose.doors.mcp.gate.contract import AskClient, Asked, Client
from interpose.doors.mcp.gate.gate_state import RequestStateError, RequestStates
from interpose.people.approvals import ConfirmationHandler, needs_people
from interpose.reading.secrets import Redactor

REQUEST = "interpose"
"""The name of our question among `inputRequests`."""
FIELD, YES, NO = "answer", "yes", "no"
APPROVER = "host:mcp:"
PAGE_SECONDS = 60.0
"""How long a call waits for somebody who was sent to the page."""
_SHOWN = 4_000
_LONGEST_NAME = 64
_BAD_STATE = "request-state"


class ClientPrompt:
    """Asks by a form of the client, and takes its answer.

    INVARIANT: only `accept` with the word yes, under a state of ours for this very call, lets it run.
    """

    counts_votes = True

    def __init__(
        self, asked: Asked, states: RequestStates, redactor: Redactor, desk: Callable[[float], ConfirmationHandler]
    ) -> None:
        """`desk` is asked about what certain people must agree to: in front of the client sits one, who asks."""
        self._asked, self._states, self._redactor, self._desk = asked, states, redactor, desk
        self.put: AskClient | None = None

    async def confirm(self, request: PermissionRequest, /) -> bool | Approved | Deny | Pending | Edited:
        """The answer that came with the request, or a form."""
        if needs_people(request):
            asking = self._desk(0.0).confirm(request)
            return await asking if isinstance(asking, Awaitable) else asking
        if self._asked.state:
            return await asyncio.to_thread(self._answered, request)
        try:
            state = self._states.made(request)
        except InterposeError as error:
            return Deny(f"Nobody can be asked, as {text_of(error)}: {request.message}", rule="approval-impossible")
        form = {
            "type": "object",
            "properties": {FIELD: {"type": "string", "title": "May it run?", "enum": [NO, YES]}},
            "required": [FIELD],
        }
        params = {"mode": "form", "message": shown(request, self._asked, self._redactor), "requestedSchema": form}
        self.put = AskClient(_elicit(params), state)
        return Pending()

    def _answered(self, request: PermissionRequest) -> Approved | Deny:
        if (deny := spent(self._states, self._asked, request)) is not None:
            return deny
        by = f"{APPROVER}{client_name(self._asked.client)}"
        response = self._asked.responses.get(REQUEST)
        action = response.get("action") if isinstance(response, dict) else None
        content = response.get("content") if isinstance(response, dict) else None
        if action == "accept" and isinstance(content, dict) and content.get(FIELD) == YES:
            return Approved(by)
        return Deny(f"Denied by {by}: {request.message}", rule="approval-denied")


class DeskPrompt:
    """Asks people at the desk. A client that opens addresses is sent to the page where they answer."""

    counts_votes = True

    def __init__(
        self,
        asked: Asked,
        states: RequestStates,
        redactor: Redactor,
        desk: Callable[[float], ConfirmationHandler],
        *,
        wait: float,
        page: str,
    ) -> None:
        """`desk` gives a handler that waits so many seconds."""
        self._asked, self._states, self._redactor = asked, states, redactor
        self._desk, self._wait, self._page = desk, wait, page if asked.client.elicits_url else ""
        self.put: AskClient | None = None

    async def confirm(self, request: PermissionRequest, /) -> bool | Approved | Deny | Pending | Edited:
        """What the desk says; the way to its page if it says nothing yet."""
        wait, came_back = self._wait, bool(self._asked.state)
        if came_back:
            deny = await asyncio.to_thread(spent, self._states, self._asked, request)
            if deny is not None or not self._page:
                return deny or Deny("This state was given for another way of asking", rule=_BAD_STATE)
            wait = max(wait, PAGE_SECONDS)
        asking = self._desk(wait).confirm(request)
        answer = await asking if isinstance(asking, Awaitable) else asking
        if isinstance(answer, Pending) and answer.approval and self._page and not came_back:
            self.put = AskClient(_elicit(self._page_of(answer.approval, request)), self._states.made(request))
        return answer

    def _page_of(self, question: str, request: PermissionRequest) -> dict[str, Any]:
        told = (
            f"{shown(request, self._asked, self._redactor)}\nThe answer is given on this page, as question {question}."
        )
        params = {"mode": "url", "message": told, "url": f"{self._page}?question={quote(question)}"}
        return params | {"elicitationId": question} if self._asked.client.era == "handshake" else params


def spent(states: RequestStates, asked: Asked, request: PermissionRequest) -> Deny | None:
    """Spend the state that a request came with; why not, if that can't be."""
    try:
        states.spend(asked.state, request)
    except (RequestStateError, InterposeError) as error:
        return Deny(f"The answer does not count (requestState): {text_of(error)}", rule=_BAD_STATE, severity="critical")
    return None


def client_name(client: Client) -> str:
    """What a client calls itself, safe to show and short. It proves nothing."""
    return one_line(client.name.strip())[:_LONGEST_NAME] or "unnamed"


def shown(request: PermissionRequest, asked: Asked, redactor: Redactor) -> str:
    """The question as a person reads it: without secrets, and so that nothing in it steers a terminal."""
    hidden, _ = redactor.redact_value(thaw(request.arguments))
    arguments = msgspec.json.encode(hidden, enc_hook=text_of).decode()
    cut = arguments if len(arguments) <= _SHOWN else f"{arguments[:_SHOWN]}... ({len(arguments)} letters)"
    safer = dict.fromkeys(found.instead for found in request.findings if found.instead and found.mode == "enforce")
    lines = [
        redactor.redact(request.message or "May this run?").text,
        *(f"Safer: {redactor.redact(text).text}" for text in safer),
        f"{asked.method} {asked.name} of server {asked.server}",
        cut,
    ]
    return plain(without_blank_runs("\n".join(lines)))


def _elicit(params: dict[str, Any]) -> dict[str, Any]:
    return {REQUEST: {"method": "elicitation/create", "params": params}}
