"""Overview: calls, refusals, questions, times to answer, latency, agents, health, and the ledger's state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import time_ns

from interpose.composition.service.overview import (
    AnswerTimes,
    HeardAgent,
    Overview,
    OverviewStretch,
    overview,
    overview_begins,
)
from interpose.doors.http.figures import Agents
from interpose.doors.page.canary_notes import canary_note, shows_canaries
from interpose.doors.page.choices import chosen, ways
from interpose.doors.page.frame import Shown, shown
from interpose.doors.page.html import Content, Html, tag
from interpose.doors.page.ledger_reads import read_ledger
from interpose.doors.page.page_visits import Tab, Visit
from interpose.doors.page.pieces import badge, clock, duration, facts, span
from interpose.doors.page.plots import SCRIPTS, STYLES, VERDICTS, Series, plot
from interpose.doors.page.screens import Screen
from interpose.record.ledger.canaries import canaries_since

SINCE = {
    "1h": ("last hour", 3600),
    "1d": ("last day", 86400),
    "7d": ("last week", 7 * 86400),
    "31d": ("last month", 31 * 86400),
}


def screens(agents: Agents | None) -> tuple[Screen, ...]:
    """The one screen."""

    async def show(visit: Visit) -> Shown:
        since = chosen(visit, "since", SINCE, "1d")
        service, now = visit.service, time_ns()
        first = now - SINCE[since][1] * 10**9

        def read() -> tuple[Overview, int]:
            canaries = [] if shows_canaries(visit) else canaries_since(service.store, overview_begins(first, now))
            heard = None if agents is None else agents()
            return overview(service, since_ns=first, now_ns=now, agents=heard, without=canaries), len(canaries)

        found, canaries = await read_ledger(service, read)
        links = ways(visit, "since", {word: name for word, (name, _) in SINCE.items()}, since)
        body = tag("div", *_all(found), id="figures", data_live="slow", data_keyed=True)
        return shown("Overview", links, canary_note(visit, canaries), body, scripts=SCRIPTS, styles=STYLES)

    return (Screen("GET", "/overview", "auditor", show, "How everything stands", Tab("Overview")),)


def _all(found: Overview) -> Iterator[Content]:
    paused = tag("p", found.paused, role="alert", class_="problem") if found.paused else None
    yield tag("div", paused, *_alarms(found), id="alarms")
    yield _tiles(found)
    yield from _plots(found)
    yield tag(
        "div", tag("section", tag("h2", "Agents"), _agents(found.agents)),
        tag("section", tag("h2", "Health"), *_health(found)), class_="two", id="standing",
    )  # fmt: skip


def _alarms(found: Overview) -> Iterator[Html]:
    """What somebody has to look at. An empty page says that all is well."""
    process, ledger = found.process, found.ledger
    told = (
        (ledger.problem, f"The ledger: {ledger.problem}"),
        (ledger.lost, f"The ledger lost {ledger.lost:,} entries."),
        (
            process.unapproved,
            f"{process.unapproved:,} calls ran although a person had to agree, and nobody is known to.",
        ),
        (process.fail_open, f"{process.fail_open:,} calls ran although an interceptor that had to decide failed."),
        (process.unrecorded, f"{process.unrecorded:,} calls were refused because they could not be recorded."),
        (process.grant_alarms, f"{process.grant_alarms:,} grants or answers in the store were given by no server."),
    )
    for holds, text in told:
        if holds:
            yield tag("p", text, role="alert", class_="problem")
    for problem in found.policy.broken:
        yield tag("p", "Newer rule files are wrong, and the last good rules hold: ", problem, class_="problem")


def _tiles(found: Overview) -> Html:
    questions, latency = found.questions, found.latency
    answered = questions.answered_in
    tiles: list[tuple[str, str]] = [
        ("calls", f"{found.total:,}"),
        ("refused", f"{found.decisions.get('deny', 0):,}"),
        ("rewritten", f"{found.decisions.get('rewrite', 0):,}"),
        ("asked", f"{questions.asked:,}{'' if questions.complete else ' or more'}"),
        ("wait now", f"{questions.waiting:,}"),
        ("to answer, p50", _seconds(answered.p50_s) if answered is not None else "–"),
        ("to decide, p50", duration(latency.p50_us * 1000) if latency is not None else "–"),
        ("to decide, p99", duration(latency.p99_us * 1000) if latency is not None else "–"),
    ]
    return tag("ul", [tag("li", tag("b", value), name) for name, value in tiles], class_="tiles", id="tiles")


def _plots(found: Overview) -> Iterator[Html]:
    stretches = found.stretches
    times = [int(one.start.timestamp()) for one in stretches]
    each = f"each {span(found.width_s)}"
    yield plot(
        "decisions", "Decisions", times, note=each,
        series=[Series(word, word, [one.decisions.get(word, 0) for one in stretches]) for word in VERDICTS],
    )  # fmt: skip
    yield plot(
        "questions", "Questions", times, note=each,
        series=[Series("asked", "ask", [one.questions for one in stretches])],
    )  # fmt: skip
    yield plot(
        "answers", "Time to answer", times, [Series("p50", "ask", [one.answer_p50_s for one in stretches])],
        unit="s", kind="line",
    )  # fmt: skip
    yield plot(
        "latency", "What a decision takes", times, unit="ms", kind="line",
        note="the interceptors, without people", series=_latencies(stretches),
    )  # fmt: skip


def _latencies(stretches: Sequence[OverviewStretch]) -> list[Series]:
    found = [one.latency for one in stretches]
    return [
        Series("p50", "rewrite", [None if one is None else one.p50_us / 1000 for one in found]),
        Series("p99", "deny", [None if one is None else one.p99_us / 1000 for one in found]),
    ]


def _agents(agents: Sequence[HeardAgent] | None) -> Html:
    if agents is None:
        return tag("p", "This server does not know which agents should be heard of.", class_="quiet")
    if not agents:
        return tag("p", "No agent has hooks of ours on this machine: ", tag("code", "interpose install --list"))
    return tag("ul", [_agent(one) for one in agents], class_="rows")


def _agent(one: HeardAgent) -> Html:
    heard: Content = ("last heard ", clock(one.heard)) if one.heard is not None else tag("b", "never heard of")
    return tag(
        "li", tag("b", one.title), " ", heard, [tag("p", text, class_="problem") for text in one.warnings]
    )  # fmt: skip


def _health(found: Overview) -> Iterator[Content]:
    ledger, policy, process, questions = found.ledger, found.policy, found.process, found.questions
    well = not ledger.problem and not ledger.lost
    yield tag("p", badge("ledger"), "is well" if well else "is not well", class_="fine" if well else "wrong")
    states = ", ".join(f"{count} {state}" for state, count in sorted(questions.states.items()))
    answered = questions.answered_in
    yield facts((
        ("ledger holds", f"{ledger.bytes / 1e6:,.1f} MB"),
        ("recorded since the start", f"{ledger.recorded:,}"),
        ("entries that wait", f"{ledger.late:,}" if ledger.late else ""),
        ("besides", "; ".join(ledger.warnings)),
        ("rules", tag("a", f"{policy.rules:,}, revision {policy.revision}", href="/rules")),
        ("loaded", clock(policy.loaded_at)),
        ("projects with rules", str(policy.projects) if policy.projects else ""),
        ("questions became", states),
        ("answered within", _answered(answered) if answered is not None else ""),
        ("decisions of this server", f"{process.decisions:,}"),
        ("watching rules would have stopped", f"{process.watched:,}" if process.watched else ""),
        ("interceptors failed", f"{process.interceptor_errors:,}" if process.interceptor_errors else ""),
    ))  # fmt: skip


def _answered(times: AnswerTimes) -> str:
    return f"p90 {_seconds(times.p90_s)}, longest {_seconds(times.longest_s)}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else span(seconds)
