"""`builtin:metrics`: how often which tool was called, what was decided, how it ended and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from types import MappingProxyType

from msgspec import Struct

from interpose.core.tools import normalize_tool_name
from interpose.core.types import Allow, ToolCall, ToolOutcome
from interpose.rules.guards.latency import Latency

OTHER_TOOLS = "(other)"
MAX_TOOLS = 1024
"""Agents make up tool names. Beyond this many, further ones are counted together as OTHER_TOOLS."""

_ALLOW = Allow()


class ToolStats(Struct, frozen=True, kw_only=True):
    """What happened to the calls of one tool, or of all. Latencies are those of tools that ran, in nanoseconds."""

    invocations: int = 0
    allowed: int = 0
    """Ran, with or without a question before."""
    confirmed: int = 0
    """Ran after somebody agreed."""
    denied: int = 0
    successes: int = 0
    errors: int = 0
    """Ran and failed, or gave a result that says so: `isError`, `error`, `metadata.error`."""
    p50_ns: int = 0
    p90_ns: int = 0
    p99_ns: int = 0

    @property
    def failures(self) -> int:
        """Calls from which the agent got no result: denied, or failed."""
        return self.denied + self.errors


class MetricsSnapshot(Struct, frozen=True):
    """The metrics at one moment."""

    by_tool: Mapping[str, ToolStats]
    totals: ToolStats

    def get(self, tool: str) -> ToolStats | None:
        """The numbers of a tool, by any of its names; None if it was never called."""
        return self.by_tool.get(tool) or self.by_tool.get(normalize_tool_name(tool))

    def total_invocations(self) -> int:
        """Calls of all tools."""
        return self.totals.invocations

    def total_successes(self) -> int:
        """Calls of all tools that gave a result."""
        return self.totals.successes

    def total_failures(self) -> int:
        """Calls of all tools that were denied, or failed."""
        return self.totals.failures


class _Tally:
    """The running numbers of one tool."""

    __slots__ = ("confirmed", "denied", "errors", "invocations", "latency", "successes")

    def __init__(self) -> None:
        self.invocations = self.confirmed = self.denied = self.successes = self.errors = 0
        self.latency = Latency()

    def add(self, other: _Tally) -> None:
        self.invocations += other.invocations
        self.confirmed += other.confirmed
        self.denied += other.denied
        self.successes += other.successes
        self.errors += other.errors
        self.latency.merge(other.latency)

    def stats(self) -> ToolStats:
        percentile = self.latency.percentile
        return ToolStats(
            invocations=self.invocations, allowed=self.successes + self.errors, confirmed=self.confirmed,
            denied=self.denied, successes=self.successes, errors=self.errors,
            p50_ns=percentile(50), p90_ns=percentile(90), p99_ns=percentile(99),
        )  # fmt: skip


class Metrics:
    """Counts calls by tool. Never decides; may be shared by threads, engines and chains.

    Limits: what is only decided and never run or reported back has an invocation and no outcome. Numbers live in
    this process and end with it.
    """

    id = "builtin:metrics"
    priority = -20

    def __init__(self) -> None:
        self._lock = Lock()
        self._tallies: dict[str, _Tally] = {}

    def intercept(self, call: ToolCall) -> Allow:
        """Counts an invocation."""
        with self._lock:
            self._tally(call.name).invocations += 1
        return _ALLOW

    def observe(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Counts how it ended."""
        with self._lock:
            tally = self._tally(call.name)
            if outcome.denied:
                tally.denied += 1
                return
            if outcome.approver:
                tally.confirmed += 1
            if outcome.failed:
                tally.errors += 1
            else:
                tally.successes += 1
            tally.latency.add(outcome.duration_ns)

    def snapshot(self) -> MetricsSnapshot:
        """The numbers now. Later calls do not change what was handed out."""
        total = _Tally()
        with self._lock:
            for tally in self._tallies.values():
                total.add(tally)
            by_tool = {tool: tally.stats() for tool, tally in self._tallies.items()}
        return MetricsSnapshot(MappingProxyType(by_tool), total.stats())

    def __repr__(self) -> str:
        total = self.snapshot().totals
        return f"Metrics(invocations={total.invocations}, successes={total.successes}, failures={total.failures})"

    def __deepcopy__(self, _memo: object) -> Metrics:
        """The numbers of now, which count on by themselves. To share one, hand on the object itself."""
        other = Metrics()
        with self._lock:
            for tool, tally in self._tallies.items():
                other._tally(tool).add(tally)
        return other

    def reset(self) -> None:
        """All numbers to zero; the tools stay. A call under way then ends without having begun."""
        with self._lock:
            self._tallies = {tool: _Tally() for tool in self._tallies}

    def _tally(self, tool: str) -> _Tally:
        tally = self._tallies.get(tool)
        if tally is None:
            if len(self._tallies) >= MAX_TOOLS:
                tool = OTHER_TOOLS
            tally = self._tallies.setdefault(tool, _Tally())
        return tally
