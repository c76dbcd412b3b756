"""The MCP servers behind the gateway: what is started or connected to, and how long it may take.

Annotations are no texts here, as in settings.py.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from interpose.core.config.gateway_oauth import ServerOAuth
from interpose.core.types import EMPTY, FrozenDict

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]|_(?!_|$))*", re.ASCII)
_SECRET = re.compile(
    r"(?:^|[_-])(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT|CREDENTIALS?|AUTHORIZATION|COOKIE|APIKEY|KEY)$", re.I
)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}", re.ASCII)
_OURS = frozenset({
    "host", "connection", "content-length", "content-type", "transfer-encoding", "accept", "accept-encoding", "upgrade",
    "te", "trailer", "expect", "last-event-id", "proxy-authorization",
})  # fmt: skip
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}|keyring:[^\s/]+/[^\s]+", re.ASCII)
_NO_SECRET = re.compile(r"(?:^|[_-])PUBLIC[_-]KEY$", re.I)


class GatewayServer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server: a program that is started (`command`), or an address (`url`)."""

    command: Annotated[str, Meta(description="program that is started, without a shell")] = ""
    args: Annotated[tuple[str, ...], Meta(description="its arguments")] = ()
    env: Annotated[dict[str, str], Meta(description="its variables, beside PATH, HOME and the like")] = EMPTY
    cwd: Annotated[str, Meta(description="the directory that it is started in, as an absolute path")] = ""
    url: Annotated[
        str, Meta(pattern=r"^((https?://|\$\{)[^\s]+)?$(?!\n)", description="address of a server over HTTP")
    ] = ""
    headers: Annotated[dict[str, str], Meta(description="headers that are sent to the address")] = EMPTY
    transport: Annotated[Literal["http", "sse"], Meta(description="`sse` is the old transport with two addresses")] = (
        "http"
    )
    private: Annotated[
        bool, Meta(description="whether its name may lead into a private network or to this machine")
    ] = False
    oauth: Annotated[
        ServerOAuth | None, Meta(description="our own token for it; see `interpose help gateway-http`")
    ] = None
    enabled: Annotated[bool, Meta(description="whether it is there")] = True
    prefix: Annotated[str | None, Meta(description="stands before `__` in its names; its own name if not set")] = None
    timeout: Annotated[float, Meta(gt=0, le=86400, description="seconds that it may take to answer")] = 300.0
    start_timeout: Annotated[float, Meta(gt=0, le=3600, description="seconds until it must have started")] = 60.0
    methods: Annotated[
        tuple[str, ...], Meta(description="methods beyond the protocol that are passed on to it, unjudged")
    ] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "env", FrozenDict(self.env))
        force_setattr(self, "headers", FrozenDict(self.headers))
        if bool(self.command) == bool(self.url):
            raise ValueError("a server needs either a command or a url")
        if self.command and self.headers:
            raise ValueError("headers are for a server with a url")
        if self.command and (self.oauth is not None or self.private):
            raise ValueError("oauth and private are for a server with a url")
        if why := _wrong_header(self.headers, oauth=self.oauth is not None):
            raise ValueError(why)
        if self.url and (self.args or self.env or self.cwd):
            raise ValueError("args, env and cwd are for a server with a command")
        if self.cwd and not self.cwd.startswith(("/", "${")):
            raise ValueError("cwd must be an absolute path")
        if any("\0" in text for text in (self.command, *self.args, *self.env, *self.env.values(), self.cwd)):
            raise ValueError("a program takes no NUL")


def _wrong_header(headers: Mapping[str, str], *, oauth: bool) -> str:
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OURS or name.lower().startswith("mcp-"):
            return f"headers.{name[:80]}: this header can't be set"
        if oauth and name.lower() == "authorization":
            return "headers.Authorization: with oauth the token is ours to send"
        if not value.isprintable() or not value.isascii():
            return f"headers.{name}: its value has characters that a header can't have"
    return ""


def wrong_server(servers: Any, kind: type[Struct] = GatewayServer) -> str:
    """Which server is wrong, and how, as far as it can be said; nothing of a value."""
    for name, server in servers.items() if isinstance(servers, dict) else ():
        try:
            msgspec.convert(server, kind)
        except msgspec.ValidationError as error:
            what, _, where = str(error).partition(" - at `$")
            return f"{name}{where.rstrip('`')}: {what[:1].lower()}{what[1:]}"
    return ""


def wrong_servers(servers: Mapping[str, GatewayServer]) -> str:
    """What is wrong with these servers together; empty if nothing is."""
    prefixes: dict[str, str] = {}
    for name, server in servers.items():
        prefix = name if server.prefix is None else server.prefix
        for text in (name, prefix):
            if text and (not _NAME.fullmatch(text) or len(text) > 64):
                return f"{text[:80]!r}: a name has letters, digits, `-`, `.` and single `_`, and 64 of them at most"
        if not server.enabled:
            continue
        if (other := prefixes.get(prefix.lower())) is not None:
            return f"{other} and {name} have the same prefix {prefix!r}, so that nobody could tell their tools apart"
        prefixes[prefix.lower()] = name
    return ""


def is_secret_name(name: str) -> bool:
    """Whether a variable or header of this name holds a secret."""
    return _SECRET.search(name) is not None and _NO_SECRET.search(name) is None


def written_secrets(servers: Any) -> str:
    """The first secret that stands in the file itself; empty if there is none. It belongs into a variable."""
    for name, server in servers.items() if isinstance(servers, dict) else ():
        for group in ("env", "headers"):
            given = server.get(group) if isinstance(server, dict) else None
            for key, value in given.items() if isinstance(given, dict) else ():
                if (
                    isinstance(key, str)
                    and is_secret_name(key)
                    and isinstance(value, str)
                    and value
                    and "${" not in value.replace("$${", "")
                ):
                    variable = re.sub(r"[^A-Z0-9]+", "_", key.upper())
                    return (
                        f"{name}.{group}.{key}: a secret does not stand in this file; put it into a variable, and "
                        f"write ${{{variable}}} here"
                    )
        secret = server.get("secret") if isinstance(server, dict) else None
        if isinstance(secret, str) and secret and "${" not in secret.replace("$${", ""):
            return (
                f"{name}.secret: a secret does not stand in this file; put it into a file of its own and name that as "
                "secret_file, or write ${VARIABLE} for one in a variable"
            )
        oauth = server.get("oauth") if isinstance(server, dict) else None
        if isinstance(oauth, dict) and (where := _written_in(oauth)):
            return (
                f"{name}.oauth.{where}: a secret does not stand in this file; write ${{VARIABLE}} for one in a "
                "variable, or keyring:SERVICE/NAME for one in the keyring"
            )
    return ""


def _written_in(oauth: dict[Any, Any]) -> str:
    users = oauth.get("users")
    found = {key: oauth.get(key) for key in ("client_secret", "refresh_token")}
    found |= {f"users.{key}": value for key, value in users.items()} if isinstance(users, dict) else {}
    for where, value in found.items():
        if isinstance(value, str) and value and not _REFERENCE.fullmatch(value):
            return where
    return ""
