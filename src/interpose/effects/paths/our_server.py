"""Requests to our own server: asking it for a decision is fine, answering its questions or giving it orders is not."""

from __future__ import annotations

import ipaddress
import posixpath
from functools import cache
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from interpose.effects.late_patterns import late
from interpose.effects.paths.ours import held, ours_of
from interpose.effects.paths.resolve import UNKNOWN


class Order(Struct, frozen=True):
    """Why a request is none that an agent may make, and whether that is certain."""

    reason: str
    certain: bool = True


_ORDER = Order("Answers the guard's questions or gives it orders")
_PERHAPS = Order("Could answer the guard's questions or give it orders", certain=False)
_BROWSER = Order("Steers a browser in which a person may be logged in", certain=False)
_DIRECT = Order("Speaks to the guard's own socket, where only its own programs speak")

_TO_AGENT = Order("Gives a task to another agent, whose calls nobody here sees", certain=False)
_TO_AGENTS = late(r"/session/[^/]+/(?:message|prompt_async|command|shell|init)|/tui/(?:submit|append|execute)-[a-z]+")
"""Where agents that serve others take their tasks."""


class _KeptFromAgents(Struct, frozen=True):
    """What the table of operations keeps from agents."""

    asked: frozenset[str]
    """What everybody may ask, by whatever way."""
    areas: tuple[str, ...]
    """Where people do something, and no agent."""
    orders: tuple[tuple[str, str], ...]
    """The same where agents may ask for other things. Others have sessions, too: looking at them is no order."""
    distinct: tuple[tuple[str, str], ...]
    """What is ours at whatever port."""


@cache
def _kept() -> _KeptFromAgents:
    """Made when a request is judged first: a hook that judges none waits for no table."""
    from interpose.effects.ourselves.operations import ASKED, BETWEEN_OURS, OPERATIONS, PAGE, area, around

    return _KeptFromAgents(
        ASKED,
        tuple({area(one.path) for one in OPERATIONS if not one.shared} | {*PAGE, *BETWEEN_OURS}),
        tuple(around(one.path) for one in OPERATIONS if one.shared and one.method != "GET"),
        tuple(around(one.path) for one in OPERATIONS if one.distinct),
    )


_LINK = "/a/"
_SHORTEST_LINK = 120
"""Letters of the shortest link to a question, its signature included. Others have short paths of such a name."""
_LOCAL = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "0", ""})
_DEVTOOLS = 9222
"""Where a browser is steered from, unless somebody chose another port."""
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


def order_of(url: str, socket: str = "") -> Order | None:
    """Why a request is an order to our server; None if it is none. `socket` is the Unix socket that it goes through."""
    host, port, path = _parts(url)
    if socket:
        return _DIRECT if ours_of(socket) is not None and path not in _kept().asked else None
    if port == _DEVTOOLS and is_here(host) and path.startswith(("/json", "/devtools")) and path != "/json/version":
        return _BROWSER
    if is_here(host) and _TO_AGENTS.fullmatch(path):
        return _TO_AGENT
    if port not in held().ports:
        # Some other program may listen there, and have an API with such names.
        return _PERHAPS if is_here(host) and _answers(path) else None
    if not is_here(host):
        return _PERHAPS if UNKNOWN in host and _is_operators(path) else None
    if _is_operators(path):
        return _ORDER
    known, unknown, _ = path.partition(UNKNOWN)
    orders = (*_kept().areas, _LINK)
    return _PERHAPS if unknown and any(order.startswith(known) for order in orders) else None


def order_in(text: str, host: str, port: str, socket: str = "") -> Order | None:
    """The same for a request that is sent as it is: `POST /api/v1/approvals/1/approve HTTP/1.1`."""
    if not socket and not is_our_port(host, port):
        return None
    words = text.partition("\n")[0].split()
    if len(words) < 2 or UNKNOWN in words[0]:
        return order_of("", socket) if socket else _PERHAPS if UNKNOWN in text else None
    target = words[1] if words[1][:1] == "/" else f"/{words[1]}"
    return order_of(f"http://127.0.0.1:{port or 0}{target}", socket)


def reaches_us(url: str) -> bool:
    """Whether an address is one at which our server listens, or would."""
    host, port, _ = _parts(url)
    return port in held().ports and is_here(host)


def is_our_port(host: str, port: str) -> bool:
    """Whether a connection would reach our server."""
    return port.isdecimal() and len(port) < 6 and int(port) in held().ports and is_here(host)


def is_here(host: str) -> bool:
    """Whether a host is this machine."""
    host = host.strip("[]").rstrip(".").lower()
    if host in _LOCAL or host.endswith(".localhost"):
        return True
    try:
        number = host.isdigit() or host.startswith("0x")
        address = ipaddress.ip_address(int(host, 0) if number and len(host) <= 12 else _long_form(host))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def _long_form(host: str) -> str:
    """`127.1` is `127.0.0.1`."""
    parts = host.split(".")
    if 1 < len(parts) < 4 and all(part.isdecimal() for part in parts):
        return ".".join([*parts[:-1], *["0"] * (4 - len(parts)), parts[-1]])
    return host


def _parts(url: str) -> tuple[str, int, str]:
    """Host, port and normalised path. Without a scheme, the first part is the host."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return UNKNOWN, 0, ""
    path = posixpath.normpath(f"/{unquote(unquote(parts.path)).lstrip('/')}").lower()
    return host, port or _DEFAULT_PORTS.get(parts.scheme.lower(), 0), path


def _is_operators(path: str) -> bool:
    return (
        _is_one_of(_kept().orders, path)
        or _is_link(path)
        or any(path == place or path.startswith(f"{place}/") for place in _kept().areas)
    )


def _answers(path: str) -> bool:
    return _is_one_of(_kept().distinct, path) or _is_link(path)


def _is_one_of(orders: tuple[tuple[str, str], ...], path: str) -> bool:
    return any(path.startswith(head) and path.endswith(tail) for head, tail in orders)


def _is_link(path: str) -> bool:
    """Whether it is a link by which a person answers a question."""
    return path.startswith(_LINK) and "/" not in path[len(_LINK) :] and len(path) >= _SHORTEST_LINK
