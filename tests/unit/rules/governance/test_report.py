"""What enforcing would have done, from records: counted by rule, role, agent and tool, and what to change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import Struct

from interpose.composition.service.governance_records import GovernanceRecords, halted_event
from interpose.composition.service.service import Service
from interpose.core.types import Allow, Context, Finding, ToolCall, ToolOutcome, Verdict
from interpose.doors.cli.explaining.verdict_text import Ink
from interpose.doors.cli.governing.governance_report import report_text, reported
from interpose.rules.governance.report import report_of
from interpose.rules.governance.sessions.halts import with_halt
from tests.support.governance.governed import NOW, session_of
from tests.support.servers.servers import service_in


class Called(Struct, frozen=True, kw_only=True):
    """A record as a report needs it."""

    call_id: str = "c"
    time_ns: int = NOW
    session: str = "s-1"
    agent: str = "main"
    role: str = "researcher"
    tool: str = "write"
    findings: tuple[Finding, ...] = ()


def said(
    rule: str, word: Literal["deny", "ask", "note"] = "deny", *, watch: bool = True, reason: str = "because"
) -> Finding:
    return Finding(
        interceptor="governance:x", said=word, reason=reason, rule=f"governance/{rule}", kind="governance",
        mode="watch" if watch else "enforce",
    )  # fmt: skip


def test_by_rule_role_agent_and_tool() -> None:
    records = [
        *(Called(call_id=f"c{number}", findings=(said("role"),)) for number in range(41)),
        Called(session="s-2", role="worker", tool="exec", findings=(said("command", "ask"), said("scope"))),
        Called(session="s-3", role="worker", tool="exec", findings=(said("role", watch=False),)),
        Called(session="s-4", tool="read", findings=(said("role", "note"),)),
        Called(session="s-5", tool="read"),
    ]
    report = report_of(records)
    assert (report.calls, report.sessions, report.touched) == (45, 5, 42)
    assert (report.would_deny, report.would_ask) == (42, 0), "a call that is denied and asked about is denied"
    shown = {one.rule: (one.would_deny, one.would_ask, one.denied, one.sessions) for one in report.rules}
    assert shown == {
        "governance/role": (41, 0, 1, 2), "governance/command": (0, 1, 0, 1), "governance/scope": (1, 0, 0, 1),
    }  # fmt: skip
    assert report.rules[0].rule == "governance/role"
    assert [one.call_id for one in report.rules[0].examples] == ["c0", "c1", "c2"]
    assert [(one.name, one.would_deny) for one in report.roles] == [("researcher", 41), ("worker", 1)]
    assert [(one.name, one.would_deny) for one in report.tools] == [("write", 41), ("exec", 1)]
    assert report.advice[0].text == (
        "researcher would have been denied write 41 times: if it needs it, add it to roles.researcher.tools.allow"
    )


ADVICE = [
    ("ceiling", "by a ceiling"), ("unknown-role", "give them one under `agents`"), ("scope", "roles.researcher.write"),
    ("command", "roles.researcher.commands"), ("first-tool", "first_tools.mode"), ("delegation", "delegates.to"),
    ("chain/INIT-01", "governance/chain/INIT-01"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text"), ADVICE)
def test_each_kind_of_rule_says_what_to_change(rule: str, text: str) -> None:
    (advice,) = report_of([Called(findings=(said(rule),))]).advice
    assert text in advice.text


def test_halts_and_budgets() -> None:
    records = [
        Called(tool="governance", session="s-1", time_ns=NOW + 9, findings=(said("halt", reason="later"),)),
        Called(tool="governance", session="s-1", findings=(said("halt", reason="21 errors"),)),
        Called(tool="governance", session="s-2", findings=(said("halt", watch=False),)),
        Called(session="s-3", findings=(said("budget", reason="The budget of calls is used up"),)),
        Called(session="s-4", findings=(said("budget", reason="The budget of calls is used up"),)),
    ]
    report = report_of(records)
    assert report.calls == 2
    assert [(one.session, one.reason) for one in report.halts] == [("s-1", "21 errors")]
    assert [(one.calls, one.sessions) for one in report.budgets] == [(2, 2)]
    texts = " ".join(one.text for one in report.advice)
    assert "1 session would have been halted" in texts
    assert "raise it under `budgets`" in texts


def test_nothing_was_said() -> None:
    report = report_of([Called(), Called(findings=(Finding(interceptor="x", said="deny", reason="r", rule="no-rm"),))])
    assert (report.rules, report.advice) == ([], [])
    assert report_text(report, "7d", Ink(False)) == (
        "2 calls of 1 session since 7d: governance had nothing to say against any of them"
    )


def test_hostile_text_steers_no_terminal() -> None:
    hostile = "\x1b[2J\nrules\u202e"
    call = Called(call_id=hostile, session=hostile, agent=hostile, role=hostile, tool=hostile)
    report = report_of([
        Called(call_id=call.call_id, session=hostile, agent=hostile, role=hostile, tool=hostile,
               findings=(said("role", reason=hostile), said("budget", reason=hostile))),
        Called(tool="governance", session=hostile, findings=(said("halt", reason=hostile),)),
    ])  # fmt: skip
    shown = report_text(report, hostile, Ink(False))
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path) as opened:
        yield opened


def record(service: Service, tool: str, session: str, *findings: Finding, **context: Any) -> None:
    call = ToolCall(tool, {}, context=Context(session_id=session, **context))
    verdict: Verdict[ToolCall] = Verdict(outcome="allow", decision=Allow(), payload=call, findings=findings)
    service.ledger.recorder.decided(verdict)
    service.ledger.recorder.finished(verdict, ToolOutcome(call, "done"), None)


def test_from_a_real_ledger(service: Service) -> None:
    for _ in range(3):
        record(service, "write", "s-1", said("role", reason="write is none of its tools"), role="researcher")
    record(service, "read", "s-2")
    halted = with_halt(session_of("s-3"), "21 errors", "governance/stall", NOW)
    GovernanceRecords(service.ledger.recorder)(halted_event(halted, watch=True))
    service.ledger.flush()
    report = reported(service.store, 0)
    assert (report.calls, report.would_deny, report.cut) == (4, 3, False)
    assert [one.session for one in report.halts] == ["s-3"]
    shown = report_text(report, "7d", Ink(False))
    assert "enforcing what is only watched would have meant: 3 denied, 0 asked about" in shown
    assert "and 1 session halted" in shown
    assert "researcher would have been denied write 3 times" in shown
    assert "interpose audit show" in shown
    assert reported(service.store, (1 << 62)).calls == 0
    part = reported(service.store, 0, most=2)
    assert (part.calls + len(part.halts), part.cut) == (2, True)
