"""Calls that wait for a modern client to come again with answers to what a server asked.

`requestState` is in the client's hands, and a client is in the agent's. So it says nothing: it is a random handle for
what is kept here. INVARIANT: it is bound to the principal, the method, the server, the name and the arguments, is good
once and for a while, and a server's own `requestState` never leaves us.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.json import Encoder

from interpose.doors.mcp.gate.contract import Asked
from interpose.doors.mcp.links.exchanges import ServerExchange, ServerQuestion
from interpose.doors.mcp.links.frames import INTERNAL_ERROR, INVALID_PARAMS, RpcError
from interpose.doors.mcp.servers.server_connection import ServerConnection

PREFIX = "held."
MAX_HELD = 1000
SECONDS = 600.0


class Running(Struct, frozen=True):
    """A call that an old server has under way while it waits for answers."""

    connection: ServerConnection
    exchange: ServerExchange
    questions: Mapping[str, ServerQuestion]


class Held(Struct, frozen=True, kw_only=True):
    """What is kept of a call. Either a modern server's state, or what an old one has under way."""

    asked: Asked
    ticket: Any
    state: str | None = None
    running: Running | None = None


class Holds:
    """All of a gateway."""

    def __init__(self, expired: Callable[[Held], None], seconds: float = SECONDS) -> None:
        self._expired, self._seconds = expired, seconds
        self._held: dict[str, tuple[bytes, Held, asyncio.TimerHandle]] = {}

    def put(self, held: Held) -> str:
        """Keep it; the `requestState` for the client. Raises RpcError if there is no more room."""
        if len(self._held) >= MAX_HELD:
            raise RpcError(INTERNAL_ERROR, "Too many calls wait for answers")
        handle = PREFIX + secrets.token_urlsafe(32)
        timer = asyncio.get_running_loop().call_later(self._seconds, self._expire, handle)
        self._held[handle] = (binding(held.asked), held, timer)
        return handle

    def take(self, handle: str, asked: Asked) -> Held:
        """What was kept under a handle, for the same call of the same principal. Raises RpcError."""
        found = self._held.get(handle)
        # A call that differs does not spend it: else whoever learned a handle could end another's call.
        if found is None or not secrets.compare_digest(found[0], binding(asked)):
            raise RpcError(INVALID_PARAMS, "requestState is not of this call, was used already, or is too old")
        del self._held[handle]
        found[2].cancel()
        return found[1]

    def _expire(self, handle: str) -> None:
        found = self._held.pop(handle, None)
        if found is not None:
            self._expired(found[1])

    def clear(self) -> None:
        """Nobody comes again."""
        for handle in list(self._held):
            self._held[handle][2].cancel()
            self._expire(handle)


_sorting = Encoder(order="sorted")


def binding(asked: Asked) -> bytes:
    """What must be the same when a call comes again, in whatever order its keys come. Raises RpcError."""
    same = [asked.client.principal, asked.method, asked.server, asked.name, asked.params.get("arguments")]
    try:
        return hashlib.sha256(_sorting.encode(same)).digest()
    except (OverflowError, UnicodeEncodeError):
        raise RpcError(INVALID_PARAMS, "The arguments have a number or a text that JSON readers do not share") from None
