"""Sessions: each agent run as a timeline, with verdicts, refusals, questions, time and budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import time_ns

from interpose.composition.service.seen_sessions import SeenSession, seen_sessions
from interpose.composition.service.session_timeline import SessionTimeline, TimelineEvent, session_timeline
from interpose.core.errors import NoSessionError, text_of
from interpose.core.formats.counted import plural
from interpose.doors.http_server.messages import Refusal
from interpose.doors.page.canary_notes import canary_note, shows_canaries
from interpose.doors.page.choices import chosen, here_with, ways
from interpose.doors.page.frame import Shown, shown
from interpose.doors.page.html import Content, Html, tag
from interpose.doors.page.ledger_reads import has_decisions, read_ledger
from interpose.doors.page.page_visits import Tab, Visit
from interpose.doors.page.pieces import (
    badge,
    call_path,
    clock,
    cut,
    duration,
    facts,
    id_at,
    question_path,
    session_path,
    span,
)
from interpose.doors.page.plots import STYLES
from interpose.doors.page.screens import Screen
from interpose.doors.page.session_forms import session_forms
from interpose.record.ledger.canaries import SESSION as DOCTOR
from interpose.record.ledger.canaries import canaries_since

ROWS = 200
EVENTS = 150
SINCE = {
    "1h": ("last hour", 3600),
    "1d": ("last day", 86400),
    "7d": ("last week", 7 * 86400),
    "31d": ("last month", 31 * 86400),
}
_LINE = 1000


def screens() -> tuple[Screen, ...]:
    """The list, and one of them."""

    async def sessions(visit: Visit) -> Shown:
        since = chosen(visit, "since", SINCE, "1d")
        service, first = visit.service, time_ns() - SINCE[since][1] * 10**9
        everything = shows_canaries(visit)

        def read() -> tuple[list[SeenSession], int, bool]:
            found = seen_sessions(service.store, service.governed, since_ns=first, limit=ROWS)
            canaries = 0 if everything else len(canaries_since(service.store, first))
            # Calls that an agent makes under doctor's name are none of doctor's.
            kept = [one for one in found if not canaries or (one.id, one.calls) != (DOCTOR, canaries)]
            return kept, canaries, bool(found) or has_decisions(service.store)

        found, canaries, is_any = await read_ledger(service, read)
        links = ways(visit, "since", {word: name for word, (name, _) in SINCE.items()}, since)
        rows = [_row(one, number) for number, one in enumerate(found)] or [_nothing(visit, since if is_any else "")]
        return shown("Sessions", links, canary_note(visit, canaries), _list(rows), styles=STYLES)

    async def session(visit: Visit) -> Shown:
        service, after = visit.service, _cursor(visit.request.query.get("before", ""))
        id = id_at(visit.request.params["id"])
        try:
            found = await read_ledger(service, lambda: session_timeline(service, id, limit=EVENTS, after=after))
        except NoSessionError as error:
            raise Refusal(404, "not_found", text_of(error)) from None
        return shown("Session", *_whole(visit, found, first=after is None), styles=STYLES)

    return (
        Screen("GET", "/sessions", "auditor", sessions, "Agent runs, the last active first", Tab("Sessions")),
        Screen("GET", "/sessions/{id}", "auditor", session, "One agent run, call by call"),
    )


def _cursor(text: str) -> int | None:
    """Where a page of the timeline begins; None is at the newest."""
    try:
        return int(text[1:], 16) if text.startswith("p") and len(text) <= 16 else None
    except ValueError:
        return None


def _nothing(visit: Visit, since: str) -> Html:
    """Why there is no row: nothing was decided yet, or nothing in this time."""
    said: Content = "Nothing was decided yet, so there is no session."
    if since:
        longest, (name, _) = list(SINCE.items())[-1]
        longer = tag("a", f"Show the {name}", href=here_with(visit, since=longest)) if since != longest else None
        said = [f"No session was active in the {SINCE[since][0]}. ", longer]
    return tag("li", said, class_="quiet", id="no-sessions")


def _list(rows: Sequence[Html]) -> Html:
    return tag(
        "ol", rows, id="sessions", class_="rows",
        data_live="slow", aria_label="Sessions, the last active first",
    )  # fmt: skip


def _row(one: SeenSession, number: int) -> Html:
    state = one.governed.state if one.governed is not None else ""
    where = one.governed.project if one.governed is not None else ""
    return tag(
        "li",
        tag("a", badge(state) if state else None, tag("b", cut(one.id, 80)), href=session_path(one.id), class_="what"),
        tag(
            "small",
            tag("span", one.agent, title="agent") if one.agent else None,
            tag("span", where.rstrip("/").rpartition("/")[2], title=where) if where else None,
            clock(one.last),
            tag("span", "over ", span((one.last - one.first).total_seconds())),
            tag("span", plural(one.calls, "call")),
            *_counts(one),
            class_="facts",
        ),
        id=f"session-{number}",
    )  # fmt: skip


def _counts(one: SeenSession) -> Iterator[Html]:
    for word, count in (("refused", one.deny), ("asked", one.ask), ("rewritten", one.rewrite)):
        if count:
            yield tag("span", f"{count:,} {word}", class_="problem" if word == "refused" else None)


def _whole(visit: Visit, found: SessionTimeline, *, first: bool) -> Iterator[Content]:
    one = found.session
    governed = one.governed
    yield tag("p", badge(governed.state) if governed is not None else None, tag("b", one.id), class_="lead")
    if governed is not None and governed.halt is not None:
        halt = governed.halt
        yield tag(
            "p", f"{halt.by} halted it: {halt.reason} To let it go on: ", tag("code", halt.how_to_lift),
            role="alert", class_="problem",
        )  # fmt: skip
    if governed is not None:
        yield from session_forms(visit, governed)
    yield tag(
        "ul",
        [
            tag("li", tag("b", f"{count:,}"), word)
            for word, count in (
                ("calls", one.calls), ("refused", one.deny), ("asked", one.ask), ("rewritten", one.rewrite),
            )
        ],
        tag("li", tag("b", span(found.seconds)), "from first to last"),
        class_="tiles",
    )  # fmt: skip
    if found.budgets:
        yield tag("section", tag("h2", "Budget"), _budgets(found))
    yield tag(
        "section",
        tag("h2", "What it did"),
        _line(found.events),
        tag("ol", [_event(visit, event) for event in found.events], class_="rows", id="timeline", data_keyed=True,
            data_live="decided questions" if first else None, aria_label="Calls, the newest first"),
        tag("p", tag("a", "Before that", href=f"{session_path(one.id)}?before={found.next}")) if found.next else None,
    )  # fmt: skip
    about: list[tuple[str, Content]] = [
        ("agent", one.agent),
        ("first call", clock(one.first)),
        ("last", clock(one.last)),
    ]
    if governed is not None:
        about += [
            ("role", governed.role), ("agents", str(governed.agents)), ("host", governed.host),
            ("project", governed.project), ("principal", governed.principal),
        ]  # fmt: skip
    yield tag("section", tag("h2", "About it"), facts(about))


def _budgets(found: SessionTimeline) -> Html:
    return tag(
        "ul",
        [
            tag(
                "li", tag("meter", min=0, max=max(1, one.limit), value=min(one.spent, one.limit),
                          aria_label=f"{one.what} per {one.per}"),
                f" {one.text} {one.what} per {one.per}",
                tag("b", " used up", class_="problem") if one.spent >= one.limit else None,
            )
            for one in found.budgets
        ],
    )  # fmt: skip


def _line(events: Sequence[TimelineEvent]) -> Html | None:
    """All of them as strokes on one line, the oldest on the left: one sees where refusals and questions crowd."""
    if len(events) < 2:
        return None
    first, last = events[-1].at, events[0].at
    whole = max((last - first).total_seconds(), 1e-9)
    strokes = [
        tag("rect", tag("title", f"{event.decision} {cut(event.tool, 60)}"),
            y=0 if event.decision in ("deny", "ask") else 10,
            x=round((event.at - first).total_seconds() / whole * (_LINE - 4), 1), width=4, height=30,
            class_=event.decision if event.decision.isalpha() else "")
        for event in reversed(events)
    ]  # fmt: skip
    return tag("svg", tag("title", f"{len(events)} calls over {span(whole)}"), strokes, viewBox=f"0 0 {_LINE} 40",
               preserveAspectRatio="none", class_="line", role="img")  # fmt: skip


def _event(visit: Visit, event: TimelineEvent) -> Html:
    asked = event.question
    return tag(
        "li",
        tag(
            "a", badge(event.decision), tag("b", cut(event.tool, 60)), " ", tag("code", event.what),
            href=call_path(event.call_id), class_="what",
        ),
        tag("small", event.reason, class_="effects") if event.reason else None,
        tag(
            "small",
            clock(event.at),
            tag("span", event.agent, title="agent") if event.agent else None,
            tag("span", event.rule, class_="rule") if event.rule else None,
            tag("span", ", ".join(event.effects)) if event.effects else None,
            tag("span", "decided in ", duration(event.decided_us * 1000)) if event.decided_us else None,
            tag("span", "ran ", duration(event.ran_ms * 1_000_000)) if event.ran_ms else None,
            tag("span", event.outcome) if event.outcome not in ("unknown", "denied") else None,
            visit.link(
                question_path(asked.id), asked.state, f" by {asked.by}" if asked.by else "",
                f" after {span(asked.waited_ms / 1000)}" if asked.waited_ms is not None else "",
            )
            if asked is not None
            else None,
            class_="facts",
        ),
        id=f"call-{event.call_id}",
        class_=event.decision,
    )  # fmt: skip
