"""What handlers see and say: requests, answers, refusals, routes. Nothing here knows of sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec import json as fast

from interpose.core.types import EMPTY

Role = Literal["agent", "auditor", "approver", "operator"]
"""`agent` asks for decisions, `auditor` reads the ledger, `approver` answers questions, `operator` may all."""

Access = Role | Literal["open", "public", "relayed", "visitor"]
"""The role that a route asks for. `open` routes ask for none of callers on this machine, `public` ones of nobody, and a
`relayed` one of callers on this machine whose credentials are for somebody behind us. Whoever comes to a `visitor` one
shows a cookie, which its handler looks at. Host and Origin hold for all."""

EVERY = "*"
"""The path of a route for what no other has, and the method of one that answers all."""

Headers = tuple[tuple[str, str], ...]

JSON = "application/json"


UNKNOWN_USER = -1
"""The uid of a peer on a system that doesn't tell."""

ANONYMOUS = "anonymous"
"""The principal of whoever shows nothing that says who they are."""


class Peer(Struct, frozen=True, kw_only=True):
    """The other end of a connection. `subject` is the common name of a verified client certificate.

    `pid`, `uid` and `gid` are those of the process that connected to a Unix socket, as the system knows them. `start`
    is when it was started, so that another process that later gets its number is not taken for it. `our_address` and
    `our_port` are the end of a TCP connection that is ours.
    """

    kind: Literal["tcp", "unix"]
    loopback: bool
    address: str = ""
    port: int = 0
    our_address: str = ""
    our_port: int = 0
    subject: str = ""
    pid: int = 0
    uid: int = UNKNOWN_USER
    gid: int = UNKNOWN_USER
    start: int = 0


class Caller(Struct, frozen=True):
    """Who asks. `name` comes from a credential: a token's, a certificate's, or the user at a Unix socket.

    It is empty where the operator chose to believe what callers say (`server.loopback: open`), and on open routes.
    Whoever is `anonymous` gets a verdict and nothing else: see `surfaces.http.incoming`.
    """

    role: Role
    name: str = ""
    anonymous: bool = False
    session: str = ""
    """The session that the credential names, if it does."""


Inform = Callable[[int, Headers], None]


def _to_nobody(_status: int, _headers: Headers) -> None:
    """Who is not connected hears nothing before the answer."""


class Request:
    """One request whose Host, Origin and token have been checked and whose body is complete.

    `path` is decoded, names in `headers` are lower-case, a field that came several times is joined by `, `.
    `client` is the address that the request came from: behind a trusted proxy, that of the proxy's client.
    `target` and `fields` are the request line's target and the headers as they were written, for who passes them on.
    `inform` sends an answer before the answer (1xx). From then on a client that sends no more is gone, and what is done
    for it is given up.
    """

    __slots__ = (
        "body", "caller", "client", "fields", "headers", "inform", "method", "params", "path", "peer", "query",
        "received_ns", "request_id", "target",
    )  # fmt: skip

    def __init__(
        self,
        method: str,
        path: str,
        *,
        peer: Peer,
        caller: Caller,
        request_id: str,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        params: dict[str, str] | None = None,
        client: str = "",
        received_ns: int = 0,
        target: str = "",
        fields: Headers = (),
    ) -> None:
        self.method = method
        self.path = path
        self.query = query or {}
        self.headers = headers or {}
        self.body = body
        self.peer = peer
        self.caller = caller
        self.request_id = request_id
        self.params = params or {}
        self.client = client or peer.address
        self.received_ns = received_ns
        self.target = target or path
        self.fields = fields
        self.inform: Inform = _to_nobody


class Response(Struct, frozen=True):
    """What a handler says. With `stream` the body is sent in pieces as they come; `body` is then not used.

    The content type is application/json unless `headers` say otherwise; length and connection are the server's. In an
    answer that is `relayed` nothing else is: it has the headers of whoever gave it.
    """

    status: int = 200
    body: bytes = b""
    headers: Headers = ()
    stream: AsyncIterator[bytes] | None = None
    relayed: bool = False


class Refusal(Exception):  # noqa: N818 - it is an answer, not a failure of ours
    """Raised to answer with an error: `{"error": code, "message": message}`."""

    def __init__(self, status: int, code: str, message: str, headers: Headers = ()) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers


Handler = Callable[[Request], Awaitable[Response]]


class Route(Struct, frozen=True):
    """One method of one path, and all that the API document says about it.

    In a `path`, `{name}` stands for one segment, which the handler finds in `params`; see `EVERY`. `codes` are the
    error answers that the handler gives by itself: status and error code. `answer` is the JSON of a success; `produces`
    are all content types that it may have. `rules` is what the type of the body can't say of it, as a JSON Schema.
    """

    method: str
    path: str
    handler: Handler
    role: Access
    summary: str
    body: type | None = None
    answer: type | None = None
    query: type | None = None
    codes: tuple[tuple[int, str], ...] = ()
    produces: tuple[str, ...] = (JSON,)
    rules: Mapping[str, Any] = EMPTY
    hangs_up: bool = False
    """Whether a client that sends no more is gone, and what is done for it is given up."""
    linked: bool = False
    """Whether pages of other sites may lead here: a browser that comes to look is let in from wherever it comes."""


Routes = Sequence[Route]

RefusalPage = Callable[[str, Refusal], Response | None]
"""A refusal as a page for a person, by the path that was asked for; None where the answer is JSON all the same."""

_encode = fast.Encoder().encode


def json_response(value: Any, status: int = 200, headers: Headers = ()) -> Response:
    """A value as JSON."""
    return Response(status, _encode(value), headers)


def refusal_response(refusal: Refusal) -> Response:
    """A refusal as it goes over the wire."""
    return Response(refusal.status, _encode({"error": refusal.code, "message": refusal.message}), refusal.headers)


def wants_page(headers: Mapping[str, str]) -> bool:
    """Whether a browser shows the answer to a person: it names HTML, which programs don't."""
    for part in headers.get("accept", "").lower().split(","):
        kind, _, parameters = part.partition(";")
        if kind.strip() == "text/html":
            return parameters.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
