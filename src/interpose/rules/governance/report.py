"""What enforcing would have done: from the records of calls, whose findings say what rules only watched.

By rule, role, agent and tool: what would have been denied or asked; sessions that would have been halted; budgets that
would have run out; and what to change in governance.yaml, or what to be glad of.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from interpose.core.formats.counted import plural
from interpose.core.formats.plain_text import one_line
from interpose.core.types import Finding
from interpose.rules.governance.rulings import RULE_PREFIX
from interpose.rules.governance.sessions.session_views import when

EXAMPLES = 3
"""Calls that are shown of each rule, the newest."""
TOP = 10
_HALT = f"{RULE_PREFIX}halt"
_BUDGET = f"{RULE_PREFIX}budget"
_OURS = "governance"
"""The tool of records that are no calls: of halts, lifts and tasks."""
_BLOCKING = ("deny", "ask")
_TEXT = 300


class ReportedCall(Protocol):
    """What is needed of a record."""

    @property
    def call_id(self) -> str:
        """Its id."""

    @property
    def time_ns(self) -> int:
        """When it was decided."""

    @property
    def session(self) -> str:
        """Its session."""

    @property
    def agent(self) -> str:
        """Who called."""

    @property
    def role(self) -> str:
        """Their role."""

    @property
    def tool(self) -> str:
        """What they called."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was said to it."""


class ReportExample(Struct, frozen=True, kw_only=True):
    """One call."""

    call_id: str
    at: datetime | None
    role: str
    tool: str
    said: str
    reason: str


class RuleReport(Struct, frozen=True, kw_only=True):
    """What one rule said: what it only watched, and what it enforced."""

    rule: str
    would_deny: int
    would_ask: int
    denied: int
    asked: int
    calls: int
    sessions: int
    examples: list[ReportExample]


class WhoReport(Struct, frozen=True, kw_only=True):
    """What would have been said to one role, agent or tool."""

    name: str
    would_deny: int
    would_ask: int


class HaltReport(Struct, frozen=True, kw_only=True):
    """A session that would have been halted, the first time."""

    session: str
    at: datetime | None
    reason: str


class BudgetReport(Struct, frozen=True, kw_only=True):
    """A budget that would have run out, and in how many sessions."""

    reason: str
    calls: int
    sessions: int


class Advice(Struct, frozen=True, kw_only=True):
    """What to look at in the file."""

    text: str
    calls: int


class GovernanceReport(Struct, frozen=True, kw_only=True):
    """All of it. `calls` are those that were looked at, `touched` those that a rule would not have let pass."""

    calls: int
    sessions: int
    touched: int
    would_deny: int
    would_ask: int
    rules: list[RuleReport]
    roles: list[WhoReport]
    agents: list[WhoReport]
    tools: list[WhoReport]
    halts: list[HaltReport]
    budgets: list[BudgetReport]
    advice: list[Advice]
    cut: bool = False
    """There were more records than were looked at."""


class _Rule:
    def __init__(self) -> None:
        self.said: Counter[tuple[str, str]] = Counter()
        self.calls = 0
        self.sessions: set[str] = set()
        self.examples: list[ReportExample] = []


def report_of(records: Iterable[ReportedCall], *, cut: bool = False) -> GovernanceReport:
    """The report over these records, the newest first."""
    rules: dict[str, _Rule] = defaultdict(_Rule)
    who: dict[str, Counter[tuple[str, str]]] = {name: Counter() for name in ("role", "agent", "tool")}
    halts: dict[str, HaltReport] = {}
    budgets: dict[str, tuple[int, set[str]]] = {}
    denied: Counter[tuple[str, str, str]] = Counter()
    calls, sessions, words = 0, set[str](), Counter[str]()
    for record in records:
        if record.tool == _OURS:
            _halted(halts, record)
            continue
        calls += 1
        sessions.add(record.session)
        found = [one for one in record.findings if one.rule.startswith(RULE_PREFIX) and one.said in _BLOCKING]
        for rule in {one.rule for one in found}:
            rules[rule].calls += 1
            rules[rule].sessions.add(record.session)
        for one in found:
            _count(rules[one.rule], one, record)
        watched = [one for one in found if one.mode == "watch"]
        if not watched:
            continue
        strictest = next((one for one in watched if one.said == "deny"), watched[0])
        words[strictest.said] += 1
        for name, value in (("role", record.role), ("agent", record.agent), ("tool", record.tool)):
            who[name][value or "-", strictest.said] += 1
        for one in watched:
            denied[one.rule, record.role, record.tool] += one.said == "deny"
            if one.rule == _BUDGET or one.rule.startswith(f"{_BUDGET}/"):
                count, seen = budgets.setdefault(_short(one.reason), (0, set()))
                budgets[_short(one.reason)] = (count + 1, seen | {record.session})
    return GovernanceReport(
        calls=calls, sessions=len(sessions), touched=words.total(), would_deny=words["deny"], would_ask=words["ask"],
        rules=_rules(rules), roles=_who(who["role"]), agents=_who(who["agent"]), tools=_who(who["tool"]),
        halts=sorted(halts.values(), key=lambda one: one.session), cut=cut,
        budgets=[
            BudgetReport(reason=reason, calls=count, sessions=len(seen))
            for reason, (count, seen) in sorted(budgets.items(), key=lambda item: (-item[1][0], item[0]))
        ],
        advice=_advice(denied, halts, budgets),
    )  # fmt: skip


def _halted(halts: dict[str, HaltReport], record: ReportedCall) -> None:
    for one in record.findings:
        if one.rule == _HALT and one.mode == "watch":
            # The newest come first: the last one that is met is the first that happened.
            halts[record.session] = HaltReport(
                session=record.session, at=when(record.time_ns), reason=_short(one.reason)
            )


def _count(rule: _Rule, one: Finding, record: ReportedCall) -> None:
    rule.said[one.mode, one.said] += 1
    if len(rule.examples) < EXAMPLES:
        rule.examples.append(
            ReportExample(
                call_id=record.call_id, at=when(record.time_ns), role=record.role, tool=record.tool, said=one.said,
                reason=_short(one.reason),
            )
        )  # fmt: skip


def _rules(rules: dict[str, _Rule]) -> list[RuleReport]:
    made = [
        RuleReport(
            rule=name, would_deny=one.said["watch", "deny"], would_ask=one.said["watch", "ask"],
            denied=one.said["enforce", "deny"], asked=one.said["enforce", "ask"], calls=one.calls,
            sessions=len(one.sessions), examples=one.examples,
        )
        for name, one in rules.items()
    ]  # fmt: skip
    return sorted(made, key=lambda one: (-one.would_deny - one.would_ask, -one.calls, one.rule))


def _who(counted: Counter[tuple[str, str]]) -> list[WhoReport]:
    names = {name for name, _ in counted}
    made = [WhoReport(name=name, would_deny=counted[name, "deny"], would_ask=counted[name, "ask"]) for name in names]
    return sorted(made, key=lambda one: (-one.would_deny - one.would_ask, one.name))[:TOP]


def _short(text: str) -> str:
    return one_line(" ".join(text.split()))[:_TEXT]


def _advice(
    denied: Counter[tuple[str, str, str]], halts: dict[str, HaltReport], budgets: dict[str, tuple[int, set[str]]]
) -> list[Advice]:
    """What is worth a look before enforcing, the most frequent first."""
    made: list[Advice] = []
    for (rule, role, tool), count in denied.most_common():
        if count and (text := _change(rule.removeprefix(RULE_PREFIX), role, tool, count)):
            made.append(Advice(text=text, calls=count))
    if halts:
        made.append(
            Advice(
                text=f"{plural(len(halts), 'session')} would have been halted: look at them with "
                "`interpose governance session show ID`; if they were honest work, raise the numbers under `stalls`",
                calls=len(halts),
            )
        )
    made += [
        Advice(text=f"{reason}, in {plural(len(seen), 'session')}: raise it under `budgets`, or leave it "
               "to stop there", calls=count)
        for reason, (count, seen) in budgets.items()
    ]  # fmt: skip
    return sorted(made, key=lambda one: -one.calls)[: 2 * TOP]


def _change(rule: str, role: str, tool: str, count: int) -> str:
    who, what, often = one_line(role) or "whoever has no role", one_line(tool), plural(count, "time")
    told = f"{who} would have been denied {what} {often}"
    match rule.partition("/")[0]:
        case "role":
            return f"{told}: if it needs it, add it to roles.{who}.tools.allow"
        case "ceiling":
            return f"{told} by a ceiling: take it out of that ceiling, or let another role do it"
        case "unknown-role":
            return f"agents without a role would have been denied {what} {often}: give them one under `agents`"
        case "scope":
            return f"{told} outside its scopes: add the files to a scope of roles.{who}.write"
        case "command":
            return f"{told} for the kind of command: add its category to roles.{who}.commands"
        case "first-tool":
            return f"{told} before its first tool: tell it so in its instructions, or set first_tools.mode to warn"
        case "delegation":
            return f"{told} for whom it delegates to: add the role to roles.{who}.delegates.to"
        case "chain":
            return f"{told} by {RULE_PREFIX}{rule}: what must come before was missing"
        case _:
            return ""
