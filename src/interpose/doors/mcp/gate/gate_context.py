"""Who asks, and in which session. INVARIANT: what a client says about itself never loosens a decision.

A session comes from `_meta`, from the trace, from the token or from the configuration, never from the connection: in
the modern era of MCP a connection is none. Agent, role and directory come from the configuration alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpose.composition.observability.trace_context import parse_traceparent
from interpose.core.config.gateway import GatewayDecisions
from interpose.core.formats.plain_text import one_line
from interpose.core.types import EMPTY, Context

SESSION = "interpose/session"
"""The key in `_meta` under which a client names its session."""
TRACEPARENT = "traceparent"
SOURCE = "mcp"
_LONGEST = 256


def client_context(
    settings: GatewayDecisions,
    *,
    meta: Mapping[str, Any] = EMPTY,
    headers: Mapping[str, str] = EMPTY,
    principal: str = "",
    token_session: str = "",
    client: str = "",
    cwd: str = "",
    request_id: str = "",
) -> Context:
    """The context of one request. `meta` is its `_meta`; `headers` are those of HTTP, in lower case.

    `principal` is what a credential proves, `token_session` the session that it names; `client` is what the client
    calls itself, and counts for nothing. `cwd` is where its server runs.
    """
    trace, span = _trace(meta, headers)
    said = settings.session or _session(settings, meta, trace, token_session)
    # Nobody gets into the session of another principal by naming it.
    owned = f"{principal}:{said}" if said and principal and not settings.session else said
    return Context(
        session_id=owned or f"{SOURCE}:{principal or 'local'}",
        agent_id=settings.agent, role=settings.role, principal=principal, cwd=cwd,
        trace_id=trace, span_id=span, source=SOURCE, request_id=_text(request_id), claimed=_text(client),
    )  # fmt: skip


def _session(settings: GatewayDecisions, meta: Mapping[str, Any], trace: str, token_session: str) -> str:
    found = {"meta": _text(meta.get(SESSION)), "trace": f"trace:{trace}" if trace else "", "token": token_session}
    return next((found[source] for source in settings.session_from if found[source]), "")


def _trace(meta: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[str, str]:
    """`_meta` comes first: what stands in a header may be a proxy's."""
    for said in (meta.get(TRACEPARENT), headers.get(TRACEPARENT)):
        if isinstance(said, str) and len(said) <= _LONGEST:
            trace, span = parse_traceparent(said)
            if trace:
                return trace, span
    return "", ""


def _text(said: object) -> str:
    """A text that a client chose: short, and with nothing in it that can't be shown."""
    return one_line(said.strip())[:_LONGEST] if isinstance(said, str) else ""
