"""The numbers of what was decided."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from interpose.composition.service.activity import BOUNDS_NS, MAX_TOOLS, OTHER_TOOLS, Activity, InterceptorTime
from interpose.core.answers import Approved
from interpose.core.registry import InterceptorRegistry
from interpose.core.types import (
    Allow,
    Confirm,
    Decision,
    Deny,
    Finding,
    HookPoint,
    PermissionRequest,
    ToolCall,
    ToolOutcome,
    Verdict,
)
from interpose.engine.engine import Engine

BEFORE, AFTER = HookPoint.TOOL_BEFORE, HookPoint.TOOL_AFTER


def verdict(tool: str = "exec", **fields: Any) -> Verdict[ToolCall]:
    given: dict[str, Any] = {"outcome": "allow", "decision": Allow(), "payload": ToolCall(tool), "elapsed_ns": 10**12}
    return Verdict(**given | fields)


def error(**fields: Any) -> Finding:
    return Finding(**{"interceptor": "x", "said": "error", "reason": "", "severity": "error"} | fields)


def test_decisions_are_counted_by_point_tool_and_outcome() -> None:
    activity = Activity()
    denied = verdict(outcome="deny", decision=Deny("no"))
    for one in (verdict(), verdict(), verdict("read"), denied):
        activity.decided(one)
    after: Verdict[ToolOutcome] = Verdict(outcome="rewrite", decision=Allow(), payload=ToolOutcome(ToolCall("exec")))
    activity.finished(verdict(), after.payload, after)
    activity.finished(denied, ToolOutcome(ToolCall("exec")), None)
    activity.finished(denied, ToolOutcome(ToolCall("exec"), denied=True), after)
    assert activity.snapshot().decisions == {
        (BEFORE, "exec", "allow"): 2,
        (BEFORE, "read", "allow"): 1,
        (BEFORE, "exec", "deny"): 1,
        (AFTER, "exec", "rewrite"): 1,
    }


def test_times_are_those_of_interceptors_without_the_wait_for_a_person() -> None:
    activity = Activity()
    activity.decided(verdict(timings=(("a", BOUNDS_NS[0] - 1), ("b", 1))))
    activity.decided(verdict(timings=(("a", BOUNDS_NS[0] + 1),)))
    activity.decided(verdict(timings=(("a", BOUNDS_NS[-1] + 1),)))
    told = activity.snapshot()
    counts = told.times[BEFORE].counts
    assert (counts[0], counts[1], counts[-1], sum(counts)) == (1, 1, 1, 3)
    assert len(counts) == len(BOUNDS_NS) + 1
    assert told.times[BEFORE].nanoseconds == 2 * BOUNDS_NS[0] + 2 + BOUNDS_NS[-1]
    assert told.interceptors == {
        "a": InterceptorTime(3, 2 * BOUNDS_NS[0] + 1 + BOUNDS_NS[-1]),
        "b": InterceptorTime(1, 1),
    }


@pytest.mark.parametrize(
    ("note", "given", "want"),
    [
        ("a deciding interceptor failed and the call runs", {"findings": (error(),)}, (1, 1, 0)),
        ("its failure was an observer's", {"findings": (error(severity="warning"),)}, (1, 0, 0)),
        ("it only watched", {"findings": (error(mode="watch"),)}, (1, 0, 0)),
        ("a person agreed", {"findings": (error(),), "approver": "ann"}, (1, 0, 0)),
        ("the failure refused the call", {"findings": (error(),), "outcome": "deny"}, (1, 0, 0)),
        ("a rule in watch mode would have refused", {"findings": (error(said="deny", mode="watch"),)}, (0, 0, 1)),
        ("a note", {"findings": (error(said="note"),)}, (0, 0, 0)),
    ],
)
def test_failures(note: str, given: dict[str, Any], want: tuple[int, int, int]) -> None:
    activity = Activity()
    activity.decided(verdict(**given))
    told = activity.snapshot()
    assert (sum(told.errors.values()), told.fail_open, told.watched) == want, note


def test_tools_that_agents_make_up_stay_bounded() -> None:
    activity = Activity()
    for number in range(MAX_TOOLS + 50):
        activity.decided(verdict(f"tool-{number}"))
    for strange in ("a\nb", "\ud800", "x" * 101):
        activity.decided(verdict(strange))
    decisions = activity.snapshot().decisions
    assert decisions[BEFORE, OTHER_TOOLS, "allow"] == 53
    assert len(decisions) == MAX_TOOLS + 1


def test_nothing_is_lost_between_threads() -> None:
    activity = Activity()
    one = verdict(timings=(("a", 1),))

    def count() -> None:
        for _ in range(5000):
            activity.decided(one)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = activity.snapshot()
    assert told.decisions[BEFORE, "exec", "allow"] == told.interceptors["a"].asked == 20_000


class Asks:
    def intercept(self, _call: ToolCall) -> Decision[ToolCall]:
        return Confirm("Really?")


class Agrees:
    def confirm(self, _request: PermissionRequest) -> Approved:
        return Approved("ann")


class Full:
    """A ledger that has no room."""

    def decided(self, _verdict: Verdict[ToolCall]) -> None:
        raise OSError("no space left")

    def finished(self, _verdict: Verdict[ToolCall], _outcome: ToolOutcome, _after: object) -> None:
        return None


def test_a_call_that_could_not_be_recorded() -> None:
    activity = Activity(Full())
    answer = Engine(InterceptorRegistry(), recorder=activity).run_tool(ToolCall("exec"), lambda _: "ran")
    assert answer["status"] == "blocked"
    assert activity.snapshot().unrecorded == 1


def test_a_listener_hears_every_verdict_and_breaks_none() -> None:
    heard: list[tuple[HookPoint, str, str]] = []
    activity = Activity()

    def listen(point: HookPoint, told: Verdict[Any]) -> None:
        heard.append((point, told.payload.name, told.approver))
        raise RuntimeError("broken")

    activity.listeners = (listen,)
    registry = InterceptorRegistry()
    registry.add(id="asks", name=BEFORE, interceptor=Asks())
    engine = Engine(registry, recorder=activity, confirm=Agrees())
    assert engine.run_tool(ToolCall("exec"), lambda _: "ran") == "ran"
    assert heard == [(BEFORE, "exec", "ann")]
    assert activity.snapshot().deaf == 1
