"""How everything stands, in figures: calls, refusals, questions and their answers, times, health, and the ledger.

From the ledger, the questions that are kept, and the counters of this process. Everything is bounded: stretches of time
are counted by the store, times of decisions are those of a sample of each stretch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Sequence
from datetime import datetime
from statistics import median, quantiles
from typing import TYPE_CHECKING

from msgspec import Struct

from interpose.core.errors import StoreError, text_of
from interpose.people.approvals.questions import Question, moment
from interpose.record.ledger import timings_of

if TYPE_CHECKING:
    from interpose.composition.service.service import Service
    from interpose.record.ledger import Record
    from interpose.record.store.protocols import EntryFigures

STRETCHES = 32
"""Stretches of time that are drawn, at most."""
SAMPLE = 120
"""Decisions of a stretch whose times are looked at."""
QUESTIONS = 2_000
"""The newest questions that are looked at."""
_SECOND = 1_000_000_000
_WIDTHS = tuple(
    seconds * _SECOND
    for seconds in (60, 300, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400)
)


class DecisionLatency(Struct, frozen=True):
    """What interceptors took for a decision, in microseconds, without the time of people. Of so many decisions."""

    p50_us: int
    p99_us: int
    of: int


class AnswerTimes(Struct, frozen=True):
    """How long people took to answer, in seconds. Of so many answers."""

    p50_s: float
    p90_s: float
    longest_s: float
    of: int


class OverviewStretch(Struct, frozen=True, kw_only=True):
    """What happened in a stretch of time. Its times are null where there are none."""

    start: datetime
    decisions: dict[str, int]
    questions: int
    answer_p50_s: float | None
    latency: DecisionLatency | None


class QuestionFigures(Struct, frozen=True, kw_only=True):
    """Questions that were put in this time, by what became of them. `waiting` are those that wait now, of any time."""

    asked: int
    states: dict[str, int]
    waiting: int
    answered_in: AnswerTimes | None
    complete: bool
    """False if there were more than are looked at."""


class LedgerFigures(Struct, frozen=True, kw_only=True):
    """How the ledger fares. `recorded` is since this process began. A `problem` is empty while all is well."""

    recorded: int
    late: int
    lost: int
    bytes: int
    problem: str
    warnings: tuple[str, ...]


class PolicyFigures(Struct, frozen=True, kw_only=True):
    """The rules that hold everywhere."""

    revision: str
    rules: int
    loaded_at: datetime
    broken: tuple[str, ...]
    projects: int


class HeardAgent(Struct, frozen=True, kw_only=True):
    """An agent whose hooks are installed, and when it was last heard of: null is never.

    `warnings` are what keeps it from asking: it works and was not heard of, or its hooks are switched off.
    """

    name: str
    title: str
    heard: datetime | None
    warnings: tuple[str, ...]


class ProcessFigures(Struct, frozen=True, kw_only=True):
    """What this server counted since it began.

    `fail_open` counts calls that ran although an interceptor that had to decide failed, `unrecorded` those that were
    refused because they could not be recorded, `unapproved` those that ran although a person had to agree and nobody
    is known to, `watched` those that a watching rule would have stopped.
    """

    decisions: int
    fail_open: int
    unrecorded: int
    unapproved: int
    watched: int
    interceptor_errors: int
    grant_alarms: int


class Overview(Struct, frozen=True, kw_only=True):
    """All figures of the time since then. `width_s` is how long each of the stretches is.

    `agents` is null where nobody can say which agents should be heard of.
    """

    since: datetime
    now: datetime
    width_s: int
    total: int
    decisions: dict[str, int]
    stretches: tuple[OverviewStretch, ...]
    questions: QuestionFigures
    latency: DecisionLatency | None
    ledger: LedgerFigures
    policy: PolicyFigures
    process: ProcessFigures
    paused: str
    agents: tuple[HeardAgent, ...] | None


def overview(
    service: Service,
    *,
    since_ns: int,
    now_ns: int,
    agents: Iterable[HeardAgent] | None = None,
    without: Sequence[Record] = (),
) -> Overview:
    """The figures since then; the decisions of the records `without` don't count. Raises StoreError."""
    width, starts = _starts(since_ns, now_ns)
    counted = _counted(service.store, starts, width)
    left_out = {one.call_id for one in without}
    for one in without:
        counted[one.time_ns // width * width][one.decision] -= 1
    counted = {start: +counts for start, counts in counted.items()}  # a clock may have been ahead, too
    asked = _asked_since(service, starts[0])
    spent = [_sampled(service.store, start, width, left_out) if counted.get(start) else [] for start in starts]
    totals: Counter[str] = Counter()
    for counts in counted.values():
        totals.update(counts)
    return Overview(
        since=moment(starts[0]),
        now=moment(now_ns),
        width_s=width // _SECOND,
        total=totals.total(),
        decisions=dict(totals),
        stretches=tuple(_stretches(starts, width, counted, asked, spent)),
        questions=_questions(service, asked, now_ns),
        latency=_latency([one for sample in spent for one in sample]),
        ledger=_ledger(service),
        policy=_policy(service),
        process=_process(service),
        paused=service.paused(),
        agents=None if agents is None else tuple(agents),
    )


def overview_begins(since_ns: int, now_ns: int) -> int:
    """When the first stretch begins: an overview has whole ones."""
    return _starts(since_ns, now_ns)[1][0]


def _starts(since_ns: int, now_ns: int) -> tuple[int, list[int]]:
    since_ns = max(0, min(since_ns, now_ns - _SECOND))
    width = width_of(since_ns, now_ns)
    return width, list(range(since_ns // width * width, now_ns + 1, width))[-STRETCHES - 1 :]


def width_of(since_ns: int, now_ns: int) -> int:
    """The narrowest round width that needs no more stretches than are drawn."""
    span = now_ns - since_ns
    return next((width for width in _WIDTHS if span // width < STRETCHES), span // STRETCHES + 1)


def _counted(store: EntryFigures, starts: Sequence[int], width: int) -> dict[int, Counter[str]]:
    known = set(starts)
    counted: dict[int, Counter[str]] = defaultdict(Counter)
    for tally in store.decision_tallies(starts[0], width, 10 * STRETCHES):
        if tally.start_ns in known:  # clocks may have been ahead
            counted[tally.start_ns][tally.decision] += tally.count
    return counted


def _sampled(store: EntryFigures, start: int, width: int, left_out: Container[str]) -> list[int]:
    """What interceptors took for some decisions of a stretch."""
    entries = store.sample(start, start + width, SAMPLE)
    return [
        sum(nanoseconds for _, nanoseconds in timings)
        for entry in entries
        if entry.call_id not in left_out and (timings := timings_of(entry))
    ]


def _asked_since(service: Service, since_ns: int) -> list[Question]:
    first = moment(since_ns)
    return [question for question in service.desk.recent(limit=QUESTIONS) if question.asked >= first]


def _stretches(
    starts: Sequence[int],
    width: int,
    counted: dict[int, Counter[str]],
    asked: Sequence[Question],
    spent: Sequence[list[int]],
) -> Iterable[OverviewStretch]:
    put: dict[int, list[Question]] = defaultdict(list)
    for question in asked:
        at = round(question.asked.timestamp() * _SECOND)
        put[at // width * width].append(question)
    for start, sample in zip(starts, spent, strict=True):
        waits = _waits(put[start])
        yield OverviewStretch(
            start=moment(start), decisions=dict(counted.get(start, {})), questions=len(put[start]),
            answer_p50_s=round(median(waits), 3) if waits else None, latency=_latency(sample),
        )  # fmt: skip


def _waits(questions: Iterable[Question]) -> list[float]:
    """Seconds. What nobody answered took no time to answer."""
    return [
        max(0.0, (question.answer.at - question.asked).total_seconds())
        for question in questions
        if question.answer is not None
    ]


def _questions(service: Service, asked: Sequence[Question], now_ns: int) -> QuestionFigures:
    waits = _waits(asked)
    return QuestionFigures(
        asked=len(asked),
        states=dict(Counter(question.state for question in asked)),
        waiting=service.store.count_waiting("", now_ns=now_ns)[0],
        answered_in=(
            AnswerTimes(round(median(waits), 3), round(_percentile(waits, 90), 3), round(max(waits), 3), len(waits))
            if waits
            else None
        ),
        complete=len(asked) < QUESTIONS,
    )


def _latency(spent: Sequence[int]) -> DecisionLatency | None:
    if not spent:
        return None
    return DecisionLatency(round(median(spent)) // 1000, round(_percentile(spent, 99)) // 1000, len(spent))


def _percentile(values: Sequence[float], hundredth: int) -> float:
    return quantiles(values, n=100, method="inclusive")[hundredth - 1] if len(values) > 1 else values[0]


def _ledger(service: Service) -> LedgerFigures:
    status = service.ledger.status()
    warnings = (status.log_problem, status.retention_problem, status.anchor_problem, status.space_problem)
    return LedgerFigures(
        recorded=status.recorded, late=status.late, lost=status.lost, bytes=service.store.size(),
        problem=status.problem or _tampered(service), warnings=tuple(filter(None, warnings)),
    )  # fmt: skip


def _tampered(service: Service) -> str:
    try:
        return service.store.tampered()
    except StoreError as error:
        return text_of(error)


def _policy(service: Service) -> PolicyFigures:
    everywhere, *projects = service.policy_status()
    return PolicyFigures(
        revision=everywhere.revision, rules=everywhere.rules, loaded_at=everywhere.loaded_at,
        broken=tuple(map(str, everywhere.problems)), projects=len(projects),
    )  # fmt: skip


def _process(service: Service) -> ProcessFigures:
    told = service.activity.snapshot()
    return ProcessFigures(
        decisions=sum(told.decisions.values()), fail_open=told.fail_open, unrecorded=told.unrecorded,
        unapproved=told.unapproved, watched=told.watched, interceptor_errors=sum(told.errors.values()),
        grant_alarms=service.desk.alarms.count,
    )  # fmt: skip
