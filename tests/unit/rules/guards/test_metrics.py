from __future__ import annotations

import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpose import AutoApprove, AutoDeny, Confirm, Deny, Engine, InterceptorChain
from interpose.core.types import Allow, ToolCall, ToolOutcome
from interpose.rules.guards import Metrics
from interpose.rules.guards.latency import Latency
from interpose.rules.guards.metrics import MAX_TOOLS, OTHER_TOOLS, ToolStats

COUNTS = ("invocations", "allowed", "confirmed", "denied", "successes", "errors", "failures")


def counts(stats: ToolStats | None) -> dict[str, int]:
    """Those that are not zero."""
    assert stats is not None
    return {name: getattr(stats, name) for name in COUNTS if getattr(stats, name)}


class Says:
    def __init__(self, decision: Allow | Confirm | Deny) -> None:
        self.decision = decision

    def intercept(self, _call: ToolCall) -> Allow | Confirm | Deny:
        return self.decision


@pytest.mark.parametrize(
    ("note", "says", "person", "fails", "want"),
    [
        ("goes well", Allow(), AutoDeny(), False, {"allowed": 1, "successes": 1}),
        ("fails", Allow(), AutoDeny(), True, {"allowed": 1, "errors": 1, "failures": 1}),
        ("refused by a guard", Deny("no"), AutoApprove(), False, {"denied": 1, "failures": 1}),
        ("asked about, yes", Confirm("?"), AutoApprove(), False, {"allowed": 1, "confirmed": 1, "successes": 1}),
        ("asked about, yes, fails", Confirm("?"), AutoApprove(), True,
         {"allowed": 1, "confirmed": 1, "errors": 1, "failures": 1}),
        ("asked about, no", Confirm("?"), AutoDeny(), False, {"denied": 1, "failures": 1}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("priority", [10, -10])
def test_every_outcome_is_counted(
    note: str, says: Allow | Confirm | Deny, person: AutoApprove, fails: bool, want: dict[str, int], priority: int
) -> None:
    metrics = Metrics()
    chain: InterceptorChain[ToolCall, ToolOutcome] = InterceptorChain()
    engine = Engine(chain.with_(metrics, priority=priority).with_(Says(says)), confirm=person)
    engine.run_tool(ToolCall("bash", {"command": "ls"}), lambda _: 1 / 0 if fails else "ok")
    assert counts(metrics.snapshot().get("exec")) == {"invocations": 1} | want, note
    assert counts(metrics.snapshot().totals) == {"invocations": 1} | want, note


def test_a_tool_is_found_by_any_of_its_names() -> None:
    metrics = Metrics()
    metrics.intercept(ToolCall("exec", {}))
    metrics.intercept(ToolCall("my_tool", {}))
    snapshot = metrics.snapshot()
    assert snapshot.get("Bash") == snapshot.get("exec") == snapshot.by_tool["exec"]
    assert counts(snapshot.get("my_tool")) == {"invocations": 1}
    assert snapshot.get("never-called") is None


def test_an_invocation_without_an_outcome_leaves_a_gap() -> None:
    metrics = Metrics()
    metrics.intercept(ToolCall("read", {}))
    assert counts(metrics.snapshot().get("read")) == {"invocations": 1}


def test_reset_zeroes_and_keeps_the_tools() -> None:
    metrics = Metrics()
    call = ToolCall("read", {})
    metrics.intercept(call)
    metrics.observe(call, ToolOutcome(call, "ok", duration_ns=5))
    metrics.reset()
    assert metrics.snapshot().get("read") == ToolStats()
    assert metrics.snapshot().totals == ToolStats()


def test_a_reset_under_way_leaves_an_end_without_a_beginning() -> None:
    metrics = Metrics()
    call = ToolCall("read", {})
    metrics.intercept(call)
    metrics.reset()
    metrics.observe(call, ToolOutcome(call, "ok"))
    assert counts(metrics.snapshot().get("read")) == {"successes": 1, "allowed": 1}


def test_a_snapshot_stays_as_it_was() -> None:
    metrics = Metrics()
    metrics.intercept(ToolCall("read", {}))
    before = metrics.snapshot()
    metrics.intercept(ToolCall("read", {}))
    metrics.intercept(ToolCall("write", {}))
    assert counts(before.get("read")) == {"invocations": 1}
    assert list(before.by_tool) == ["read"]
    with pytest.raises(TypeError):
        before.by_tool["read"] = ToolStats()  # type: ignore[index]  # that is the point


def test_many_threads_lose_nothing() -> None:
    metrics = Metrics()
    engine = Engine(InterceptorChain[ToolCall, ToolOutcome]().with_(metrics))

    def work() -> None:
        for _ in range(100):
            engine.run_tool(ToolCall("read", {}), lambda _: "ok")

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(metrics.snapshot().totals) == {"invocations": 1000, "allowed": 1000, "successes": 1000}


def test_made_up_tool_names_do_not_fill_the_memory() -> None:
    metrics = Metrics()
    for number in range(MAX_TOOLS + 50):
        metrics.intercept(ToolCall(f"tool-{number}", {}))
    snapshot = metrics.snapshot()
    assert len(snapshot.by_tool) == MAX_TOOLS + 1
    assert snapshot.by_tool[OTHER_TOOLS].invocations == 50
    assert snapshot.totals.invocations == MAX_TOOLS + 50


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["read", "write", "exec"]),
        st.sampled_from(["invoked", "succeeded", "failed", "denied", "confirmed"]),
        st.integers(0, 2**50),
    )
)


@given(EVENTS)
def test_totals_are_the_sum_of_the_tools(events: list[tuple[str, str, int]]) -> None:
    metrics = Metrics()
    told: Counter[str] = Counter()
    for tool, what, duration in events:
        call = ToolCall(tool, {})
        told[what] += 1
        if what == "invoked":
            metrics.intercept(call)
        else:
            outcome = ToolOutcome(
                call, is_error=what in ("failed", "denied"), denied=what == "denied", duration_ns=duration,
                approver="dana" if what == "confirmed" else "",
            )  # fmt: skip
            metrics.observe(call, outcome)
    snapshot = metrics.snapshot()
    for name in COUNTS:
        assert getattr(snapshot.totals, name) == sum(getattr(stats, name) for stats in snapshot.by_tool.values())
    assert snapshot.totals.invocations == told["invoked"]
    assert snapshot.totals.successes == told["succeeded"] + told["confirmed"]
    assert snapshot.totals.denied == told["denied"]
    assert snapshot.totals.errors == told["failed"]


@given(st.lists(st.integers(0, 2**43), min_size=1), st.sampled_from([1, 50, 90, 99, 100]))
def test_percentiles_are_at_most_a_sixteenth_too_high(durations: list[int], percent: int) -> None:
    latency = Latency()
    for duration in durations:
        latency.add(duration)
    exact = sorted(durations)[-(-len(durations) * percent // 100) - 1]
    assert exact <= latency.percentile(percent) <= exact + exact / 16


def test_percentiles_of_nothing_and_of_the_impossible() -> None:
    latency = Latency()
    assert latency.percentile(99) == 0
    latency.add(-5)
    assert latency.percentile(99) == 0
    latency.add(2**80)
    assert latency.percentile(100) > 2**43


def test_latencies_are_those_of_tools_that_ran() -> None:
    metrics = Metrics()
    call = ToolCall("read", {})
    for duration in range(1, 101):
        metrics.observe(call, ToolOutcome(call, duration_ns=duration * 1_000_000))
    metrics.observe(call, ToolOutcome(call, is_error=True, denied=True))
    stats = metrics.snapshot().totals
    assert 50_000_000 <= stats.p50_ns <= 54_000_000
    assert 90_000_000 <= stats.p90_ns <= 96_000_000
    assert 99_000_000 <= stats.p99_ns <= 100_000_000
