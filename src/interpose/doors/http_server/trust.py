"""Whom the server lets in: the Host and Origin of every request, and the role of its caller.

A page in a browser can make a name of its own point to 127.0.0.1 and then talk to us from inside the machine (DNS
rebinding). It can't choose the Host and Origin that its browser sends, so both must be names that we know.
"""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable, Iterable
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Literal, TypeVar

from msgspec import Struct

from interpose.core.errors import ServerError
from interpose.doors.http_server.messages import ANONYMOUS, UNKNOWN_USER, Access, Caller, Headers, Peer, Refusal
from interpose.doors.http_server.tokens import Tokens, may

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_NUMERIC = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")
_REMEMBERED = 256
"""Accepted Host values that are not looked at again."""

Scheme = Literal["http", "https"]
Loopback = Literal["anonymous", "open", "closed"]
"""What callers of this machine get over TCP without a token: verdicts alone, all that agents may, or nothing."""
T = TypeVar("T")
_DEFAULT_PORT: dict[Scheme, int] = {"http": 80, "https": 443}


class Authority(Struct, frozen=True):
    """A host in one spelling, and its port if it was given."""

    host: str
    port: int | None = None

    @property
    def loopback(self) -> bool:
        """Whether it names this machine to itself."""
        return self.host == "localhost" or is_loopback(self.host)


def parse_authority(text: str) -> Authority:
    """`host`, `host:port`, `[v6]` or `[v6]:port`, or ValueError.

    Strict, because others may read it more kindly: no user, no trailing dot, no zone, no IPv4 in other clothes.
    """
    host, port = _split_port(text.lower())
    if host.startswith("["):
        if not host.endswith("]") or "%" in host:
            raise ValueError("it is no address in brackets")
        address = IPv6Address(host[1:-1])
        if address.ipv4_mapped is not None:
            raise ValueError("it is an IPv4 address in IPv6 clothes")
        return Authority(str(address), port)
    if len(host) > 253 or not _NAME.fullmatch(host):
        raise ValueError("it is no host name")
    if _NUMERIC.fullmatch(host.rpartition(".")[2]):
        return Authority(str(IPv4Address(host)), port)
    return Authority(host, port)


def _split_port(text: str) -> tuple[str, int | None]:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text, None
    if not _PORT.fullmatch(port) or int(port) > 65535:
        raise ValueError("it has no usable port")
    return host, int(port)


def parse_origin(text: str) -> tuple[Scheme, Authority]:
    """`scheme://host[:port]` with the port filled in, or ValueError."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in {"http", "https"}:
        raise ValueError("it does not begin with http:// or https://")
    known: Scheme = "https" if scheme == "https" else "http"
    authority = parse_authority(rest)
    return known, Authority(authority.host, authority.port or _DEFAULT_PORT[known])


def is_loopback(address: str) -> bool:
    """Whether an address is 127.0.0.0/8 or ::1."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


class Trust(Struct, frozen=True, kw_only=True):
    """Whom a server trusts."""

    allowed_hosts: tuple[Authority, ...] = ()
    allowed_origins: frozenset[tuple[Scheme, Authority]] = frozenset()
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    tokens: Tokens | None = None
    loopback: Loopback = "anonymous"
    verify: Callable[[str], Caller | None] | None = None
    """Whose a bearer token is that the file does not know: an issuer's. Raises Refusal to say more than that."""
    challenge: Headers = (("WWW-Authenticate", "Bearer"),)
    """What those hear who do not say who they are."""
    users: frozenset[int] = frozenset()
    """Who else may come to a Unix socket, besides the user that the server runs as, and root."""


def make_trust(
    *,
    allowed_hosts: Iterable[str] = (),
    allowed_origins: Iterable[str] = (),
    trusted_proxies: Iterable[str] = (),
    tokens: Tokens | None = None,
    loopback: Loopback = "anonymous",
) -> Trust:
    """Trust as it is configured. ServerError names the value that can't be used."""
    return Trust(
        allowed_hosts=tuple(_configured("server.allowed_hosts", parse_authority, text) for text in allowed_hosts),
        allowed_origins=frozenset(
            _configured("server.allowed_origins", parse_origin, text) for text in allowed_origins
        ),
        trusted_proxies=tuple(_configured("server.trusted_proxies", ip_network, text) for text in trusted_proxies),
        tokens=tokens,
        loopback=loopback,
    )


def _configured(key: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise ServerError(f"{key}: {text!r} can't be used: {error}") from None


class Door:
    """The trust of one endpoint. `port` is 0 for a Unix socket, where any port may be named."""

    def __init__(self, trust: Trust, scheme: Scheme, port: int, *, loopback: bool) -> None:
        self.trust = trust
        self.scheme = scheme
        self.port = port
        self.loopback = loopback
        self._remembered: set[str] = set()

    def admit(
        self, headers: dict[str, str], target: str | None, reached: str, *, linked: bool = False
    ) -> Headers:  # fmt: skip
        """Refuse a request whose Host or Origin is not known. To what is `linked`, pages of other sites may lead.

        `target` is the authority of an absolute-form target, `reached` the address that the connection came to. What
        comes back lets a page of an allowed origin read the answer.
        """
        host = headers.get("host")
        if host is None:
            raise Refusal(400, "bad_request", "the Host header is missing")
        if host not in self._remembered:
            self._check_host(host, reached)
        if target is not None and target not in self._remembered:
            self._check_host(target, reached)
        if "origin" in headers or "sec-fetch-site" in headers:
            return self._check_origin(headers, host if target is None else target, linked=linked)
        return ()

    def _check_host(self, text: str, reached: str) -> None:
        try:
            found = parse_authority(text)
        except ValueError:
            found = None
        if found is None or not self._knows(found, reached):
            raise Refusal(
                403, "forbidden_host", "this Host is not known here; the operator may add it to server.allowed_hosts"
            )
        if found.loopback and len(self._remembered) < _REMEMBERED:
            self._remembered.add(text)

    def _knows(self, found: Authority, reached: str) -> bool:
        port = found.port or _DEFAULT_PORT[self.scheme]
        if any(found.host == known.host and known.port in {None, port} for known in self.trust.allowed_hosts):
            return True
        if not self.port:
            return found.loopback
        # An address can't be rebound to another machine as a name can: who names the one that was reached came here.
        local = found.loopback and (self.loopback or is_loopback(reached))
        return port == self.port and (local or found.host == reached)

    def _check_origin(self, headers: dict[str, str], host: str, *, linked: bool) -> Headers:
        origin = headers.get("origin")
        site = headers.get("sec-fetch-site", "none")
        if origin is not None:
            try:
                found = parse_origin(origin)
            except ValueError:
                found = None
            if found in self.trust.allowed_origins:
                return (("Access-Control-Allow-Origin", origin), ("Vary", "Origin"))
            own = parse_authority(host)
            if found != (self.scheme, Authority(own.host, own.port or _DEFAULT_PORT[self.scheme])):
                raise Refusal(
                    403,
                    "forbidden_origin",
                    "pages of this Origin may not ask; the operator may add it to server.allowed_origins",
                )
        # Somebody who follows a link comes to a page of ours; the page that has the link can't read it.
        follows = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        if site not in {"none", "same-origin"} and not (linked and follows and origin is None):
            raise Refusal(403, "forbidden_origin", "pages of another site may not ask")
        return ()

    def client_of(self, peer: Peer, headers: dict[str, str]) -> str:
        """The address that a request came from: the last that a trusted proxy saw and that is no trusted proxy."""
        client = peer.address
        if not self.trust.trusted_proxies or not self._trusted(client):
            return client
        for hop in reversed(headers.get("x-forwarded-for", "").split(",")):
            try:
                client = str(ip_address(hop.strip()))
            except ValueError:
                break
            if not self._trusted(client):
                break
        return client

    def _trusted(self, address: str) -> bool:
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self.trust.trusted_proxies)

    def caller(self, access: Access, headers: dict[str, str], peer: Peer) -> Caller:
        """Who asks. A token that is not known is never overlooked, also where none is needed.

        INVARIANT: a name comes from a credential: a token, a certificate, or what the system says of a Unix peer.
        """
        if peer.kind == "unix" and peer.uid not in (os.geteuid(), 0, UNKNOWN_USER, *self.trust.users):
            raise Refusal(
                403, "forbidden_user", f"this socket is for the user that the server runs as, not for uid {peer.uid}"
            )
        if access in ("public", "visitor"):
            # A browser with a cookie may be no stranger, and strangers may cost only so much together.
            return Caller("agent", ANONYMOUS, anonymous=access == "public" or "cookie" not in headers)
        if access == "relayed":
            # INVARIANT: nobody's credentials are looked at that are for somebody else, and no other machine gets here.
            if not self.loopback:
                raise Refusal(403, "forbidden", "this is for callers on this machine alone")
            return Caller("agent")
        authorization = headers.get("authorization")
        if authorization is not None:
            scheme, _, presented = authorization.partition(" ")
            found = self._bearer(presented) if scheme.lower() == "bearer" else None
            if found is None:
                raise Refusal(401, "unauthorized", "this token is not known, or has ended", self.trust.challenge)
            if not may(found.role, access):
                raise Refusal(403, "forbidden", f"this needs the role {access}; the token is of the role {found.role}")
            return found
        if access == "agent" or access == "open":
            if peer.subject:
                return Caller("agent", peer.subject)
            if peer.kind == "unix":
                return Caller("agent", user_principal(peer.uid))
            # Whoever comes through a proxy may come from anywhere, also when the proxy is on this machine.
            if self.loopback and not (self.trust.trusted_proxies and self._trusted(peer.address)):
                if access == "open" or self.trust.loopback == "open":
                    return Caller("agent")
                if self.trust.loopback == "anonymous":
                    return Caller("agent", ANONYMOUS, anonymous=True)
        if access == "approver" and peer.kind == "unix" and peer.uid >= 0:
            # Whoever reaches the socket may look at questions. To say yes takes a proof: see interpose.people.presence.
            return Caller("approver", user_name(peer.uid))
        raise Refusal(401, "unauthorized", f"this needs a token of the role {access}", self.trust.challenge)

    def _bearer(self, presented: str) -> Caller | None:
        found = self.trust.tokens.caller(presented) if self.trust.tokens else None
        if found is None and self.trust.verify is not None:
            found = self.trust.verify(presented)
        return found


def user_principal(uid: int) -> str:
    """How a user of this machine is named in records and rules."""
    return f"user:{user_name(os.geteuid() if uid == UNKNOWN_USER else uid)}"


@cache
def user_name(uid: int) -> str:
    """The name of a user of this machine, or the number if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def preflight(allowed: Headers, methods: str) -> Headers:
    """What a browser wants to know before it lets a page of an allowed origin ask."""
    if not allowed:
        return ()
    names = "Authorization, Content-Type, Prefer, X-Request-ID, X-Maybe-Dont-Client-ID"
    return (("Access-Control-Allow-Methods", methods), ("Access-Control-Allow-Headers", names))
