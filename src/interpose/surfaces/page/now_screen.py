"""Now: decisions as they are made, the newest first."""

from __future__ import annotations

from typing import Any

from interpose.call_kinds.effect_words import effect_text
from interpose.ledger import Record, search
from interpose.store.protocols import Query
from interpose.surfaces.http_server.messages import Response, Route
from interpose.surfaces.page.frame import shown
from interpose.surfaces.page.html import Html, tag
from interpose.surfaces.page.ledger_reads import read_ledger
from interpose.surfaces.page.page_visits import Visit, Visits
from interpose.surfaces.page.pieces import badge, call_path, cut, moment, question_path, record_subject

ROWS = 100
"""Decisions that are shown. However many come, a page has no more."""
_MOST_EFFECTS = 3
_WORDS = ("agent", "tool", "rule", "effect", "session", "text")
_DECISIONS = ("", "allow", "rewrite", "ask", "deny")


def routes(visits: Visits) -> tuple[Route, ...]:
    """The first screen."""

    async def now(visit: Visit) -> Response:
        wanted = _wanted(visit.request.query)
        query = Query(**{name: value for name, value in wanted.items() if value})
        found = await read_ledger(visit.service, lambda: search(visit.service.store, query, ROWS))
        return shown(visit, "Now", _filter(wanted), _rows(found))

    return (Route("GET", "/", visits.screen("auditor", now), "visitor", "Decisions as they are made"),)


def _wanted(query: dict[str, str]) -> dict[str, Any]:
    said = query.get("decision", "")
    return {"decision": said if said in _DECISIONS else ""} | {name: query.get(name, "")[:200] for name in _WORDS}


def _filter(wanted: dict[str, Any]) -> Html:
    chosen = [
        tag("option", word or "any", value=word, selected=word == wanted["decision"]) for word in _DECISIONS
    ]  # fmt: skip
    fields = [
        tag("label", name, " ", tag("input", name=name, value=wanted[name], maxlength=200)) for name in _WORDS
    ]  # fmt: skip
    some = any(wanted.values())
    return tag(
        "form",
        tag("button", "Pause", type="button", id="pause", aria_pressed="false", class_="needs-script"),
        tag(
            "details",
            tag("summary", "Filter", " (on)" if some else ""),
            tag("label", "verdict ", tag("select", chosen, name="decision")),
            fields,
            tag("button", "Show"),
            tag("a", "Show all", href="/") if some else None,
            open=some,
        ),
        method="get",
        action="/",
        class_="filter",
    )


def _rows(found: list[Record]) -> Html:
    nothing = tag("p", "Nothing was decided yet.", id="no-rows", class_="quiet") if not found else None
    return tag(
        "ol", [_row(one) for one in found], nothing,
        id="decisions", class_="rows", data_live="decided", data_keyed=True, aria_label="Decisions, the newest first",
    )  # fmt: skip


def _row(one: Record) -> Html:
    effects = "; ".join(effect_text(each) for each in one.effects[:_MOST_EFFECTS])
    if len(one.effects) > _MOST_EFFECTS:
        effects += f"; and {len(one.effects) - _MOST_EFFECTS} more"
    waits = one.approval and one.decision == "ask" and one.outcome == "unknown"
    return tag(
        "li",
        tag(
            "a",
            badge(one.decision),
            tag("b", cut(one.tool, 60)),
            " ",
            tag("code", record_subject(one)),
            href=call_path(one.call_id),
            class_="what",
        ),
        tag("small", effects, class_="effects") if effects else None,
        tag(
            "small",
            moment(one.time_ns),
            tag("span", one.agent or one.source, title="agent") if one.agent or one.source else None,
            tag("span", one.cwd.rstrip("/").rpartition("/")[2], title=one.cwd) if one.cwd else None,
            tag("span", one.rule, class_="rule") if one.rule else None,
            tag("a", "answer", href=question_path(one.approval)) if waits else None,
            class_="facts",
        ),
        id=f"call-{one.call_id}",
        class_=one.decision,
    )
