"""The machine in a url, in `user@host:path` or in `host:port`."""

from __future__ import annotations

import re
from urllib.parse import unquote

from interpose.effects.late_patterns import late

_SCHEME = late(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HOST = late(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?\.?", re.ASCII)
_IPV6 = re.compile(r"\[([0-9A-Fa-f:.%]+)\]")


def host_of(text: str) -> str:
    """The host in lower case, without the dot at its end; empty if the text names none."""
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    rest = re.split(r"[/?#\\\s]", rest, maxsplit=1)[0]
    rest = rest.rpartition("@")[2]
    numbers = _IPV6.match(rest)
    if numbers:
        return numbers[1].lower()
    host = rest.partition(":")[0]
    if _HOST.fullmatch(host):
        return host.rstrip(".").lower()
    return _unusual(host) if scheme else ""


def _unusual(host: str) -> str:
    """What a client makes of a host in other letters. Never nothing: a rule about all hosts must hear of this one."""
    plain = unquote(host)
    try:
        plain = plain.encode("idna").decode("ascii")
    except UnicodeError:
        pass  # no name that can be looked up; it is shown as it is
    return plain.rstrip(".").lower()
