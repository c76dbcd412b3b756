"""Spans and numbers reach a collector, and one that hangs is in nobody's way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from interpose.composition.observability import telemetry
from interpose.composition.observability.telemetry import Telemetry, open_telemetry
from interpose.composition.service.activity import Activity
from interpose.core.config.settings import TelemetryEndpoint, TelemetrySettings
from interpose.core.types import Allow, Context, Deny, Finding, HookPoint, ToolCall, Verdict
from tests.support.peers.collectors import Collector, Taking
from tests.support.timing.patience import PATIENCE

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "the-secret-argument"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector().running() as made:
        yield made


@contextmanager
def sending(activity: Activity, *, traces: str = "", metrics: str = "", every: float = 0.01) -> Iterator[Telemetry]:
    settings = TelemetrySettings(traces=TelemetryEndpoint(endpoint=traces), metrics=TelemetryEndpoint(endpoint=metrics))
    made = Telemetry(settings, activity, version="1.2.3", every=every)
    try:
        yield made
    finally:
        made.close()


def verdict(context: Context, **fields: Any) -> Verdict[ToolCall]:
    call = ToolCall("exec", {"command": SECRET}, context=context)
    given: dict[str, Any] = {"outcome": "allow", "decision": Allow(), "payload": call, "elapsed_ns": 2_000_000}
    return Verdict(**given | fields)


CONTEXTS = [
    ("trace and span", Context(trace_id=TRACE, span_id=SPAN), TRACE, SPAN),
    ("in capitals", Context(trace_id=TRACE.upper(), span_id=SPAN.upper()), TRACE, SPAN),
    ("a trace alone", Context(trace_id=TRACE), TRACE, ""),
    ("a span that is none", Context(trace_id=TRACE, span_id="x" * 16), TRACE, ""),
    ("nothing", Context(), "", ""),
    ("zeros", Context(trace_id="0" * 32, span_id=SPAN), "", ""),
    ("no trace at all", Context(trace_id="my-trace", span_id=SPAN), "", ""),
]


@pytest.mark.parametrize(("note", "context", "trace", "span"), CONTEXTS, ids=[note for note, *_ in CONTEXTS])
def test_a_span_belongs_to_the_trace_of_its_caller(
    collector: Collector, note: str, context: Context, trace: str, span: str
) -> None:
    collector.open.set()
    activity = Activity()
    with sending(activity, traces=collector.url):
        activity.decided(verdict(context))
        (sent,) = collector.spans()
    assert sent.trace_id.hex() == trace if trace else len(sent.trace_id) == 16
    assert sent.parent_span_id.hex() == span


def test_what_a_span_says(collector: Collector) -> None:
    collector.open.set()
    activity = Activity()
    found = Finding(interceptor="x", said="deny", reason=SECRET, rule="no")
    context = Context(session_id="s1", agent_id="main", source="intercept", principal=SECRET, cwd=SECRET)
    with sending(activity, traces=f"{collector.url}/else/where"):
        activity.decided(
            verdict(context, outcome="deny", decision=Deny(SECRET, rule="no"), findings=(found,), policy="p1")
        )
        path, body = collector.taken.get(timeout=PATIENCE)
    assert path == "/else/where"
    assert SECRET.encode() not in body
    (sent,) = ExportTraceServiceRequest.FromString(body).resource_spans
    resource = {each.key: each.value.string_value for each in sent.resource.attributes}
    assert (resource["service.name"], resource["service.version"]) == ("interpose", "1.2.3")
    (span,) = sent.scope_spans[0].spans
    assert span.name == "tool.before"
    assert span.end_time_unix_nano - span.start_time_unix_nano == 2_000_000
    assert {each.key: each.value.string_value for each in span.attributes} == {
        "interpose.point": "tool.before",
        "interpose.tool": "exec",
        "interpose.outcome": "deny",
        "interpose.rule": "no",
        "interpose.policy": "p1",
        "session.id": "s1",
        "interpose.agent": "main",
        "interpose.source": "intercept",
    }


def test_numbers_are_sent(collector: Collector) -> None:
    collector.open.set()
    activity = Activity()
    with sending(activity, metrics=collector.url):
        activity.decided(verdict(Context()))
        activity.decided(verdict(Context(), outcome="deny", decision=Deny("no")))
    path, body = collector.taken.get(timeout=PATIENCE)  # the last numbers are sent at the end
    assert path == "/v1/metrics"
    scopes = [s for each in ExportMetricsServiceRequest.FromString(body).resource_metrics for s in each.scope_metrics]
    sent = {metric.name: metric for scope in scopes for metric in scope.metrics}
    points = sent["interpose.decisions"].sum.data_points
    assert sorted(point.as_int for point in points) == [1, 1]
    assert {"interpose.fail_open", "interpose.unapproved", "interpose.unrecorded"} <= sent.keys()
    assert sum(point.count for point in sent["interpose.decision.duration"].histogram.data_points) == 2


def test_a_collector_that_hangs_delays_nobody(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "QUEUE", 100)
    activity = Activity()
    with sending(activity, traces=collector.url) as made:
        activity.decided(verdict(Context()))
        assert collector.hanging.wait(PATIENCE)
        start = monotonic()
        for _ in range(1000):
            activity.decided(verdict(Context()))
        made.close(0.1)
        assert monotonic() - start < telemetry.TIMEOUT, "it waited for the collector"
        assert made.dropped == 900
        collector.open.set()
    assert activity.snapshot().decisions[HookPoint.TOOL_BEFORE, "exec", "allow"] == 1001
    assert activity.snapshot().deaf == 0


def test_what_a_collector_refuses_is_counted(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    collector.open.set()
    monkeypatch.setattr(Taking, "do_POST", lambda self: self.send_error(400))
    activity = Activity()
    with sending(activity, traces=collector.url, every=60.0) as made:
        activity.decided(verdict(Context()))
        activity.decided(verdict(Context()))
    assert made.dropped == 2


def test_hostile_names_arrive(collector: Collector) -> None:
    collector.open.set()
    activity = Activity()
    with sending(activity, traces=collector.url):
        activity.decided(verdict(Context(session_id="\ud800" * 1000, trace_id="\ud800")))
        (sent,) = collector.spans()
    (session,) = [each.value.string_value for each in sent.attributes if each.key == "session.id"]
    assert session == "?" * 256


def test_off_unless_configured() -> None:
    activity = Activity()
    assert open_telemetry(TelemetrySettings(), activity, version="") is None
    assert activity.listeners == ()


def test_nothing_is_imported_unless_it_is_on() -> None:
    shown = "print(*[n for n in sys.modules if n.startswith('opentelemetry')])"
    code = f"import sys, interpose.composition.observability.telemetry; {shown}"
    told = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == ""
