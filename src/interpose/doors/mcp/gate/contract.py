"""What the routing side and the gate say to each other: plain values, no links and no engine."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

from interpose.core.types import EMPTY, Context

Era = Literal["handshake", "modern"]


class Client(Struct, frozen=True, kw_only=True):
    """Who sends requests to us, as its link and its credential tell."""

    era: Era = "handshake"
    protocol: str = ""
    name: str = ""
    version: str = ""
    elicits_form: bool = False
    """It said that it shows forms. INVARIANT: a mode that a client did not declare is never used."""
    elicits_url: bool = False
    principal: str = ""
    """What a credential proves. Empty on stdio: the user who started us."""
    traceparent: str = ""
    """What the header of its HTTP request says; `_meta` goes before it."""
    context: Context = Context()
    """Session, agent, directory, trace: from `_meta`, a token or the configuration, never from the connection."""


class Asked(Struct, frozen=True, kw_only=True):
    """A request that must pass the pipeline: tools/call, prompts/get or resources/read."""

    server: str
    """The configuration's name of the server that it is for."""
    method: str
    name: str
    """The server's own name of the tool or prompt, or the URI of the resource."""
    params: Mapping[str, Any]
    """As the server is to get them: its own name in them, nothing of ours."""
    client: Client
    definition: Mapping[str, Any] = EMPTY
    """The tool as its server lists it, if it does."""
    responses: Mapping[str, Any] = EMPTY
    """`inputResponses` to questions of ours."""
    state: str = ""
    """`requestState` of ours, as the client brought it: in an attacker's hands."""
    continues: Any = None
    """The ticket of the same request (client, server, method, name, arguments), which passed before: its server asked
    something back, and `params` has the answers (`inputResponses`). Proven by a handle that is spent, not by the
    client's word. What was decided need not be asked again; what is in the answers is new."""


class Forward(Struct, frozen=True):
    """Send it to its server. `params` is None if they are as they came."""

    params: Mapping[str, Any] | None = None
    ticket: Any = None
    """The gate's own, for `after`."""


class AnswerNow(Struct, frozen=True):
    """Its server never hears of it: this is the result."""

    result: Mapping[str, Any]


class Fail(Struct, frozen=True):
    """Its server never hears of it: this is the error. For requests whose results have no `isError`."""

    code: int
    message: str
    data: Any = None


class AskClient(Struct, frozen=True):
    """Put these to the client's person (`inputRequests`), and come again with the responses and this state.

    A modern client gets them as the result `input_required`; to an old one they are sent as requests.
    """

    requests: Mapping[str, Any]
    state: str


Gated = Forward | AnswerNow | Fail | AskClient


class RequestGate(Protocol):
    """What stands between a request and its server."""

    def before(self, asked: Asked, /) -> Awaitable[Gated]:
        """What becomes of a request. INVARIANT: what fails inside refuses; it never raises."""
        ...

    def after(self, asked: Asked, ticket: Any, result: Mapping[str, Any], /) -> Awaitable[Mapping[str, Any]]:
        """What the client gets of a result. Also for results that arrive later (tasks). Never raises."""
        ...

    def hide(
        self, context: Context, server: str, tools: Sequence[Mapping[str, Any]], /
    ) -> tuple[Mapping[str, Any], ...]:
        """The tools of a server that somebody may use at all."""
        ...

    def failed(self, asked: Asked, ticket: Any, code: int, message: str, /) -> Awaitable[str]:
        """Its server answered with an error, or not at all: recorded; the text that the client gets."""
        ...

    def foreseen(self, asked: Asked, /) -> Awaitable[str]:
        """Why a request would not simply be let through; empty if it would. Nothing is recorded or asked."""
        ...

    def aside(self, said: Mapping[str, Any], /) -> dict[str, Any] | None:
        """What the client gets of what a server says beside its results; None for nothing. Never raises."""
        ...


class ServerListing(Struct, frozen=True, kw_only=True):
    """What one server shows: its answer to tools/list, prompts/list ..., whole (all pages)."""

    server: str
    kind: Literal["tools", "prompts", "resources", "resourceTemplates"]
    items: tuple[Mapping[str, Any], ...]
    instructions: str = ""


class ServerCatalogue(Protocol):
    """What of a server's listing counts: the pins."""

    def admit(self, listing: ServerListing, /) -> tuple[Mapping[str, Any], ...]:
        """The items that clients may see and use now. The others are held until a person says yes."""
        ...

    def held(self, server: str, kind: str, name: str, /) -> str:
        """Why this one may not be used now, for the agent; empty if it may."""
        ...

    def instructions(self, server: str, /) -> str:
        """What a server may tell the model now."""
        ...
