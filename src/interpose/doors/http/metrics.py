"""`/metrics`: the numbers of this server as Prometheus reads them. The text is put together when somebody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import accumulate
from time import time_ns
from typing import TYPE_CHECKING

from prometheus_client import Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from interpose.composition.service.activity import BOUNDS_NS, ActivitySnapshot
from interpose.core.errors import StoreError
from interpose.doors.http_server.listener_state import Answered
from interpose.doors.http_server.messages import Request, Response, Route

if TYPE_CHECKING:
    from interpose.composition.service.service import Service

TEXT = "text/plain"
MOST_QUESTIONS = 1000
_SECOND = 1e9


class Traffic:
    """What a listener answered, and what else its server counts. Used on its event loop alone."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, int], int] = {}
        self.connections: Callable[[], int] = int
        self.telemetry_dropped: Callable[[], int] = int

    def answered(self, answer: Answered) -> None:
        """Count an answer."""
        key = (answer.path, answer.status)
        self.requests[key] = self.requests.get(key, 0) + 1


def routes(service: Service, traffic: Traffic | None = None) -> tuple[Route, ...]:
    """The numbers say what agents do: they are for those who may read the ledger."""
    seen = traffic or Traffic()

    async def metrics(_request: Request) -> Response:
        waiting = await asyncio.to_thread(_waiting, service)
        page = generate_latest(Numbers(service, waiting, seen))
        return Response(body=page, headers=(("Content-Type", CONTENT_TYPE_PLAIN_0_0_4),))

    return (
        Route("GET", "/metrics", metrics, "auditor", "Numbers for Prometheus", produces=(TEXT,)),
    )  # fmt: skip


def _waiting(service: Service) -> int | None:
    try:
        return len(service.store.waiting(now_ns=time_ns(), limit=MOST_QUESTIONS))
    except StoreError:
        return None


class Numbers(Collector):
    """All families, from the numbers as they are now. `waiting` is None if the store did not say."""

    def __init__(self, service: Service, waiting: int | None, traffic: Traffic) -> None:
        self._service, self._waiting, self._traffic = service, waiting, traffic

    def collect(self) -> Iterator[Metric]:
        """Every metric that there is."""
        yield from _of_activity(self._service.activity.snapshot())
        yield from self._of_ledger()
        yield from self._of_policy()
        if self._waiting is not None:
            yield GaugeMetricFamily("interpose_approvals_waiting", "Questions that wait for a person.", self._waiting)
        yield CounterMetricFamily(
            "interpose_grant_alarms",
            "Grants and answers in the store that no server gave, and uses that were set back.",
            self._service.desk.alarms.count,
        )
        yield GaugeMetricFamily("interpose_http_connections", "Open connections.", self._traffic.connections())
        requests = CounterMetricFamily(
            "interpose_http_requests",
            "Answered requests; `route` is empty for what has none.",
            labels=("route", "status"),
        )
        for (route, status), count in self._traffic.requests.items():
            requests.add_metric((route, str(status)), count)
        yield requests
        yield CounterMetricFamily(
            "interpose_telemetry_dropped", "Decisions that no collector took.", self._traffic.telemetry_dropped()
        )

    def _of_ledger(self) -> Iterator[Metric]:
        status = self._service.ledger.status()
        yield CounterMetricFamily("interpose_ledger_recorded", "Entries written to the journal.", status.recorded)
        yield GaugeMetricFamily("interpose_ledger_late", "Entries that wait for the storage.", status.late)
        yield CounterMetricFamily("interpose_ledger_lost", "Entries that could not be kept.", status.lost)
        yield GaugeMetricFamily(
            "interpose_ledger_up", "0 while the ledger or its store reports a problem.", not status.problem
        )

    def _of_policy(self) -> Iterator[Metric]:
        status = self._service.policy_status()[0]
        yield InfoMetricFamily("interpose_policy", "The policy that holds.", {"revision": status.revision})
        yield GaugeMetricFamily("interpose_policy_rules", "Rules that hold everywhere.", status.rules)
        yield GaugeMetricFamily(
            "interpose_policy_broken",
            "1 while newer rule files are wrong and were not taken.",
            status.state == "broken",
        )
        yield GaugeMetricFamily(
            "interpose_policy_loaded_timestamp_seconds", "When it was loaded.", status.loaded_at.timestamp()
        )


def _of_activity(told: ActivitySnapshot) -> Iterator[Metric]:
    decisions = CounterMetricFamily(
        "interpose_decisions", "Decisions by hook point, tool and outcome.", labels=("point", "tool", "outcome")
    )
    for (point, tool, outcome), count in told.decisions.items():
        decisions.add_metric((point.value, tool, outcome), count)
    yield decisions
    times = HistogramMetricFamily(
        "interpose_decision_seconds", "Time that interceptors took for a decision.", labels=("point",)
    )
    bounds = [*(f"{bound / _SECOND:g}" for bound in BOUNDS_NS), "+Inf"]
    for at, spent in told.times.items():
        if any(spent.counts):
            times.add_metric(
                (at.value,), list(zip(bounds, accumulate(spent.counts), strict=True)), spent.nanoseconds / _SECOND
            )
    yield times
    interceptors = SummaryMetricFamily(
        "interpose_interceptor_seconds", "Time that each interceptor took.", labels=("interceptor",)
    )
    for name, each in told.interceptors.items():
        interceptors.add_metric((name,), each.asked, each.nanoseconds / _SECOND)
    yield interceptors
    errors = CounterMetricFamily(
        "interpose_interceptor_errors", "Failures of interceptors: errors, timeouts.", labels=("interceptor",)
    )
    for name, count in told.errors.items():
        errors.add_metric((name,), count)
    yield errors
    yield CounterMetricFamily(
        "interpose_fail_open", "Calls that ran although an interceptor that had to decide failed.", told.fail_open
    )
    yield CounterMetricFamily(
        "interpose_unapproved",
        "Calls that ran although a person had to agree, and nobody is known to.",
        told.unapproved,
    )
    yield CounterMetricFamily(
        "interpose_watched", "Decisions that a rule in watch mode would have refused or asked about.", told.watched
    )
    yield CounterMetricFamily(
        "interpose_unrecorded", "Calls that were refused because they could not be recorded.", told.unrecorded
    )
    yield CounterMetricFamily(
        "interpose_listener_errors", "Failures of those who listen to decisions, such as telemetry.", told.deaf
    )
