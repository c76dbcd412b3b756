"""What callers say: bodies, headers, and the contexts and calls that they mean. Translated here and nowhere else.

A value that is null counts as not given. Fields that nobody knows are ignored, so that newer callers are understood.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert

from interpose.composition.observability.trace_context import parse_traceparent
from interpose.core.types import Claims, Context, FrozenDict, ToolCall
from interpose.doors.http_server.json_body import CODE, decode
from interpose.doors.http_server.messages import ANONYMOUS, Headers, Refusal, Request

B = TypeVar("B")

Name = Annotated[str, Meta(max_length=1024)]
"""What names something: a session, a trace, a tool, an agent."""
Directory = Annotated[str, Meta(max_length=4096)]
Arguments = dict[str, Any]

VISIBLE = r"[^\s\x1c-\x1f\x85]"
"""A pattern of text that is not blank. What counts as blank by name differs between readers of patterns."""
NOT_BLANK = {"type": "string", "pattern": VISIBLE}

CLIENT_HEADERS = ("x-interpose-client-id", "x-maybe-dont-client-id")
LARGE = 4 * 1024
"""Bodies above this are read and decided in a thread: they may take long enough to keep others waiting."""
HUGE = 256 * 1024
"""Bodies above this may take a second: they have a thread of their own, so that none below waits for them."""

_LONGEST_CLIENT = 256
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,9})\"?\s*(?=$|[,;])", re.ASCII | re.IGNORECASE)


class Principal(Struct, frozen=True):
    """The identity of the actor."""

    type: Name | None = None
    id: Name | None = None


class CallerContext(Struct, frozen=True, rename="camel"):
    """`context`: who acts, as the caller says."""

    session_id: Name | None = None
    trace_id: Name | None = None
    span_id: Name | None = None
    timestamp: Annotated[str, Meta(max_length=64)] | float | None = None
    principal: Principal | None = None
    agent_id: Name | None = None


NOBODY = CallerContext()


def required(name: str) -> dict[str, Any]:
    """JSON Schema of a body in which this field is there and not blank."""
    return {"required": [name], "properties": {name: NOT_BLANK}}


def require_json(request: Request, status: int) -> None:
    """Refuse a body that is not announced as JSON: a web page may send any other kind without being asked first."""
    given = request.headers.get("content-type", "")
    if given != "application/json" and given.partition(";")[0].strip().lower() != "application/json":
        text = f"Content-Type must be application/json, not {given!r}" if given else "Content-Type is missing"
        raise Refusal(status, "invalid_content_type", text)


def body_of(request: Request, kind: type[B]) -> B:
    """The body as a value of `kind`."""
    return as_kind(value_of(request), kind)


def value_of(request: Request) -> Any:
    """The body as JSON."""
    return decode(request.body)


def as_kind(value: Any, kind: type[B]) -> B:
    """A JSON value as a value of `kind`. The refusal says which field is wrong."""
    try:
        return convert(value, kind)
    except ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        name = where.removesuffix("`")
        raise Refusal(400, CODE, f"{name}: {what}" if name else f"the body: {what}") from None


def context_of(
    request: Request, source: str, said: CallerContext = NOBODY, *, cwd: str | None, principal: str = ""
) -> Context:
    """Who asks. INVARIANT: where a credential says who it is, nothing in the request does: that is only a claim.

    An anonymous caller has no session and no agent: what it says of itself is kept as `claims`, and nothing reads it.
    """
    trace, span = said.trace_id or "", said.span_id or ""
    if not trace and (header := request.headers.get("traceparent")):
        trace, span = parse_traceparent(header)
    client = client_of(request)
    named, agent = said.principal, said.agent_id or ""
    if named is not None and named.id:
        principal = f"{named.type}:{named.id}" if named.type else named.id
    if request.caller.anonymous:
        return Context(
            principal=ANONYMOUS, cwd=cwd or "", trace_id=trace, span_id=span, source=source,
            request_id=request.request_id,
            claims=_claims(said.session_id or "", principal, client),
        )  # fmt: skip
    if named is not None and named.id:
        agent = agent or (named.id if named.type == "agent" else "")
    claimed = principal or client
    proven = request.caller.name
    return Context(
        session_id=said.session_id or "", agent_id=agent or client, principal=proven or claimed, cwd=cwd or "",
        trace_id=trace, span_id=span, source=source, request_id=request.request_id,
        claimed=claimed if proven and claimed != proven else "", claims=_claims("", "", client),
    )  # fmt: skip


def _claims(session: str, principal: str, client: str) -> Claims | UnsetType:
    return Claims(session=session, principal=principal, client=client) if session or principal or client else UNSET


def client_of(request: Request) -> str:
    """What the client calls itself."""
    headers = request.headers
    for name in CLIENT_HEADERS:
        if name in headers:
            return headers[name].strip()[:_LONGEST_CLIENT]
    return ""


def call_of(name: str, arguments: Arguments | None, context: Context) -> ToolCall:
    """The call that is meant."""
    try:
        return ToolCall(name, arguments if arguments is not None else FrozenDict(), context=context)
    except ValueError as error:
        raise Refusal(400, CODE, f"arguments: {error}") from None


def wait_of(request: Request, limit: float) -> tuple[float, Headers]:
    """How long the caller would wait for a person (`Prefer: wait=N`), and the header that says what it gets."""
    prefer = request.headers.get("prefer")
    if prefer is None or (found := _WAIT.search(prefer)) is None:
        return 0.0, ()
    seconds = min(float(found[1]), limit)
    return seconds, (("Preference-Applied", f"wait={seconds:g}"),)
