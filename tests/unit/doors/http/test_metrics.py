"""The numbers that Prometheus gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from interpose.composition.service.service import Service
from interpose.core.errors import StoreError
from interpose.core.types import Context, HookPoint, ToolCall, ToolOutcome
from interpose.doors.http import events, metrics
from interpose.doors.http.metrics import Traffic
from tests.support.servers.servers import Running, bearer, running, service_in, trusting

DOCS = Path(__file__).parents[4] / "docs" / "observability.md"
ROW = re.compile(r"^\| `(interpose_\w+)` \| (\w+) \| ([^|]*) \|", re.MULTILINE)

RULES = """version: 1
rules:
  - {id: ask-first, on: {tools: [deploy]}, when: "true", action: ask}
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, RULES) as made:
        yield made


@pytest.fixture
def server(service: Service) -> Iterator[Running]:
    traffic = Traffic()
    served = (*metrics.routes(service, traffic), *events.routes(service))
    with running(served, trust=trusting(), observe=traffic.answered) as made:
        traffic.connections = lambda: made.listener.connections
        yield made


def decide(service: Service, *commands: str) -> None:
    for command in commands:
        run = service.run(Context(session_id="s"))
        verdict = run.before(ToolCall("Bash", {"command": command}))
        if verdict.allowed:
            run.after(ToolOutcome(verdict.payload, {"stdout": "x"}))


def scrape(server: Running) -> dict[tuple[str, ...], float]:
    """Every sample: its name and the values of its labels, in the order of their names."""
    told = server.ask("GET", "/metrics", headers=bearer("auditor"))
    assert told.status == 200
    assert told.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = text_string_to_metric_families(told.body.decode())
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_decisions(service: Service, server: Running) -> None:
    decide(service, "ls", "ls -la", "rm -rf /")
    told = scrape(server)
    assert told["interpose_decisions_total", "allow", "tool.before", "exec"] == 2
    assert told["interpose_decisions_total", "deny", "tool.before", "exec"] == 1
    assert told["interpose_decisions_total", "allow", "tool.after", "exec"] == 2
    assert told["interpose_decision_seconds_count", "tool.before"] == 3
    assert told["interpose_decision_seconds_bucket", "+Inf", "tool.before"] == 3
    assert 0 < told["interpose_decision_seconds_sum", "tool.before"] < 60
    assert told["interpose_interceptor_seconds_count", "builtin:command-safety-guard"] == 3
    assert told["interpose_fail_open_total",] == 0
    assert told["interpose_unapproved_total",] == 0


@pytest.mark.parametrize(("point", "body"), [("message.before", {"text": "hello"}), ("params.before", {"model": "m"})])
def test_points_that_have_no_tool(server: Running, point: str, body: dict[str, str]) -> None:
    assert server.post(f"/api/v1/events/{point}", body).status == 200
    assert scrape(server)["interpose_decisions_total", "allow", point, ""] == 1


def test_the_state_of_everything_else(service: Service, server: Running) -> None:
    decide(service, "ls")
    service.ledger.flush()
    scrape(server)
    told = scrape(server)
    assert told["interpose_ledger_recorded_total",] == 2
    assert told["interpose_ledger_up",] == 1
    assert told["interpose_policy_info", service.policy_status()[0].revision] == 1
    assert told["interpose_policy_broken",] == 0
    assert told["interpose_approvals_waiting",] == 0
    assert told["interpose_http_requests_total", "/metrics", "200"] == 1
    assert told["interpose_http_connections",] >= 1


def test_questions_that_wait(service: Service, server: Running) -> None:
    service.run(Context(session_id="s")).before(ToolCall("deploy", {}))
    assert scrape(server)["interpose_approvals_waiting",] == 1


def test_broken_rules(service: Service, server: Running) -> None:
    (Path(service.config.policy.directory) / "rules.yaml").write_text("version: 1\nrules: [", encoding="utf-8")
    service.reload()
    assert scrape(server)["interpose_policy_broken",] == 1


def test_a_store_that_is_away(service: Service, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**_options: object) -> list[object]:
        raise StoreError("away")

    monkeypatch.setattr(service.store, "waiting", away)
    told = scrape(server)
    assert ("interpose_approvals_waiting",) not in told, "a number that nobody knows is not 0"
    assert ("interpose_ledger_up",) in told


def test_names_that_agents_make_up(service: Service, server: Running) -> None:
    name = 'we"ird\\tool} 1'
    service.run(Context()).before(ToolCall(name, {}))
    service.run(Context()).before(ToolCall("line\nbreak", {}))
    told = scrape(server)
    tools = {key[-1] for key in told if key[0] == "interpose_decisions_total" and key[2] == HookPoint.TOOL_BEFORE}
    assert tools == {name, "(other)"}


@pytest.mark.parametrize("role", ["agent", "approver"])
def test_who_may_not(server: Running, role: str) -> None:
    assert server.ask("GET", "/metrics", headers=bearer(role)).status == 403  # type: ignore[arg-type]  # from the table
    assert server.ask("GET", "/metrics").status == 401


def test_the_docs_list_every_metric(service: Service, server: Running) -> None:
    decide(service, "ls")
    page = server.ask("GET", "/metrics", headers=bearer("operator")).body.decode()
    served = {
        (f"{family.name}_total" if family.type == "counter" else family.name, family.type)
        for family in text_string_to_metric_families(page)
    }
    told = {(name, kind) for name, kind, _ in ROW.findall(DOCS.read_text(encoding="utf-8"))}
    assert told == served
