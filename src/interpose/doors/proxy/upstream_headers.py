"""Headers on their way through: as they came, but for what belongs to one connection.

INVARIANT: no header is logged, kept, or made up. Credentials go where the request goes, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping

from interpose.doors.http_server.messages import Headers

SESSION = "x-interpose-session"
"""Ours: a name for the session."""

_HOP = frozenset({
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade",
})  # fmt: skip
_REQUEST = _HOP | {"host", "content-length", "expect", "accept-encoding", SESSION}
_ANSWER = _HOP | {"content-length", "alt-svc"}
"""`alt-svc` would lead an agent past us."""


def _named(headers: Mapping[str, str]) -> frozenset[str]:
    """What `Connection` says belongs to the connection, too."""
    return frozenset(word.strip().lower() for word in headers.get("connection", "").split(","))


def request_head(
    method: str, target: str, authority: str, fields: Headers, headers: Mapping[str, str], length: int | None
) -> bytes:
    """Everything before the body of a request to a model's server. `length` is None if it has no body."""
    left_out = _REQUEST | _named(headers)
    lines = [f"{method} {target} HTTP/1.1", f"Host: {authority}"]
    lines += [f"{name}: {value}" for name, value in fields if name.lower() not in left_out]
    lines.append("Accept-Encoding: identity")
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def answer_fields(fields: Headers, headers: Mapping[str, str]) -> Headers:
    """The headers of an answer that an agent gets."""
    left_out = _ANSWER | _named(headers)
    return tuple((name, value) for name, value in fields if name.lower() not in left_out)
