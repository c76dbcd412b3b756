"""Two hooks for one call: a host whose settings name our hook twice asks twice, at the same time, with the same bytes.

A person is asked once and says yes once. So the second event waits for the answer of the first and gets the same one.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from interpose.doors.hooks.hosts.hook_waits import Begins, names_call

if TYPE_CHECKING:
    from interpose.doors.hooks.hosts.events import Host, Reply
    from interpose.people.approvals.questions import Question


class _RunningEvent:
    """An event that is being answered, and those who want the same answer."""

    def __init__(self) -> None:
        self.done: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        self._begun: tuple[Question, float] | None = None
        self._listeners: list[Begins] = []

    def begin(self, question: Question, seconds: float) -> None:
        self._begun = (question, seconds)
        for listener in self._listeners:
            listener(question, seconds)

    def listen(self, begins: Begins) -> None:
        self._listeners.append(begins)
        if self._begun is not None:
            begins(*self._begun)


class TwinEvents:
    """The events that are being answered now. For one event loop."""

    def __init__(self) -> None:
        self._running: dict[bytes, _RunningEvent] = {}

    async def answered(
        self, host: Host, event: str, body: bytes, begins: Begins, answer: Callable[[Begins], Awaitable[Reply]]
    ) -> Reply:
        """What `answer` says, or what it says to a twin of this event that came before.

        INVARIANT: events are twins if they are the same letter for letter and the host names the call in them. A host
        runs a call of that name once, whoever sends its name.
        """
        key = hashlib.blake2b(b"%b\0%b\0%b" % (host.facts.name.encode(), event.encode(), body), digest_size=16).digest()
        while (first := self._running.get(key)) is not None and names_call(host, event, body):
            first.listen(begins)
            reply = await asyncio.shield(first.done)
            if reply is not None:  # its client did not leave
                return reply
        own, reply = _RunningEvent(), None
        own.listen(begins)
        self._running.setdefault(key, own)
        try:
            reply = await answer(own.begin)
            return reply
        finally:
            own.done.set_result(reply)
            if self._running.get(key) is own:
                del self._running[key]
