"""OAuth of the gateway: whose tokens count for clients, and our own tokens for servers.

Annotations are no texts here, as in settings.py.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from interpose.core.types import EMPTY, FrozenDict

Address = Annotated[
    str,
    Meta(
        pattern=r"^(https?://[^\s?#]+)?$(?!\n)",
        extra={"form": "an address without a query that starts with http:// or https://"},
    ),
]


class GatewayOAuth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens of an issuer, for clients of the gateway over HTTP."""

    issuer: Annotated[Address, Meta(description="who issues tokens for clients of the gateway; empty: nobody")] = ""
    resource: Annotated[
        Address, Meta(description="the gateway's own address as clients know it; tokens must be for it (`aud`)")
    ] = ""
    jwks_url: Annotated[Address, Meta(description="where the issuer's keys are; empty: its metadata says it")] = ""
    scopes: Annotated[tuple[str, ...], Meta(description="scopes that a token must have")] = ()
    principal: Annotated[str, Meta(min_length=1, description="the claim that says who it is")] = "sub"
    private: Annotated[bool, Meta(description="whether the issuer may be in a private network")] = False

    def __post_init__(self) -> None:
        if bool(self.issuer) != bool(self.resource):
            raise ValueError("gateway.oauth: issuer and resource are needed together")


class ServerOAuth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Our own token for a server: by client credentials, or by a refresh token that somebody gave us."""

    client_id: Annotated[str, Meta(min_length=1, description="our id at the issuer")]
    client_secret: Annotated[str, Meta(description="our secret: ${VARIABLE} or keyring:SERVICE/NAME")] = ""
    issuer: Annotated[str, Meta(pattern=r"^(https?://[^\s?#]+)?$(?!\n)", description="who issues the token")] = ""
    token_url: Annotated[str, Meta(pattern=r"^(https?://[^\s#]+)?$(?!\n)", description="where, if known")] = ""
    scopes: Annotated[tuple[str, ...], Meta(description="scopes that are asked for")] = ()
    resource: Annotated[str, Meta(description="what the token is for; empty: the server's url")] = ""
    auth: Annotated[Literal["basic", "post"], Meta(description="how our secret is shown")] = "basic"
    refresh_token: Annotated[str, Meta(description="${VARIABLE} or keyring:SERVICE/NAME")] = ""
    users: Annotated[
        dict[str, str],
        Meta(description="refresh tokens by principal: calls of these go to the server with their own token"),
    ] = EMPTY
    private: Annotated[bool, Meta(description="whether the issuer may be in a private network")] = False

    def __post_init__(self) -> None:
        force_setattr(self, "users", FrozenDict(self.users))
        if bool(self.issuer) == bool(self.token_url):
            raise ValueError("oauth needs either an issuer or a token_url: credentials go nowhere else")
        if not self.client_secret and not self.refresh_token and not self.users:
            raise ValueError("oauth needs a client_secret, a refresh_token or users")
