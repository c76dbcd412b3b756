"""A ledger at one glance: decisions over time, by rule, agent and tool, and which interceptors take long."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import median, quantiles

from msgspec import Struct
from msgspec.structs import replace

from interpose.record.ledger.record import Record, search
from interpose.record.ledger.values import request_name
from interpose.record.store.protocols import EntryStore, Query, Tally

STRETCHES = 24
"""Stretches of time in which decisions are counted, at most."""
TOP = 10
SAMPLE = 5000
"""Records whose timings are looked at."""
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
    """Decisions, counted in every way that is asked for."""

    total: int
    decisions: dict[str, int]
    over_time: tuple[Stretch, ...]
    rules: dict[str, int]
    agents: dict[str, dict[str, int]]
    tools: dict[str, int]
    interceptors: tuple[Spent, ...]
    interceptors_of: int
    left_out: int = 0
    """Decisions of a session that was not to be counted."""


def stats(store: EntryStore, query: Query, sample: int = SAMPLE, *, without: str = "") -> Stats:
    """Count the decisions that match. The times of interceptors are those of a sample, the newest ones.

    The decisions of the session `without` are not counted, and their number is said.
    """
    query = replace(query, kinds=("decided",), request=request_name(query.request))
    span = _span(store, query)
    width = _WIDTHS[0] if span is None else _width(span)
    tallies = store.tallies(query, width)
    left_out = store.tallies(replace(query, session=without), width) if without and not query.session else []
    if left_out:
        tallies = _without(tallies, left_out)
    newest = search(store, query, sample, wanted=(lambda record: record.session != without) if left_out else None)
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
        interceptors=_slowest(newest),
        interceptors_of=len(newest),
        left_out=sum(tally.count for tally in left_out),
    )


def _without(tallies: list[Tally], left_out: list[Tally]) -> list[Tally]:
    less = {replace(tally, count=0): tally.count for tally in left_out}
    counted = (replace(tally, count=tally.count - less.get(replace(tally, count=0), 0)) for tally in tallies)
    return [tally for tally in counted if tally.count > 0]


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
    found = [Spent(name, len(spent), int(median(spent)), _p99(spent), max(spent)) for name, spent in times.items()]
    return tuple(sorted(found, key=lambda each: (-each.p50_ns, each.interceptor))[:TOP])


def _p99(spent: list[int]) -> int:
    return int(quantiles(spent, n=100, method="inclusive")[98]) if len(spent) > 1 else spent[0]
