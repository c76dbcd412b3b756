"""The gateway: all servers, all clients, and what stands between them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from msgspec import Struct

from interpose.core.types import Context
from interpose.doors.mcp.calls import Calls
from interpose.doors.mcp.clients.client_request import relay
from interpose.doors.mcp.clients.conversation import Conversation
from interpose.doors.mcp.gate.contract import Client, RequestGate, ServerCatalogue
from interpose.doors.mcp.gate.holds import Holds
from interpose.doors.mcp.links.eras import Declared
from interpose.doors.mcp.links.exchanges import ServerQuestion
from interpose.doors.mcp.links.frames import METHOD_NOT_FOUND, RequestId, notification
from interpose.doors.mcp.links.links import ClientLink, ServerLink
from interpose.doors.mcp.servers.routing import SEPARATOR, Routes
from interpose.doors.mcp.servers.server_listings import Kind
from interpose.doors.mcp.servers.supervised_server import ServerTimes, SupervisedServer
from interpose.doors.mcp.servers.tasks import Tasks

log = logging.getLogger("interpose.gateway")

SHARED = Declared(
    info={"name": "interpose", "version": "1"},
    capabilities={"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}},
)
"""What old servers are told where many clients share them: each is asked only what it declared itself."""


Identify = Callable[[Client, Declared, Mapping[str, Any], RequestId], Context]
"""Session, agent, directory and trace of a request: by what its link proved, its client declared and `_meta` says."""


GREETING_SECONDS = 10.0
"""How long a server's question waits for a client that has begun to say who it is."""


class Behind(Struct, frozen=True, kw_only=True):
    """A server of the configuration."""

    name: str
    connect: Callable[[], ServerLink]
    """Makes a new link each time."""
    prefix: str
    """In front of its names; empty for none."""
    times: ServerTimes = ServerTimes()
    methods: tuple[str, ...] = ()
    """Methods beyond the protocol that pass unjudged."""


class Gateway:
    """See the module. Made inside the event loop."""

    def __init__(
        self,
        behind: Sequence[Behind],
        gate: RequestGate,
        catalogue: ServerCatalogue,
        *,
        version: str = "",
        transparent: bool = False,
        search: bool = False,
        identify: Identify | None = None,
        pause: Callable[[int], float] | None = None,
    ) -> None:
        """`transparent`: it is one server to its client (`interpose mcp wrap`). `search`: clients look for tools
        instead of seeing all. `identify` makes the context of a request. `pause`: see `SupervisedServer`."""
        self.gate, self.version, self.transparent, self.search = gate, version, transparent, search
        self.identify = identify or (lambda client, _declared, _meta, _id: client.context)
        servers = [
            (one.prefix, SupervisedServer(one.name, one.connect, self, one.times, pause=pause)) for one in behind
        ]
        self.routes = Routes(servers, catalogue)
        self.methods: Mapping[str, Sequence[str]] = {one.name: one.methods for one in behind if one.methods}
        self.calls, self.tasks = Calls(self), Tasks(self)
        self.holds = Holds(self.calls.expired)
        self._conversations: dict[Conversation, None] = {}
        self._spawned: set[asyncio.Task[None]] = set()

    def start(self, declared: Declared | None = None) -> None:
        """Start all servers. Without `declared` they hear of the first client that comes."""
        for server in self.routes.servers:
            server.start()
            if declared is not None:
                server.introduce(declared)

    def introduce(self, declared: Declared) -> None:
        """A client said who it is."""
        for server in self.routes.servers:
            server.introduce(declared)

    def converse(self, link: ClientLink, client: Client) -> Conversation:
        """A client came."""
        conversation = Conversation(self, link, client)
        self._conversations[conversation] = None
        return conversation

    def left(self, conversation: Conversation) -> None:
        """A client is gone."""
        self._conversations.pop(conversation, None)

    def hush(self) -> None:
        """Subscriptions end, with a result."""
        for conversation in self._conversations:
            conversation.subscriptions.ended.set()

    async def close(self) -> None:
        """Stop everything, within a bounded time."""
        for conversation in list(self._conversations):
            conversation.subscriptions.ended.set()
            await asyncio.sleep(0)
            await conversation.close()
        self.holds.clear()
        await asyncio.gather(*(server.close() for server in self.routes.servers))
        if self._spawned:
            await asyncio.wait(list(self._spawned), timeout=5)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Work that nobody waits for, but that outlives its client."""
        task = asyncio.get_running_loop().create_task(work)
        self._spawned.add(task)
        task.add_done_callback(self._spawned.discard)

    # what servers say unasked

    def changed(self, _server: str, kind: Kind, /) -> None:
        """What a server shows changed."""
        for conversation in list(self._conversations):
            conversation.subscriptions.changed(kind, old=conversation.initialised)

    def updated(self, server: str, uri: str, /) -> None:
        """A resource changed."""
        for conversation in list(self._conversations):
            conversation.subscriptions.updated(server, uri)

    def notified(self, server: str, method: str, params: dict[str, Any], /) -> None:
        """Anything else: log lines and tasks are passed on to whom they concern, all else is dropped."""
        if method == "notifications/message":
            # Which client it is for is not said: it is for the only one, or for nobody.
            only = next(iter(self._conversations)) if len(self._conversations) == 1 else None
            if only is not None and only.initialised and (seen := self.gate.aside(params)) is not None:
                only.link.post(notification(method, seen))
        elif method.startswith("notifications/tasks") and (task := self.tasks.owner(server, params.get("taskId"))):
            seen = self.gate.aside(params) or {}
            name = f"{server}{SEPARATOR}{task.id}"
            for conversation in list(self._conversations):
                if conversation.client.principal == task.asked.client.principal:
                    said = {**seen, "taskId": name}
                    conversation.subscriptions.task(name, method, said, old=conversation.initialised)

    def asked(self, _server: str, question: ServerQuestion, /) -> None:
        """A server asks outside of any call (`roots/list` when it starts): the only client, if it is of the old era."""
        only = next(iter(self._conversations)) if len(self._conversations) == 1 else None
        if only is not None and only.greeting and not only.initialised:
            only.spawn(self._asked_early(only, question))  # servers ask as soon as they run, and that is before
        else:
            self._put(only, question)

    async def _asked_early(self, only: Conversation, question: ServerQuestion) -> None:
        try:
            async with asyncio.timeout(GREETING_SECONDS):
                await only.greeted.wait()
        except TimeoutError:
            pass
        self._put(only, question)

    def _put(self, only: Conversation | None, question: ServerQuestion) -> None:
        if only is None or only.declared is None or not only.declared.answers(question.method, question.params):
            question.refuse(METHOD_NOT_FOUND, "There is no client that answers this")
        else:
            relay(question, only, None)
