"""One request of a client while it is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from interpose.core.types import Context
from interpose.doors.mcp.gate.contract import Client, RequestGate
from interpose.doors.mcp.gate.server_words import marked
from interpose.doors.mcp.links.eras import Declared, map_of, text_of
from interpose.doors.mcp.links.exchanges import ServerExchange, ServerQuestion
from interpose.doors.mcp.links.frames import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RequestId,
    RpcError,
    notification,
)

if TYPE_CHECKING:
    from interpose.doors.mcp.clients.conversation import Conversation

OURS = "interpose/"
"""What clients may say to us in `_meta` (`interpose/session`). Servers don't hear it."""
Judge = Callable[[dict[str, Any]], Awaitable[Mapping[str, Any]]]
"""Params with the answers as a server may have them, or the result that stands for a refusal. Raises RpcError."""
_KEY = "answer"
_PROGRESS = ("progress", "total", "message")


class ClientRequest:
    """See the module. It is the `ExchangeOwner` of what is sent to a server for it."""

    __slots__ = ("conversation", "declared", "id", "judge", "meta", "method", "params")

    def __init__(
        self,
        conversation: Conversation,
        id: RequestId,
        method: str,
        params: dict[str, Any],
        meta: Mapping[str, Any],
        declared: Declared,
    ) -> None:
        """`params` have no `_meta` in them."""
        self.conversation, self.id, self.method, self.params = conversation, id, method, params
        self.meta, self.declared = meta, declared
        self.judge: Judge | None = None
        """Set while a server has it: what the client answers to questions about it is judged with it."""

    @property
    def modern(self) -> bool:
        """Whether its client is of the modern era."""
        return self.declared.era == "modern"

    @property
    def principal(self) -> str:
        """Whose it is."""
        return self.conversation.client.principal

    @property
    def _gate(self) -> RequestGate:
        return self.conversation.gateway.gate

    def server_meta(self) -> dict[str, Any]:
        """`_meta` as a server may see it."""
        return {key: value for key, value in self.meta.items() if not key.startswith(OURS)}

    def client(self) -> Client:
        """Who asks, for the gate."""
        base, declared = self.conversation.client, self.declared
        return Client(
            era=declared.era, protocol=declared.version, name=text_of(declared.info.get("name")),
            version=text_of(declared.info.get("version")),
            elicits_form=declared.answers("elicitation/create", {"mode": "form"}),
            elicits_url=declared.answers("elicitation/create", {"mode": "url"}),
            principal=base.principal, context=self.context(),
        )  # fmt: skip

    def context(self) -> Context:
        """In which session, and where."""
        conversation = self.conversation
        return conversation.gateway.identify(conversation.client, self.declared, self.meta, self.id)

    def progressed(self, params: dict[str, Any], /) -> None:
        """How far it is."""
        token = params.get("progressToken")  # the client's own
        said = self._gate.aside({key: params[key] for key in _PROGRESS if key in params})
        if said is not None:
            said["progressToken"] = token
            self.conversation.link.post(notification("notifications/progress", said), during=self.id)

    def logged(self, params: dict[str, Any], /) -> None:
        """A line of a server's log: for clients of the old era, and for modern ones that asked for it."""
        if (not self.modern or self.declared.log_level) and (said := self._gate.aside(params)) is not None:
            self.conversation.link.post(notification("notifications/message", said), during=self.id)

    def asked(self, exchange: ServerExchange, question: ServerQuestion, /) -> None:
        """A server of the old era asks: an old client is asked at once, a modern one by whoever waits for the call."""
        if not self.declared.answers(question.method, question.params):
            question.refuse(METHOD_NOT_FOUND, f"The client did not declare that it answers {question.method}")
        elif self.modern:
            exchange.ask(question)
        else:
            relay(question, self.conversation, self.id, self.judge)


def relay(
    question: ServerQuestion, conversation: Conversation, during: RequestId | None, judge: Judge | None = None
) -> None:
    """Put a server's question to a client of the old era, and bring its answer back."""

    token = map_of(question.params.get("_meta")).get("progressToken")

    def progressed(params: dict[str, Any]) -> None:
        question.tell("notifications/progress", {**params, "progressToken": token})

    async def put() -> None:
        tell = None if token is None else progressed
        try:
            params = conversation.gateway.gate.aside(question.params)
            if params is None:
                raise RpcError(INVALID_PARAMS, "The question could not be looked at")
            said = marked(question.server, question.method, params)
            answer = await conversation.ask(question.method, said, during, tell)
            if judge is not None:
                # INVARIANT: what reaches a server as an answer is judged as what reaches it by the call itself.
                judged = map_of((await judge({_KEY: answer})).get("inputResponses"))
                if _KEY not in judged:
                    raise RpcError(INVALID_REQUEST, "The answer was refused")
                answer = judged[_KEY]
            question.answer(answer)
        except RpcError as error:
            question.refuse(error.code, error.message, error.data)
        except asyncio.CancelledError:
            question.refuse(INTERNAL_ERROR, "The client is gone")
            raise

    question.relaying = conversation.spawn(put())


def inputs_of(params: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """`requestState` and `inputResponses`, taken out of the params. Raises RpcError."""
    state, responses = params.pop("requestState", None), params.pop("inputResponses", None)
    if state is not None and not isinstance(state, str):
        raise RpcError(INVALID_PARAMS, "requestState must be a text")
    if responses is not None and not isinstance(responses, dict):
        raise RpcError(INVALID_PARAMS, "inputResponses must be an object")
    return state, dict(map_of(responses))
