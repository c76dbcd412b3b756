"""What each rule did in the last days, from the ledger: the rules that hold, and those that only the ledger knows."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from interpose.core.types import Mode, Severity
from interpose.people.approvals.questions import moment
from interpose.record.store.protocols import RuleTally
from interpose.rules.policy.rules import Action, Level, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interpose.composition.service.service import Service
    from interpose.record.ledger import Record
    from interpose.record.store.protocols import EntryFigures

DAY_NS = 24 * 3600 * 1_000_000_000
MOST_DAYS = 31
MOST_TALLIES = 20_000
"""Rows that the store counts for an answer: a rule, a word and a day are one."""
MOST_UNKNOWN = 200
"""Rules that are shown although no policy has them: those of guards and governance, and those that are gone."""

RuleWord = Literal["allow", "rewrite", "ask", "deny", "result"]
_WORDS: tuple[RuleWord, ...] = ("allow", "rewrite", "ask", "deny", "result")


class WrittenRule(Struct, frozen=True, kw_only=True):
    """Where a rule stands, and what it would do."""

    file: str
    line: int
    level: Level
    pack: str
    action: Action
    mode: Mode
    severity: Severity
    enabled: bool
    by_judge: bool
    text: str


class ActiveRule(Struct, frozen=True, kw_only=True):
    """A rule and what it did. `written` is null for what no rule file has: a guard's, governance's, one that is gone.

    `counts` has a list for each word that it said, with a number for each of the `days` of the answer. `result` means
    that it rewrote or withheld what a tool gave back.
    """

    id: str
    total: int
    counts: dict[RuleWord, tuple[int, ...]]
    written: WrittenRule | None = None


class ActivePack(Struct, frozen=True):
    """A pack that is on, how many rules it has, and how often they spoke."""

    name: str
    rules: int
    total: int


class RuleActivity(Struct, frozen=True, kw_only=True):
    """What rules did since `days` began, which are days in UTC. Rules that hold and said nothing are there, too.

    A decision counts for the rule that made it, and a rewrite for each rule that rewrote. What a watching rule would
    have done is in the records and not here. `complete` is false if there was too much to be counted: then the largest
    numbers are there.
    """

    days: tuple[datetime, ...]
    rules: tuple[ActiveRule, ...]
    packs: tuple[ActivePack, ...]
    complete: bool


def rule_activity(service: Service, *, days: int, now_ns: int, without: Sequence[Record] = ()) -> RuleActivity:
    """What the rules did in so many days up to now; the decisions of the records `without` don't count.

    Raises StoreError.
    """
    starts = days_of(days, now_ns)
    tallies = _tallies(service.store, starts)
    left_out = [RuleTally(one.time_ns // DAY_NS * DAY_NS, one.rule, one.decision, -1) for one in without if one.rule]
    counted = _counted([*tallies, *left_out], starts)
    rules = [
        _row(rule.id, counted.get(rule.id, {}), written)
        for rule, written in _written(
            compiled.rule for ruled in service.policies.all() for compiled in ruled.policy.policy.rules
        )
    ]
    known = {rule.id for rule in rules}
    others = [_row(id, counts) for id, counts in counted.items() if id not in known]
    others = [row for row in others if row.total]
    others.sort(key=lambda row: (-row.total, row.id))
    return RuleActivity(
        days=tuple(moment(start) for start in starts),
        rules=tuple(sorted((*rules, *others[:MOST_UNKNOWN]), key=lambda row: (-row.total, row.id))),
        packs=_packs(rules),
        complete=len(tallies) < MOST_TALLIES and len(others) <= MOST_UNKNOWN,
    )


def days_of(days: int, now_ns: int) -> list[int]:
    """When each of so many days began, up to now, in nanoseconds."""
    last = now_ns // DAY_NS
    return [day * DAY_NS for day in range(last - max(1, min(days, MOST_DAYS)) + 1, last + 1)]


def _tallies(store: EntryFigures, starts: Sequence[int]) -> list[RuleTally]:
    return store.rule_tallies(starts[0], DAY_NS, MOST_TALLIES)


def _counted(tallies: Iterable[RuleTally], starts: Sequence[int]) -> dict[str, dict[RuleWord, list[int]]]:
    places = {start: place for place, start in enumerate(starts)}
    counted: dict[str, dict[RuleWord, list[int]]] = defaultdict(dict)
    for tally in tallies:
        word = next((word for word in _WORDS if word == tally.said), None)
        place = places.get(tally.start_ns)  # a clock that was ahead may have written a day that is not yet
        if word is not None and place is not None:
            counted[tally.rule].setdefault(word, [0] * len(starts))[place] += tally.count
    return counted


def _row(id: str, counts: dict[RuleWord, list[int]], written: WrittenRule | None = None) -> ActiveRule:
    return ActiveRule(
        id=id, total=sum(map(sum, counts.values())), written=written,
        counts={word: tuple(counts[word]) for word in _WORDS if any(counts.get(word, ()))},
    )  # fmt: skip


def _written(rules: Iterable[Rule]) -> list[tuple[Rule, WrittenRule]]:
    """Each rule once: those that hold everywhere are in every project's policy, too."""
    found: dict[tuple[str, str, int], tuple[Rule, WrittenRule]] = {}
    for rule in rules:
        source = rule.source
        found.setdefault(
            (rule.id, source.file, source.line),
            (
                rule,
                WrittenRule(
                    file=source.file, line=source.line, level=source.level, pack=source.pack, action=rule.action,
                    mode=rule.mode, severity=rule.severity, enabled=rule.enabled, by_judge=bool(rule.prompt),
                    text=rule.text,
                ),
            ),
        )  # fmt: skip
    return list(found.values())


def _packs(rules: Iterable[ActiveRule]) -> tuple[ActivePack, ...]:
    by_name: dict[str, list[int]] = defaultdict(list)
    for rule in rules:
        if rule.written is not None and rule.written.pack:
            by_name[rule.written.pack].append(rule.total)
    return tuple(ActivePack(name, len(totals), sum(totals)) for name, totals in sorted(by_name.items()))
