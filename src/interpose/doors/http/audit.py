"""`/api/v1/audit`: the ledger for those who may read it. Pages, one record, counts, and an export of everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import time
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, json
from msgspec.structs import replace

from interpose.core.errors import text_of
from interpose.core.types import Outcome
from interpose.doors.http.ledger_readers import STORE_UNAVAILABLE, LedgerReaders
from interpose.doors.http_server.messages import JSON, Refusal, Request, Response, Route, json_response
from interpose.doors.http_server.query import Word, invalid_query, query_of
from interpose.record.ledger import OLD_FORMATS, CallProof, Format, Record, named, search, shapes
from interpose.record.ledger.call_proof import call_proof
from interpose.record.ledger.stats import Stats, stats
from interpose.record.ledger.times import moment_ns
from interpose.record.store.protocols import Query

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

T = TypeVar("T")

NDJSON = "application/x-ndjson"
EXPORT_PAGE = 200
"""Records that an export holds in memory at a time."""
SAMPLE = 1000
OF_REQUEST = 100
"""Calls of one request that are shown by its id, the newest ones. A search has pages for all."""

_RULE = "calls that this rule decided or rewrote, or whose result it rewrote or withheld"

Moment = Annotated[
    str,
    Meta(
        max_length=64,
        description="so long ago (90s, 15m, 2h, 7d, 1w), or a date and time",
        examples=["2h", "2026-01-31T08:00:00Z"],
        extra_json_schema={"anyOf": [{"pattern": "^[0-9]{1,9}[smhdw]$"}, {"format": "date-time"}]},
    ),
]


class Filters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which records are wanted. All that is given must hold."""

    request: Annotated[Word, Meta(description="calls that came in the request of this id (X-Request-ID)")] = ""
    session: Annotated[Word, Meta(description="calls of this session")] = ""
    agent: Annotated[Word, Meta(description="calls of this agent")] = ""
    tool: Annotated[Word, Meta(description="calls of this tool")] = ""
    decision: Annotated[Outcome | UnsetType, Meta(description="what was decided")] = UNSET
    rule: Annotated[Word, Meta(description=_RULE)] = ""
    effect: Annotated[Word, Meta(description="calls with this effect, such as fs.delete")] = ""
    path: Annotated[Word, Meta(description="calls that touch this path or something under it")] = ""
    host: Annotated[Word, Meta(description="calls that reach this host")] = ""
    text: Annotated[Word, Meta(description="calls whose arguments or reasons contain this")] = ""
    since: Moment | UnsetType = UNSET
    until: Moment | UnsetType = UNSET


class ShapedFilters(Filters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters, and the shape of what they find."""

    format: Annotated[Format, Meta(description="shape of a record")] = "record"


class PageQuery(ShapedFilters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One page, the newest records first."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="records of a page, at most")] = 50
    cursor: Annotated[str, Meta(pattern="^p[0-9a-f]{1,15}$", description="`next` of the page before")] | UnsetType = (
        UNSET
    )


class ShapeQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shape of one record."""

    format: Annotated[Format, Meta(description="shape of the record")] = "record"


class AuditPage(Struct, frozen=True):
    """Records, the newest first. With `next` as `cursor` the same question gets the next page; null is the last one."""

    records: list[dict[str, Any]]
    next: str | None


class AuditCall(Struct, frozen=True):
    """One call, or the calls of one request. Formats that keep a call's phases apart have several records of each."""

    records: list[dict[str, Any]]


_STORE = STORE_UNAVAILABLE
_QUERY = (400, "invalid_query")


class _Audit:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._read = LedgerReaders(service, "audit").read

    async def page(self, request: Request) -> Response:
        """A page, or everything if the caller wants lines."""
        if NDJSON in request.headers.get("accept", ""):
            return await self.export(request)
        wanted = _shaped(request, PageQuery)
        after = None if isinstance(wanted.cursor, UnsetType) else int(wanted.cursor[1:], 16)
        query = _query(wanted)
        found = await self._read(lambda: search(self._service.store, query, wanted.limit + 1, after))
        shown = found[: wanted.limit]
        return json_response(
            AuditPage(
                [shape for one in shown for shape in shapes(one, wanted.format)],
                f"p{shown[-1].position:x}" if len(found) > len(shown) else None,
            )
        )

    async def export(self, request: Request) -> Response:
        """All records that match, the oldest first, one JSON text a line."""
        wanted = _shaped(request, ShapedFilters)
        query = _query(wanted)
        if query.until_ns is None:
            # What is decided while we write is not waited for: an export ends.
            query = replace(query, until_ns=int(time() * 1e9))
        first = await self._read(lambda: self._after(query, None))
        return Response(headers=(("Content-Type", NDJSON),), stream=self._lines(query, first, wanted.format))

    async def call(self, request: Request) -> Response:
        """One call by its id, or those of the request of this id."""
        wanted = _shaped(request, ShapeQuery)
        found = await self._read(lambda: named(self._service.store, request.params["id"], OF_REQUEST))
        if not found:
            raise Refusal(404, "not_found", "there is no call or request of this id")
        return json_response(AuditCall([shape for one in found for shape in shapes(one, wanted.format)]))

    async def proof(self, request: Request) -> Response:
        """The place of one call in its chain."""

        def read() -> CallProof | None:
            found = named(self._service.store, request.params["id"], 1)
            return call_proof(self._service.store, found[0]) if found else None

        found = await self._read(read)
        if found is None:
            raise Refusal(404, "not_found", "there is no call of this id")
        return json_response(found)

    async def stats(self, request: Request) -> Response:
        """Counts of what matches."""
        query = _query(query_of(request, Filters))
        return json_response(await self._read(lambda: stats(self._service.store, query, SAMPLE)))

    async def _lines(self, query: Query, found: list[Record], shape: Format) -> AsyncIterator[bytes]:
        while found:
            yield b"".join(json.encode(line) + b"\n" for one in found for line in shapes(one, shape))
            if len(found) < EXPORT_PAGE:
                return
            last = found[-1].position
            found = await self._read(lambda last=last: self._after(query, last))  # type: ignore[misc]

    def _after(self, query: Query, position: int | None) -> list[Record]:
        return search(self._service.store, query, EXPORT_PAGE, position, oldest_first=True)


def _shaped(request: Request, type: type[T]) -> T:  # noqa: A002 - as `query_of` has it
    """The query, with the name that its format has now."""
    if (now := OLD_FORMATS.get(request.query.get("format", ""))) is not None:
        request.query["format"] = now
    return query_of(request, type)


def _query(wanted: Filters) -> Query:
    now = time()
    return Query(
        request=wanted.request, session=wanted.session, agent=wanted.agent, tool=wanted.tool,
        decision="" if isinstance(wanted.decision, UnsetType) else wanted.decision,
        rule=wanted.rule, effect=wanted.effect, path=wanted.path, host=wanted.host, text=wanted.text,
        since_ns=_moment("since", wanted.since, now), until_ns=_moment("until", wanted.until, now),
    )  # fmt: skip


def _moment(name: str, text: str | UnsetType, now: float) -> int | None:
    if isinstance(text, UnsetType):
        return None
    try:
        return moment_ns(text, now)
    except ValueError as error:
        raise invalid_query(name, text_of(error)) from None


def routes(service: Service) -> tuple[Route, ...]:
    """What auditors may ask."""
    audit = _Audit(service)
    return (
        Route(
            "GET", "/api/v1/audit", audit.page, "auditor", "Search the ledger, the newest records first",
            query=PageQuery, answer=AuditPage, codes=(_QUERY, _STORE), produces=(JSON, NDJSON),
        ),
        Route(
            "GET", "/api/v1/audit/export", audit.export, "auditor", "Every record that matches, one JSON text a line",
            query=ShapedFilters, codes=(_QUERY, _STORE), produces=(NDJSON,),
        ),
        Route(
            "GET", "/api/v1/audit/stats", audit.stats, "auditor", "Decisions counted by time, rule, agent and tool",
            query=Filters, answer=Stats, codes=(_QUERY, _STORE),
        ),
        Route(
            "GET", "/api/v1/audit/{id}", audit.call, "auditor", "Everything about one call, or those of one request",
            query=ShapeQuery, answer=AuditCall, codes=(_QUERY, (404, "not_found"), _STORE),
        ),
        Route(
            "GET", "/api/v1/audit/{id}/proof", audit.proof, "auditor", "The place of one call in its chain",
            answer=CallProof, codes=((404, "not_found"), _STORE),
        ),
    )  # fmt: skip
