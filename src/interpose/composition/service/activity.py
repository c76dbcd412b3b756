"""What this process decided, in numbers. Counting is on the way of every decision: a few additions, and no text.

An `Activity` stands before the ledger's recorder and sees what that is given. Whoever wants the numbers takes a
`snapshot`; whoever wants to hear of each verdict is one of its `listeners`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from threading import Lock
from typing import Any

from msgspec import Struct

from interpose.core.driving import PendingRecord
from interpose.core.types import AUDIT_UNAVAILABLE, Deny, HookPoint, Outcome, ToolCall, ToolOutcome, Verdict
from interpose.engine.engine import Recorder

Listener = Callable[[HookPoint, Verdict[Any]], None]
"""Hears of each verdict, on the way of the decision: it must come back at once."""

MAX_TOOLS = 200
OTHER_TOOLS = "(other)"
"""Agents make up tool names. Past MAX_TOOLS, and for names that are no plain text, calls are counted together."""
_LONGEST_NAME = 100

BOUNDS_NS = tuple(
    int(milliseconds * 1e6)
    for milliseconds in (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000, 30_000)
)
"""Upper bounds of the stretches in which times of decisions are counted. Longer ones have a stretch of their own."""


class InterceptorTime(Struct, frozen=True):
    """How often an interceptor was asked, and how long it took in all."""

    asked: int
    nanoseconds: int


class Times(Struct, frozen=True):
    """Times of decisions: how many in each stretch of BOUNDS_NS, and how long all took together."""

    counts: tuple[int, ...]
    nanoseconds: int


class ActivitySnapshot(Struct, frozen=True, kw_only=True):
    """The numbers at one moment.

    `fail_open` counts calls that ran although an interceptor that had to decide failed, `unrecorded` those that were
    refused because they could not be recorded, `unapproved` those that ran although a person had to be asked and no
    answer is known, `deaf` the times that a listener failed.
    """

    decisions: dict[tuple[HookPoint, str, Outcome], int]
    times: dict[HookPoint, Times]
    interceptors: dict[str, InterceptorTime]
    errors: dict[str, int]
    watched: int
    fail_open: int
    unrecorded: int
    unapproved: int
    deaf: int


class Activity:
    """The running numbers, and a recorder that hands on to the one that keeps. Any number of threads may count."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.listeners: tuple[Listener, ...] = ()
        self._recorder = recorder
        self._lock = Lock()
        self._decisions: dict[tuple[HookPoint, str, Outcome], int] = {}
        self._tools: dict[str, str] = {}
        self._counts = {point: [0] * (len(BOUNDS_NS) + 1) for point in HookPoint}
        self._totals = dict.fromkeys(HookPoint, 0)
        self._interceptors: dict[str, list[int]] = {}
        self._errors: dict[str, int] = {}
        self._watched = self._fail_open = self._unrecorded = self._unapproved = self._deaf = 0

    def decided(self, verdict: Verdict[ToolCall]) -> PendingRecord | None:
        """Count a decision, and record it."""
        if not _is_command(verdict.payload):  # counted as what it is, by who put it
            self.count(HookPoint.TOOL_BEFORE, verdict.payload.name, verdict)
        return None if self._recorder is None else self._recorder.decided(verdict)

    def finished(
        self, verdict: Verdict[ToolCall], outcome: ToolOutcome, after: Verdict[ToolOutcome] | None = None
    ) -> PendingRecord | None:
        """Count what tool.after said, and whether the call was refused for want of a record, or ran without the answer
        that it had to wait for, or although it was refused. Record the outcome."""
        if after is not None and not outcome.denied:  # of a refused call there is no result to decide about
            self.count(HookPoint.TOOL_AFTER, verdict.payload.name, after)
        if isinstance(verdict.decision, Deny) and verdict.decision.rule == AUDIT_UNAVAILABLE:
            with self._lock:
                self._unrecorded += 1
        if verdict.outcome in ("ask", "deny") and not outcome.denied and not outcome.approver:
            with self._lock:
                self._unapproved += 1
        return None if self._recorder is None else self._recorder.finished(verdict, outcome, after)

    def count(self, point: HookPoint, tool: str, verdict: Verdict[Any]) -> None:
        """Count a verdict of any hook point. `tool` is empty where there is none."""
        spent = 0
        with self._lock:
            interceptors = self._interceptors
            for name, nanoseconds in verdict.timings:
                spent += nanoseconds
                known = interceptors.get(name)
                if known is None:
                    interceptors[name] = [1, nanoseconds]
                else:
                    known[0] += 1
                    known[1] += nanoseconds
            key = (point, self._tools.get(tool) or self._named(tool), verdict.outcome)
            decisions = self._decisions
            decisions[key] = decisions.get(key, 0) + 1
            # Not `elapsed_ns`: that has the time in it that a person took to answer.
            self._counts[point][bisect_left(BOUNDS_NS, spent)] += 1
            self._totals[point] += spent
            if verdict.findings:
                self._count_findings(verdict)
        for tell in self.listeners:
            try:
                tell(point, verdict)
            except Exception:  # noqa: BLE001 - who only listens can't break a decision
                self._deaf += 1

    def snapshot(self) -> ActivitySnapshot:
        """The numbers as they are now."""
        with self._lock:
            return ActivitySnapshot(
                decisions=dict(self._decisions),
                times={point: Times(tuple(counts), self._totals[point]) for point, counts in self._counts.items()},
                interceptors={name: InterceptorTime(*spent) for name, spent in self._interceptors.items()},
                errors=dict(self._errors),
                watched=self._watched,
                fail_open=self._fail_open,
                unrecorded=self._unrecorded,
                unapproved=self._unapproved,
                deaf=self._deaf,
            )

    def _named(self, tool: str) -> str:
        if not tool:
            return ""
        if len(self._tools) >= MAX_TOOLS or len(tool) > _LONGEST_NAME or not tool.isprintable():
            return OTHER_TOOLS
        self._tools[tool] = tool
        return tool

    def _count_findings(self, verdict: Verdict[Any]) -> None:
        failed = False
        for found in verdict.findings:
            if found.said == "error":
                self._errors[found.interceptor] = self._errors.get(found.interceptor, 0) + 1
                failed = failed or (found.severity == "error" and found.mode == "enforce")
        self._watched += any(found.mode == "watch" and found.said in ("deny", "ask") for found in verdict.findings)
        # What a person or a grant let through after a failure was decided after all.
        self._fail_open += failed and verdict.allowed and not verdict.approver


def _is_command(call: ToolCall) -> bool:
    if call.name != "command":  # nothing is loaded for what most calls are not
        return False
    from interpose.engine.flow.command_records import is_command_record

    return is_command_record(call)
