"""Where an address leads, checked before anything is sent there.

A name is looked up once and the connection goes to the address that was checked: a name that says one thing to the
check and another to the connection (DNS rebinding) gains nothing. What no configuration names may not lead into a
private network, to this machine, or to the metadata service of a cloud (server-side request forgery).
"""

from __future__ import annotations

import asyncio
import re
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

Reach = Literal["public", "private", "named"]
"""Where a host may lead. `public`: to the Internet alone. `private`: to private networks and this machine, too.
`named`: a literal address or `localhost` that a person wrote down, wherever it leads."""

_PORTS = {"http": 80, "https": 443}
_BAD = re.compile(r"[\x00-\x20\x7f-\xff\\<>\"^`{|}]")
_NAT64 = IPv6Network("64:ff9b::/96")
_COMPATIBLE = IPv6Network("::/96")
LONGEST_URL = 8192


class NotReachedError(Exception):
    """It can't be reached, or may not be. The text says why, for people."""


class HttpUrl(Struct, frozen=True):
    """An address: http or https, a host, a port, and what is asked for there."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """What must be the same for credentials to go along."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """As the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def text(self) -> str:
        """As people write it."""
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def named(self) -> bool:
        """Whether it says by itself where it leads: an address in numbers, or this machine."""
        return _literal(self.host) is not None or self.host == "localhost" or self.host.endswith(".localhost")


def parse_url(text: str) -> HttpUrl:
    """An http address. Raises ValueError."""
    if len(text) > LONGEST_URL or _BAD.search(text):
        raise ValueError("it is too long, or has a character that no address has")
    parts = urlsplit(text)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("it does not begin with http:// or https:// and a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("it has a user or a password in it")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.hostname.rstrip(".")
    if not host or "%" in host:
        raise ValueError("it has no usable host")
    return HttpUrl(parts.scheme, host, parts.port or _PORTS[parts.scheme], target)


def redirected(url: HttpUrl, location: str) -> HttpUrl | None:
    """Where a redirect leads, if that is the same origin; None for any other."""
    try:
        found = parse_url(urljoin(url.text, location.partition("#")[0]))
    except ValueError:
        return None
    return found if found.origin == url.origin else None


async def addresses_of(url: HttpUrl, reach: Reach) -> tuple[str, ...]:
    """The addresses that a host has and that may be reached, in the order of the system. Raises NotReachedError."""
    literal = _literal(url.host)
    if literal is not None:
        found = [str(literal)]
    else:
        loop = asyncio.get_running_loop()
        try:
            infos: Any = await loop.getaddrinfo(url.host, url.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise NotReachedError(f"{url.host} can't be found: {why}") from None
        found = list(dict.fromkeys(str(info[4][0]) for info in infos))
    # INVARIANT: what is refused here is never connected to; whoever connects takes an address from here, not a name.
    allowed = tuple(address for address in found if may_reach(address, reach))
    if not allowed:
        raise NotReachedError(f"{url.host} is {', '.join(found)[:200]}, which is {_kind(found[0])}")
    return allowed


def may_reach(address: str, reach: Reach) -> bool:
    """Whether a host of this reach may lead to an address."""
    if reach == "named":
        return True
    one = _plain(ip_address(address.partition("%")[0]))
    if one.is_multicast or one.is_unspecified or one.is_link_local or str(one) in _METADATA:
        return False
    return one.is_global or reach == "private"


_METADATA = frozenset({"169.254.169.254", "fd00:ec2::254", "168.63.129.16", "100.100.100.200"})
"""Services of clouds that hand out credentials to whoever asks."""


def _plain(one: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An IPv4 address in IPv6 clothes is the IPv4 address."""
    if isinstance(one, IPv4Address):
        return one
    if (inner := one.ipv4_mapped or one.sixtofour) is not None:
        return inner
    if one.teredo is not None:
        return one.teredo[1]
    if one in _NAT64 or (one in _COMPATIBLE and int(one) > 1):
        return IPv4Address(int(one) & 0xFFFFFFFF)
    return one


def _kind(address: str) -> str:
    one = _plain(ip_address(address.partition("%")[0]))
    if str(one) in _METADATA or one.is_link_local:
        return "link-local, where clouds keep credentials"
    return "this machine" if one.is_loopback else "in a private network"


def _literal(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        # 127.1, 0x7f000001 and 2130706433 are addresses, too, for those who connect.
        return IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None
