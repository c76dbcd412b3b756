"""Whose session a request belongs to, and that nothing that a client says of itself counts for more."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.core.config.gateway import GatewayDecisions
from interpose.doors.mcp.gate.gate_context import client_context

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"
BY_TRACE = {"session_from": ("meta", "trace")}
META = {"interpose/session": "run-7", "traceparent": PARENT}

SESSIONS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("nobody says one, on stdio", {}, {}, "mcp:local"),
    ("nobody says one, with a token", {}, {"principal": "ann"}, "mcp:ann"),
    ("_meta", {}, {"meta": META}, "run-7"),
    ("_meta of a principal is that principal's", {}, {"meta": META, "principal": "ann"}, "ann:run-7"),
    ("the trace in _meta", BY_TRACE, {"meta": {"traceparent": PARENT}}, f"trace:{TRACE}"),
    ("the trace in a header", BY_TRACE, {"headers": {"traceparent": PARENT}}, f"trace:{TRACE}"),
    ("the token", {}, {"token_session": "t", "principal": "ann"}, "ann:t"),
    ("the configuration, whatever is said", {"session": "fixed"}, {"meta": META, "principal": "ann"}, "fixed"),
    ("the order is chosen", {"session_from": ("token", "meta")}, {"meta": META, "token_session": "t"}, "t"),
    ("a trace is no session unless that is chosen: many clients make one for each request", {},
     {"meta": {"traceparent": PARENT}}, "mcp:local"),
    ("a session that is no text", {}, {"meta": {"interpose/session": 7}}, "mcp:local"),
    ("a blank one", {}, {"meta": {"interpose/session": "  "}}, "mcp:local"),
    ("one that steers terminals", {}, {"meta": {"interpose/session": "a\x1b[2Jb"}}, "a\\x1b[2Jb"),
    ("a long one is cut", {}, {"meta": {"interpose/session": "x" * 1000}}, "x" * 256),
    ("a trace that is none", BY_TRACE, {"meta": {"traceparent": "00-0-0-00"}}, "mcp:local"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "settings", "said", "session"), SESSIONS)
def test_sessions(note: str, settings: dict[str, Any], said: dict[str, Any], session: str) -> None:
    assert client_context(GatewayDecisions(**settings), **said).session_id == session


def test_the_trace_is_joined() -> None:
    context = client_context(GatewayDecisions(), meta=META)
    assert (context.trace_id, context.span_id) == (TRACE, "b7ad6b7169203331")


def test_what_a_client_says_of_itself_counts_for_nothing() -> None:
    meta = {"agent": "root", "role": "admin", "principal": "ann", "cwd": "/", "interpose/role": "admin"}
    context = client_context(GatewayDecisions(role="reader", agent="helper"), meta=meta, client="Trusted\nClient")
    assert (context.agent_id, context.role, context.principal, context.cwd) == ("helper", "reader", "", "")
    assert (context.source, context.claimed) == ("mcp", "Trusted\\nClient")
