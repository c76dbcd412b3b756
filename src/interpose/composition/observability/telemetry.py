"""OpenTelemetry: a span for each decision, and the numbers of this process, by OTLP over HTTP.

Deciding only puts a few words into a queue. A thread makes spans of them and sends them; what a collector does not
take in time is dropped and counted. Nothing of OpenTelemetry is imported unless an endpoint is set.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from time import monotonic, time_ns
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from interpose.composition.observability.trace_context import is_span, is_trace
from interpose.composition.service.activity import BOUNDS_NS
from interpose.core.errors import ServerError, text_of
from interpose.core.types import Confirm, Context, Deny, HookPoint, ToolCall, ToolOutcome, Verdict

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

    from interpose.composition.service.activity import Activity, ActivitySnapshot
    from interpose.core.config.settings import TelemetrySettings

QUEUE = 10_000
"""Decisions that may wait to be sent."""
BATCH = 512
EVERY = 1.0
"""Seconds between two looks into the queue."""
TIMEOUT = 5.0
"""Seconds that a collector has to take a batch."""
CLOSING = 2.0
_LONGEST = 256


class ObservedDecision(NamedTuple):
    """What is told of a decision. Never arguments, results or reasons, which quote them."""

    point: HookPoint
    tool: str
    outcome: str
    rule: str
    policy: str
    context: Context
    elapsed_ns: int
    end_ns: int


class Telemetry:
    """Sends until it is closed. `dropped` counts the decisions that were not sent, or did not arrive."""

    def __init__(self, settings: TelemetrySettings, activity: Activity, *, version: str, every: float = EVERY) -> None:
        self.dropped = 0
        self._queue: deque[ObservedDecision] = deque()
        self._every = every
        self._stopping = threading.Event()
        self._meters: _Meters | None = None
        self._spans: _Spans | None = None
        try:
            resource = _resource(settings.service_name, version)
            if settings.metrics.endpoint:
                self._meters = _Meters(_address(settings.metrics.endpoint, "metrics"), resource, activity)
            if settings.traces.endpoint:
                self._spans = _Spans(_address(settings.traces.endpoint, "traces"), resource)
        except ImportError as error:
            raise ServerError(
                f"telemetry needs packages that are not installed ({text_of(error)}): pip install 'interpose[otel]'"
            ) from None
        self._thread = threading.Thread(target=self._run, name="interpose:telemetry", daemon=True)
        self._thread.start()
        activity.listeners = (*activity.listeners, self.saw)

    def saw(self, point: HookPoint, verdict: Verdict[Any]) -> None:
        """Note a decision. On the way of every one of them: nothing here waits."""
        if len(self._queue) >= QUEUE:
            self.dropped += 1
            return
        decision, payload = verdict.decision, verdict.payload
        call = payload.call if isinstance(payload, ToolOutcome) else payload
        self._queue.append(
            ObservedDecision(
                point,
                call.name if isinstance(call, ToolCall) else "",
                verdict.outcome,
                decision.rule if isinstance(decision, Deny | Confirm) else "",
                verdict.policy,
                call.context,
                verdict.elapsed_ns,
                time_ns(),
            )
        )

    def close(self, timeout: float = CLOSING) -> None:
        """Send what waits, as far as there is time."""
        end = monotonic() + timeout
        self._stopping.set()
        self._thread.join(timeout)
        if self._meters is not None:
            self._meters.close(max(timeout / 10, end - monotonic()))

    def _run(self) -> None:
        while not self._stopping.wait(self._every):
            self._send()
        self._send()

    def _send(self) -> None:
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(BATCH, len(self._queue)))]
            if self._meters is not None:
                self._meters.record(batch)
            if self._spans is not None and not self._spans.send(batch):
                self.dropped += len(batch)
                return  # a collector that takes nothing is left alone for a while


class _Spans:
    """Makes spans of decisions and sends them. For one thread."""

    def __init__(self, address: str, resource: Resource) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

        ended: list[ReadableSpan] = []

        class Collect(SpanProcessor):
            def on_end(self, span: ReadableSpan) -> None:
                ended.append(span)

        class Ids(RandomIdGenerator):
            trace = 0

            def generate_trace_id(self) -> int:
                return self.trace or super().generate_trace_id()

        self._ended, self._ids = ended, Ids()
        provider = TracerProvider(resource=resource, id_generator=self._ids, shutdown_on_exit=False)
        provider.add_span_processor(Collect())
        self._tracer = provider.get_tracer("interpose")
        self._exporter = OTLPSpanExporter(endpoint=address, timeout=TIMEOUT)

    def send(self, batch: Sequence[ObservedDecision]) -> bool:
        """False if they did not arrive."""
        from opentelemetry.sdk.trace.export import SpanExportResult

        for seen in batch:
            self._make(seen)
        spans, self._ended[:] = tuple(self._ended), ()
        return not spans or self._exporter.export(spans) is SpanExportResult.SUCCESS

    def _make(self, seen: ObservedDecision) -> None:
        from opentelemetry.context import Context as Carrier
        from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context

        trace, span = seen.context.trace_id.lower(), seen.context.span_id.lower()
        # A trace without a span to hang on is continued, not made up anew.
        self._ids.trace = int(trace, 16) if is_trace(trace) else 0
        parent = Carrier()
        if self._ids.trace and is_span(span):
            remote = SpanContext(self._ids.trace, int(span, 16), is_remote=True, trace_flags=TraceFlags(1))
            parent = set_span_in_context(NonRecordingSpan(remote), parent)
        made = self._tracer.start_span(
            seen.point.value, parent, SpanKind.SERVER, _attributes(seen), start_time=seen.end_ns - seen.elapsed_ns
        )
        made.end(seen.end_ns)


def _attributes(seen: ObservedDecision) -> dict[str, str]:
    told = {
        "interpose.point": seen.point.value,
        "interpose.tool": seen.tool,
        "interpose.outcome": seen.outcome,
        "interpose.rule": seen.rule,
        "interpose.policy": seen.policy,
        "session.id": seen.context.session_id,
        "interpose.agent": seen.context.agent_id,
        "interpose.source": seen.context.source,
    }
    return {name: _utf8(value) for name, value in told.items() if value}


def _utf8(text: str) -> str:
    return text[:_LONGEST].encode("utf-8", "replace").decode()


Numbers = Iterable[tuple[dict[str, str], int]]


def _decisions(told: ActivitySnapshot) -> Numbers:
    for (point, tool, outcome), count in told.decisions.items():
        yield {"interpose.point": point.value, "interpose.tool": tool, "interpose.outcome": outcome}, count


def _errors(told: ActivitySnapshot) -> Numbers:
    return (({"interpose.interceptor": name}, count) for name, count in told.errors.items())


_COUNTERS: tuple[tuple[str, str, Callable[[ActivitySnapshot], Numbers]], ...] = (
    ("interpose.decisions", "Decisions by hook point, tool and outcome.", _decisions),
    ("interpose.core.interceptor.errors", "Failures of interceptors.", _errors),
    ("interpose.fail_open", "Calls that ran although who had to decide failed.", lambda told: [({}, told.fail_open)]),
    ("interpose.unapproved", "Calls that ran without the answer of a person.", lambda told: [({}, told.unapproved)]),
    ("interpose.unrecorded", "Calls refused for want of a record.", lambda told: [({}, told.unrecorded)]),
)


class _Meters:
    """The numbers of an activity, read whenever they are sent, and the times of decisions."""

    def __init__(self, address: str, resource: Resource, activity: Activity) -> None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.metrics import Observation
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

        exporter = OTLPMetricExporter(endpoint=address, timeout=TIMEOUT)
        self._provider = MeterProvider((PeriodicExportingMetricReader(exporter),), resource, shutdown_on_exit=False)
        meter = self._provider.get_meter("interpose")
        self._times = meter.create_histogram(
            "interpose.decision.duration",
            unit="s",
            description="Time that a decision took, with the wait for a person.",
            explicit_bucket_boundaries_advisory=[bound / 1e9 for bound in BOUNDS_NS],
        )

        def observing(read: Callable[[ActivitySnapshot], Numbers]) -> Callable[[object], list[Observation]]:
            return lambda _: [Observation(count, attributes) for attributes, count in read(activity.snapshot())]

        for name, description, read in _COUNTERS:
            meter.create_observable_counter(name, (observing(read),), description=description)

    def record(self, batch: Sequence[ObservedDecision]) -> None:
        """Add the times of these decisions."""
        for seen in batch:
            self._times.record(
                seen.elapsed_ns / 1e9, {"interpose.point": seen.point.value, "interpose.outcome": seen.outcome}
            )

    def close(self, timeout: float) -> None:
        """Send the last numbers."""
        self._provider.shutdown(timeout * 1000)


def open_telemetry(settings: TelemetrySettings, activity: Activity, *, version: str) -> Telemetry | None:
    """Telemetry as it is configured; None if it is off. Raises ServerError if what it needs is not installed."""
    if not settings.traces.endpoint and not settings.metrics.endpoint:
        return None
    return Telemetry(settings, activity, version=version)


def _resource(name: str, version: str) -> Resource:
    from opentelemetry.sdk.resources import Resource

    return Resource.create({"service.name": name, "service.version": version})


def _address(endpoint: str, signal: str) -> str:
    """Where a signal goes: a collector's bare address has a fixed path for each."""
    return f"{endpoint.rstrip('/')}/v1/{signal}" if urlsplit(endpoint).path in ("", "/") else endpoint
