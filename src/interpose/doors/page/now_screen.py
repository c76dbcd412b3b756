"""Now: decisions as they are made, the newest first."""

from __future__ import annotations

from typing import Any

from interpose.doors.page.canary_notes import canaries_field, canary_note, shows_canaries
from interpose.doors.page.frame import Shown, shown
from interpose.doors.page.html import Content, Html, tag
from interpose.doors.page.ledger_reads import has_decisions, read_ledger
from interpose.doors.page.page_visits import Tab, Visit
from interpose.doors.page.pieces import badge, call_path, cut, moment, question_path, record_subject
from interpose.doors.page.screens import Screen
from interpose.people.widenings.effect_words import effect_text
from interpose.record.ledger import Record, search
from interpose.record.ledger.canaries import CanarySieve
from interpose.record.store.protocols import Query

ROWS = 100
"""Decisions that are shown. However many come, a page has no more."""
_MOST_EFFECTS = 3
_WORDS = ("agent", "tool", "rule", "effect", "session", "text")
_DECISIONS = ("", "allow", "rewrite", "ask", "deny")


def screens() -> tuple[Screen, ...]:
    """The first screen."""

    async def now(visit: Visit) -> Shown:
        wanted = _wanted(visit.request.query)
        query = Query(**{name: value for name, value in wanted.items() if value})
        store = visit.service.store
        # As `interpose audit search` does it: who names a session wants all of it.
        sieve = CanarySieve(shown=shows_canaries(visit) or bool(query.session))

        def read() -> tuple[list[Record], bool]:
            found = search(store, query, ROWS, wanted=sieve)
            return found, bool(found) or has_decisions(store)

        found, is_any = await read_ledger(visit.service, read)
        rows = [_row(visit, one) for one in found] or [_nothing(wanted if is_any else {})]
        return shown("Now", _filter(visit, wanted), canary_note(visit, sieve.left_out), _list(rows))

    return (Screen("GET", "/", "auditor", now, "Decisions as they are made", Tab("Now")),)


def _wanted(query: dict[str, str]) -> dict[str, Any]:
    said = query.get("decision", "")
    return {"decision": said if said in _DECISIONS else ""} | {name: query.get(name, "")[:200] for name in _WORDS}


def _nothing(wanted: dict[str, str]) -> Html:
    """Why there is no row: no decision at all, or none that is wanted."""
    named = {"verdict": wanted.get("decision", "")} | {word: wanted.get(word, "") for word in _WORDS}
    said: Content = "Nothing was decided yet."
    if filters := [(name, value) for name, value in named.items() if value]:
        words = [(", " if at else "", f"{name} ", tag("code", value)) for at, (name, value) in enumerate(filters)]
        said = ["No decision matches the filter: ", words, ". ", tag("a", "Clear the filter", href="/")]
    return tag("li", said, id="no-rows", class_="quiet")


def _filter(visit: Visit, wanted: dict[str, str]) -> Html:
    chosen = [
        tag("option", word or "any", value=word, selected=word == wanted["decision"]) for word in _DECISIONS
    ]  # fmt: skip
    fields = [
        tag("label", name, " ", tag("input", name=name, value=wanted[name], maxlength=200)) for name in _WORDS
    ]  # fmt: skip
    some = any(wanted.values())
    return tag(
        "form",
        tag("button", "Stop live updates", type="button", id="live-updates", class_="needs-script"),
        tag(
            "details",
            tag("summary", "Filter", " (on)" if some else ""),
            tag("label", "verdict ", tag("select", chosen, name="decision")),
            fields,
            canaries_field(visit),
            tag(
                "div",
                tag("button", "Show"),
                tag("a", "Clear the filter", href="/", class_="button") if some else None,
                class_="apart",
            ),
            open=some,
        ),
        method="get",
        action="/",
        class_="filter",
    )


def _list(rows: list[Html]) -> Html:
    return tag(
        "ol", rows, id="decisions", class_="rows", data_live="decided", data_keyed=True,
        aria_label="Decisions, the newest first",
    )  # fmt: skip


def _row(visit: Visit, one: Record) -> Html:
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
            visit.link(question_path(one.approval), "answer") if waits and visit.may_open("/inbox") else None,
            class_="facts",
        ),
        id=f"call-{one.call_id}",
        class_=one.decision,
    )
