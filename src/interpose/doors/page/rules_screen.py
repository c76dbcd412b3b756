"""Rules: files and packs, how they stand, and what each rule did in the last days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import time_ns
from urllib.parse import quote

from interpose.composition.service.rule_activity import ActiveRule, RuleActivity, days_of, rule_activity
from interpose.doors.page.canary_notes import canaries_field, canary_note, shows_canaries
from interpose.doors.page.choices import chosen, here_with, ways
from interpose.doors.page.frame import Shown, shown
from interpose.doors.page.html import Content, Html, tag
from interpose.doors.page.ledger_reads import read_ledger
from interpose.doors.page.page_visits import Tab, Visit
from interpose.doors.page.pieces import badge, clock, cut
from interpose.doors.page.plots import SCRIPTS, STYLES, VERDICTS, Series, bars, plot
from interpose.doors.page.screens import Screen
from interpose.record.ledger.canaries import canaries_since
from interpose.rules.policy.reload import PolicyStatus

DAYS = {"7": "7 days", "14": "14 days", "31": "31 days"}
ROWS = 300
_WORDS = (*VERDICTS, "result")
_COLOURS = {"result": "rewrite"}


def screens() -> tuple[Screen, ...]:
    """The list. The playground is in playground_screen.py."""

    async def rules(visit: Visit) -> Shown:
        days, wanted = chosen(visit, "days", DAYS, "7"), visit.request.query.get("text", "")[:200]
        service = visit.service
        now = time_ns()

        def read() -> tuple[RuleActivity, int]:
            canaries = [] if shows_canaries(visit) else canaries_since(service.store, days_of(int(days), now)[0])
            return rule_activity(service, days=int(days), now_ns=now, without=canaries), len(canaries)

        found, canaries = await read_ledger(service, read)
        return shown(
            "Rules",
            tag("p", tag("a", "Playground", href="/rules/playground", class_="button"), " Try rules out on a call."),
            *_standing(service.policy_status()),
            ways(visit, "days", DAYS, days),
            canary_note(visit, canaries),
            *_activity(visit, found, wanted, days),
            scripts=SCRIPTS, styles=STYLES,
        )  # fmt: skip

    return (Screen("GET", "/rules", "auditor", rules, "Rules, and what each did", Tab("Rules")),)


def _standing(statuses: Sequence[PolicyStatus]) -> Iterator[Html]:
    """How the rules stand: those that hold everywhere, then those of projects."""
    everywhere, *projects = statuses
    yield tag(
        "p", f"{everywhere.rules:,} rules hold everywhere, revision ", tag("code", everywhere.revision), ", loaded ",
        clock(everywhere.loaded_at), f"; and those of {len(projects)} projects" if projects else "", ".",
    )  # fmt: skip
    for status in statuses:
        for problem in status.problems:
            yield tag("p", "Not taken over: ", str(problem), role="alert", class_="problem")
        for problem in status.refused:
            yield tag("p", str(problem), class_="note")


def _activity(visit: Visit, found: RuleActivity, wanted: str, days: str) -> Iterator[Content]:
    times = [int(day.timestamp()) for day in found.days]
    totals = {
        word: [sum(rule.counts[word][day] for rule in found.rules if word in rule.counts) for day in range(len(times))]
        for word in _WORDS
    }  # fmt: skip
    yield plot(
        "rules", "What rules said", times, note="each day, in UTC",
        series=[Series(word, _COLOURS.get(word, word), totals[word]) for word in _WORDS if any(totals[word])],
    )  # fmt: skip
    if not found.complete:
        yield tag("p", "There was too much to be counted: the largest numbers are here.", class_="problem")
    yield tag("section", tag("h2", "Packs"), _packs(found))
    yield tag(
        "form",
        tag("label", "Rules with this in their name, file or text ",
            tag("input", name="text", value=wanted, maxlength=200)),
        tag("input", type="hidden", name="days", value=days), canaries_field(visit), tag("button", "Show"),
        method="get", action="/rules", class_="filter",
    )  # fmt: skip
    rows = [rule for rule in found.rules if _has(rule, wanted)]
    if not rows:
        clear = tag("a", "Show all rules", href=here_with(visit, text=""))
        yield tag("p", "No rule has ", tag("code", wanted), " in its name, file or text. ", clear, id="no-rules")
        return
    heads = [tag("th", word, scope="col") for word in ("rule", "says", "times", "in these days", "stands in")]
    yield tag(
        "div",
        tag("table", tag("thead", tag("tr", heads)), tag("tbody", [_row(rule) for rule in rows[:ROWS]]), id="rules"),
        class_="wide",
    )  # fmt: skip
    if len(rows) > ROWS:
        yield tag("p", f"{len(rows) - ROWS:,} more are not shown: look for them by name.", class_="quiet")


def _packs(found: RuleActivity) -> Html:
    if not found.packs:
        return tag("p", "None is on.", class_="quiet")
    items = [
        tag("li", tag("a", tag("b", pack.name), href=f"/rules/playground?pack={quote(pack.name, safe='')}"),
            f" {pack.rules} rules, spoke {pack.total:,} times")
        for pack in found.packs
    ]  # fmt: skip
    return tag("ul", items)


def _has(rule: ActiveRule, wanted: str) -> bool:
    written = rule.written
    texts = (rule.id, *((written.file, written.text, written.pack) if written is not None else ()))
    return wanted.lower() in "\n".join(texts).lower()


def _row(rule: ActiveRule) -> Html:
    written = rule.written
    said = ", ".join(f"{word} {sum(counts):,}" for word, counts in rule.counts.items())
    notes: list[Content] = []
    if written is not None:
        notes = [
            tag("span", " watches") if written.mode == "watch" else None,
            tag("span", " off") if not written.enabled else None,
            tag("span", " by a judge") if written.by_judge else None,
        ]  # fmt: skip
    return tag(
        "tr",
        tag(
            "th", tag("a", rule.id, href=f"/?rule={quote(rule.id, safe='')}", class_="rule"),
            tag("br"), tag("small", cut(written.text, 160)) if written is not None else None, scope="row",
        ),
        tag("td", badge(written.action) if written is not None else tag("small", "built in, or gone"),
            tag("small", notes)),
        tag("td", f"{rule.total:,}", class_="number"),
        tag("td", bars([*rule.counts.items()], said) if rule.counts else tag("span", "–", class_="quiet")),
        tag("td", tag("small", _place(rule))),
        class_="" if rule.total else "silent",
    )  # fmt: skip


def _place(rule: ActiveRule) -> Content:
    written = rule.written
    if written is None:
        return ""
    if written.pack:
        return f"pack {written.pack}"
    return tag("span", f"{written.file.rpartition('/')[2]}:{written.line}", title=f"{written.file} ({written.level})")
