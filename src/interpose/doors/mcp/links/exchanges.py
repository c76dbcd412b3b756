"""Requests under way: ours to a server until it answers, and a server's to a client until that does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Raw

from interpose.doors.mcp.links.eras import Declared
from interpose.doors.mcp.links.frames import RequestId, RpcError, failure, response


class ExchangeOwner(Protocol):
    """For whom a request to a server is made: a client's request, as far as a server's connection needs to know it."""

    @property
    def declared(self) -> Declared:
        """What its client can answer."""
        ...

    @property
    def conversation(self) -> object:
        """Whose it is: requests of one conversation may be taken for one another, those of two never."""
        ...

    @property
    def principal(self) -> str:
        """Whose call it is, as a credential proves it."""
        ...

    def progressed(self, params: dict[str, Any], /) -> None:
        """The server told how far it is; the client's own token is in it."""
        ...

    def logged(self, params: dict[str, Any], /) -> None:
        """The server wrote to its log."""
        ...

    def asked(self, exchange: ServerExchange, question: ServerQuestion, /) -> None:
        """The server wants something of the client before it answers."""
        ...


class Answerable(Protocol):
    """Where the answer to a server's question goes."""

    def reply(self, id: RequestId, frame: bytes, /) -> None:
        """Send it, some time. Never raises."""
        ...

    def tell(self, method: str, params: Any, /) -> None:
        """Send a notification, some time. Never raises."""
        ...


class ServerQuestion:
    """A request of a server: answered once, by somebody."""

    def __init__(self, to: Answerable, id: RequestId, method: str, params: Mapping[str, Any], server: str) -> None:
        self.id, self.method, self.params, self.server = id, method, params, server
        self._to = to
        self.done = False
        self.relaying: asyncio.Task[None] | None = None
        """Who puts it to a client; ended if the server does not want to know any more."""

    def answer(self, result: Any) -> None:
        """What the client said."""
        self._send(response(self.id, result))

    def refuse(self, code: int, message: str, data: Any = None) -> None:
        """Nobody answers it."""
        self._send(failure(self.id, code, message, data))

    def tell(self, method: str, params: Any) -> None:
        """Something about it before it is answered."""
        if not self.done:
            self._to.tell(method, params)

    def _send(self, frame: bytes) -> None:
        if not self.done:
            self.done = True
            self._to.reply(self.id, frame)


class ServerExchange:
    """A request of ours. It ends with an answer; a server of the old era may ask something before."""

    __slots__ = ("_future", "_settled", "caller", "id", "method", "questions", "timer", "token")

    def __init__(self, id: int, method: str, caller: ExchangeOwner | None) -> None:
        self.id, self.method, self.caller = id, method, caller
        self.token: Any = None
        """The client's own token for its progress; ours is the id."""
        self.timer: asyncio.TimerHandle | None = None
        self.questions: list[ServerQuestion] = []
        self._settled: Raw | RpcError | None = None
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def settled(self) -> bool:
        """Whether the answer is there."""
        return self._settled is not None

    def settle(self, answer: Raw | RpcError) -> None:
        """The answer, or that there is none. The first counts."""
        if self._settled is None:
            self._settled = answer
            if self.timer is not None:
                self.timer.cancel()
            self._wake()

    def ask(self, question: ServerQuestion) -> None:
        """Whoever waits for the answer hears of this question first."""
        self.questions.append(question)
        self._wake()

    def _wake(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    async def outcome(self) -> Raw | tuple[ServerQuestion, ...]:
        """The result, or what the server asks before. Raises RpcError."""
        while True:
            if self._settled is not None:
                if isinstance(self._settled, RpcError):
                    raise self._settled
                return self._settled
            if self.questions:
                taken = tuple(self.questions)
                self.questions.clear()
                return taken
            if self._future.done():
                self._future = asyncio.get_running_loop().create_future()
            await self._future
