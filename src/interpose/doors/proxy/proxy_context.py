"""Whose request it is. INVARIANT: what an agent says about itself never loosens a decision.

A session comes from the configuration, or is that of the command that the proxy was started for: a new name would be a
new session, in which nothing has happened yet. Only where there is neither, a header names one, with our name before
it: nobody gets into the session of a hook or a gateway.
"""

from __future__ import annotations

from interpose.composition.observability.trace_context import parse_traceparent
from interpose.core.config.proxy import ProxySettings
from interpose.core.formats.plain_text import one_line
from interpose.core.types import Context
from interpose.doors.http_server.messages import Request
from interpose.doors.proxy.upstream_headers import SESSION

SOURCE = "proxy:"
LOCAL = "proxy:local"
"""The session of all who name none."""
_LONGEST = 256


def proxy_context(settings: ProxySettings, request: Request, dialect: str, *, own_session: str, cwd: str) -> Context:
    """The context of one request. `own_session` is that of the command that was started with the proxy."""
    headers = request.headers
    said = _text(headers.get(SESSION, ""))
    trace, span = parse_traceparent(headers.get("traceparent", "")[:_LONGEST])
    return Context(
        session_id=settings.session or own_session or (f"{SOURCE}{said}" if said else LOCAL),
        agent_id=settings.agent, role=settings.role, cwd=cwd, trace_id=trace, span_id=span,
        source=f"{SOURCE}{dialect}", request_id=request.request_id, claimed=_text(headers.get("user-agent", "")),
    )  # fmt: skip


def _text(said: str) -> str:
    """A text that an agent chose: short, and with nothing in it that can't be shown."""
    return one_line(said.strip())[:_LONGEST]
