"""`interpose audit stats`: what people want to see of a ledger at one glance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import median, quantiles

from msgspec import Struct

from interpose.cli.audit_query import time_text
from interpose.cli.audit_text import COLOURS, duration
from interpose.cli.rendering import Ink, columns, cut, visible
from interpose.ledger import Record, search
from interpose.store.protocols import EntryStore, Query

STRETCHES = 24
TOP = 10
SAMPLE = 5000
"""Records whose timings are looked at, the newest ones."""
_DECISIONS = ("deny", "ask", "rewrite", "allow")
_MARKS = {"deny": "█", "ask": "▓", "rewrite": "▒", "allow": "░"}
"""Told apart without colours too."""
_NAME_WIDTH = 32
_SECOND = 1_000_000_000
_WIDTHS = tuple(seconds * _SECOND for seconds in (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400))


class Stretch(Struct, frozen=True):
    """Decisions of a stretch of time."""

    start_ns: int
    decisions: dict[str, int]


class Spent(Struct, frozen=True):
    """What one interceptor takes, over the newest records."""

    interceptor: str
    calls: int
    p50_ns: int
    p99_ns: int
    max_ns: int


class Stats(Struct, frozen=True):
    """Everything that is drawn."""

    total: int
    decisions: dict[str, int]
    over_time: tuple[Stretch, ...]
    rules: dict[str, int]
    agents: dict[str, dict[str, int]]
    tools: dict[str, int]
    interceptors: tuple[Spent, ...]
    interceptors_of: int


def stats(store: EntryStore, query: Query) -> Stats:
    """Count what matches."""
    span = _span(store, query)
    tallies = store.tallies(query, _WIDTHS[0] if span is None else _width(span))
    sample = search(store, query, SAMPLE)
    stretches: dict[int, Counter[str]] = defaultdict(Counter)
    agents: dict[str, Counter[str]] = defaultdict(Counter)
    for tally in tallies:
        stretches[tally.start_ns][tally.decision] += tally.count
        agents[tally.agent][tally.decision] += tally.count
    busiest = sorted(agents.items(), key=lambda item: (-item[1].total(), item[0]))
    return Stats(
        total=sum(tally.count for tally in tallies),
        decisions=_top((tally.decision, tally.count) for tally in tallies),
        over_time=tuple(Stretch(start, dict(counted)) for start, counted in _without_gaps(stretches, span)),
        rules=_top((tally.rule, tally.count) for tally in tallies if tally.rule),
        agents={name: dict(counted) for name, counted in busiest[:TOP]},
        tools=_top((tally.tool, tally.count) for tally in tallies),
        interceptors=_slowest(sample),
        interceptors_of=len(sample),
    )


def _span(store: EntryStore, query: Query) -> tuple[int, int] | None:
    ends = [store.query(query, 1, oldest_first=first) for first in (True, False)]
    if not ends[0] or not ends[1]:
        return None
    first, last = sorted((ends[0][0].time_ns, ends[1][0].time_ns))
    return first, last


def _width(span: tuple[int, int]) -> int:
    """The narrowest round width that needs no more stretches than are drawn."""
    first, last = span
    return next((width for width in _WIDTHS if last // width - first // width < STRETCHES), (last - first) // 8 + 1)


def _without_gaps(
    stretches: dict[int, Counter[str]], span: tuple[int, int] | None
) -> Iterable[tuple[int, Counter[str]]]:
    if span is None or not stretches:
        return ()
    width = _width(span)
    count = (max(stretches) - min(stretches)) // width + 1
    if count > 2 * STRETCHES:
        return sorted(stretches.items())  # clocks that jump: the gaps would be longer than what they lie between
    return [(start, stretches[start]) for start in (min(stretches) + width * at for at in range(count))]


def _top(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for name, count in counted:
        total[name] += count
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0]))[:TOP])


def _slowest(sample: Sequence[Record]) -> tuple[Spent, ...]:
    times: dict[str, list[int]] = defaultdict(list)
    for record in sample:
        for name, spent in record.timings:
            times[name].append(spent)
    found = [
        Spent(name, len(spent), int(median(spent)), int(quantiles([*spent, spent[-1]], n=100)[98]), max(spent))
        for name, spent in times.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.p50_ns, each.interceptor))[:TOP])


def drawn(shown: Stats, ink: Ink, width: int) -> str:
    """The statistics with bars, for a terminal of this width."""
    if not shown.total:
        return "no decisions"
    parts = [f"{ink(f'{shown.total:,} decisions', '1')}   {_legend(shown.decisions, ink)}"]
    parts += ["", ink("over time", "1")]
    rows = [(time_text(stretch.start_ns), stretch.decisions) for stretch in shown.over_time]
    parts += _bars(rows, ink, width)
    for title, counted in (("rules that decided most", shown.rules), ("tools", shown.tools)):
        if counted:
            parts += ["", ink(title, "1"), *_bars([(name, {"": count}) for name, count in counted.items()], ink, width)]
    parts += ["", ink("agents", "1"), *_bars(list(shown.agents.items()), ink, width)]
    if shown.interceptors:
        parts += ["", ink(f"slowest interceptors of the newest {shown.interceptors_of:,} calls", "1")]
        names = [_name(each.interceptor) for each in shown.interceptors]
        wide = max(map(columns, names))
        slowest = max(each.p50_ns for each in shown.interceptors)
        for name, each in zip(names, shown.interceptors, strict=True):
            figures = f"p50 {duration(each.p50_ns):>8}  p99 {duration(each.p99_ns):>8}  max {duration(each.max_ns):>8}"
            room = width - wide - len(figures) - 6
            bar = "█" * _length(each.p50_ns, slowest, room)
            parts.append(f"  {name}{' ' * (wide - columns(name))}  {figures}  {ink(bar, '35')}".rstrip())
    return "\n".join(parts)


def _legend(decisions: dict[str, int], ink: Ink) -> str:
    known = [word for word in _DECISIONS if word in decisions]
    return "   ".join(f"{ink(_MARKS[word], COLOURS[word])} {word} {decisions[word]:,}" for word in known)


def _bars(rows: Sequence[tuple[str, dict[str, int]]], ink: Ink, width: int) -> list[str]:
    """A bar for each row, the longest as long as there is room, in the colours of its decisions."""
    names = [_name(name) for name, _ in rows]
    totals = [sum(counted.values()) for _, counted in rows]
    wide, most = max(map(columns, names), default=0), max(totals, default=0)
    digits = len(f"{most:,}")
    room = width - wide - digits - 6
    shown: list[str] = []
    for name, total, (_, counted) in zip(names, totals, rows, strict=True):
        bar, drawn_so_far, reached = "", 0, 0
        for word, count in sorted(counted.items(), key=lambda item: (*_DECISIONS, item[0]).index(item[0])):
            reached += count
            end = _length(reached, most, room)
            if end > drawn_so_far:
                bar += ink(_MARKS.get(word, "█") * (end - drawn_so_far), COLOURS.get(word, "34"))
            drawn_so_far = end
        shown.append(f"  {name}{' ' * (wide - columns(name))}  {total:>{digits},}  {bar}".rstrip())
    return shown


def _length(value: int, most: int, room: int) -> int:
    """How long a bar is. What is not nothing is at least one mark."""
    return 0 if not value or not most else max(1, round(value / most * max(8, room)))


def _name(name: str) -> str:
    return cut(visible(name), _NAME_WIDTH) or "-"
