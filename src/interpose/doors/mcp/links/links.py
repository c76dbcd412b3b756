"""What a link is: frames to and from one peer, over whatever carries them.

    client --ClientLink--> Conversation (routing, eras, gate) --ServerLink--> server

A transport implements `ClientLink` and hands each frame that comes to a `ClientSide`, or implements `ServerLink` and
hands each frame that comes to a `ServerSide`. It parses no more than it needs: what a transport says outside the frame
(HTTP headers, which stream) stands in `Outgoing` and in the arguments.

All of it is of one event loop. What is not `async` never blocks and never raises.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from interpose.core.types import EMPTY
from interpose.doors.mcp.gate.contract import Era
from interpose.doors.mcp.links.frames import Frame, RequestId


class LinkError(Exception):
    """A peer can't be reached, or not any more. The text says why, for people."""


class Outgoing(Struct, frozen=True, kw_only=True):
    """What a transport may have to say of a frame beside it, so that none has to parse what it sends."""

    method: str = ""
    """Empty for an answer."""
    id: int | None = None
    """Of a request: its answer comes under this id. Ours, never a client's."""
    name: str = ""
    """What `Mcp-Name` says: the tool, the prompt or the URI. Empty for other methods."""
    arguments: Mapping[str, Any] = EMPTY
    """Of a tools/call, as they are in the frame: for `Mcp-Param-*`."""
    input_schema: Mapping[str, Any] = EMPTY
    """Of a tools/call, as the server listed it: says which arguments go into `Mcp-Param-*`."""
    cancels: int | None = None
    """`notifications/cancelled` for this request of ours. A transport whose cancellation is the end of a stream
    (modern HTTP) ends that, and sends no frame."""
    answers: RequestId | None = None
    """The answer to this request of the server."""
    principal: str = ""
    """Whose call it is, for a transport that has tokens of its own for some. Empty: ours."""


NOTHING = Outgoing()


class ServerSide(Protocol):
    """Who hears a server: what a `ServerLink` calls."""

    def received(self, line: bytes, during: int | None = None, /) -> None:
        """One frame came. `during` is our request on whose stream it came, where the transport knows that (HTTP)."""
        ...

    def lost(self, why: str, /) -> None:
        """The connection ended by itself. Called once; nothing comes after it, and not after `close`."""
        ...


class ServerLink(Protocol):
    """One connection to one server. It is opened once; a new connection is a new link."""

    async def open(self, side: ServerSide, /) -> None:
        """Start or reach it. Raises LinkError."""
        ...

    async def send(self, frame: bytes, about: Outgoing, /) -> None:
        """One frame, whole; waits while the server does not read. Raises LinkError.

        A request that gets no answer because its own exchange broke (an HTTP error, a stream that ended) is answered
        by the link: `received` with an error frame of its id. Only what ends the whole connection is `lost`.
        """
        ...

    def negotiated(self, era: Era, version: str, /) -> None:
        """What the two sides speak from now on. HTTP says it in a header."""
        ...

    async def close(self) -> None:
        """End it within a bounded time. Never raises."""
        ...


class ClientLink(Protocol):
    """To one client."""

    async def send(self, frame: bytes, *, answers: RequestId | None = None, during: RequestId | None = None) -> None:
        """One frame, whole; waits while the client does not read. Raises LinkError if it is gone.

        `answers`: it is the answer to this request, and nothing more comes for it. `during`: it belongs to this
        request of the client while that is under way (progress, a question): on HTTP it goes onto its stream.
        Neither: it concerns no request (a list changed).
        """
        ...

    def post(self, frame: bytes, *, during: RequestId | None = None) -> bool:
        """A notification that may be lost: dropped (False) while the client does not read. Never waits."""
        ...


class ClientSide(Protocol):
    """Who hears a client: what a transport for clients calls. `Gateway.converse(link, client)` makes one.

    stdio has one; HTTP has one for each `Mcp-Session-Id` (handshake), and one for each POST (modern: request ids are
    unique on a connection only, and a connection is no session).
    """

    def received(self, line: bytes, /) -> None:
        """One frame came. What is no frame is answered with an error."""
        ...

    def take(self, frame: Frame, /) -> None:
        """The same for a transport that had to parse it (HTTP: `Mcp-Method` must equal the body)."""
        ...

    def abandoned(self, request: RequestId, /) -> None:
        """The client is no longer there for the answer to this request (its HTTP stream ended): as if cancelled."""
        ...

    def close(self) -> Awaitable[None]:
        """The client is gone: what is under way for it is cancelled."""
        ...
