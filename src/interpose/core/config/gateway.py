"""How the MCP gateway decides: who answers its questions, what it shows, and whose session a call belongs to."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from interpose.core.config.gateway_oauth import GatewayOAuth
from interpose.core.config.gateway_servers import GatewayServer, wrong_servers
from interpose.core.types import EMPTY, FrozenDict

SessionSource = Literal["meta", "trace", "token"]
Globs = tuple[Annotated[str, Meta(min_length=1, max_length=256)], ...]


class GatewayHttp(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`interpose mcp gateway --http`. Whom it lets in stands in `server`, as for the decision server."""

    host: Annotated[str, Meta(min_length=1, description="address to listen on")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="port to listen on; 0 takes any free one")] = 8090
    path: Annotated[str, Meta(pattern=r"^/[A-Za-z0-9._~/-]*$(?!\n)", description="where clients come")] = "/mcp"
    serve: Annotated[bool, Meta(description="whether `interpose serve` has the gateway at this path, too")] = False


class GatewayDecisions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The MCP gateway: its servers, and how it decides."""

    servers: Annotated[
        dict[str, GatewayServer],
        Meta(
            description="MCP servers by name, each with `command` or `url`; see `interpose help gateway`",
            extra={
                "secret": True,
                "form": "a map of servers by name, each with command or url",
                "servers": GatewayServer,
            },
        ),
    ] = EMPTY
    http: GatewayHttp = GatewayHttp()
    oauth: GatewayOAuth = GatewayOAuth()
    ask: Annotated[
        Literal["queue", "client"],
        Meta(
            description="who answers questions about calls of MCP tools. `queue`: people at the desk (`interpose "
            "approvals`); `client`: the person in front of the MCP client, by a form of that client. A client that "
            "answers by itself is believed then"
        ),
    ] = "queue"
    wait: Annotated[
        float, Meta(ge=0, le=3600, description="seconds that a call waits for an answer from the desk; 0 is not at all")
    ] = 0.0
    approval_page: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^(https?://[^\s?#]+)?$(?!\n)",
                extra={"form": "an address without a query that starts with http:// or https://"},
            ),
        ],
        Meta(description="page for answers; clients that open addresses are sent there, with `?question=ID`"),
    ] = ""
    state_timeout: Annotated[
        float, Meta(gt=0, le=86400, description="seconds that the form of a client may be answered")
    ] = 600.0
    key: Annotated[
        str,
        Meta(
            description="private key (Ed25519, PEM) that seals what clients carry for us; gateways behind one "
            "balancer share it. Empty: a key of each process",
            extra={"path": True},
        ),
    ] = ""
    pins: Annotated[
        Literal["first-use", "ask"],
        Meta(
            description="`first-use`: what a server shows first is trusted unless it is odd, and what it changes later "
            "waits for a person (`interpose mcp pins`); `ask`: what it shows first waits, too"
        ),
    ] = "first-use"
    show: Annotated[Globs, Meta(description="`server__tool` globs; if any are set, no other tool is there")] = ()
    hide: Annotated[Globs, Meta(description="`server__tool` globs of tools that are not there")] = ()
    search: Annotated[
        bool, Meta(description="show two tools, `search_tools` and `call_tool`, instead of all, to save context")
    ] = False
    session: Annotated[str, Meta(description="one session for all calls; empty: as `session_from` finds it")] = ""
    session_from: Annotated[
        tuple[SessionSource, ...],
        Meta(
            description="where a session is looked for, the first that says one counts: `meta` (`interpose/session` in "
            "`_meta`), `token`, `trace` (`traceparent`; for clients that keep one trace for a whole run). Nobody says "
            "one: one session for each principal"
        ),
    ] = ("meta", "token")
    agent: Annotated[str, Meta(description="the agent behind this gateway, for rules and the ledger")] = ""
    role: Annotated[str, Meta(description="its role, for rules and the ledger")] = ""

    def __post_init__(self) -> None:
        force_setattr(self, "servers", FrozenDict(self.servers))
        if why := wrong_servers(self.servers):
            raise ValueError(f"gateway.servers: {why}")
