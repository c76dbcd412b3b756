"""Sessions as timelines, what rules did, and the overview, over a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.service import overview as figures_of
from interpose.composition.service.overview import HeardAgent, width_of
from interpose.composition.service.service import Service
from interpose.core.config.settings import Config
from interpose.core.types import Context, ToolCall, ToolOutcome
from interpose.doors.http import figures
from interpose.doors.http_server.messages import Role
from interpose.people.approvals.questions import moment
from tests.support.governance.governed import kept, session_of
from tests.support.servers.servers import Reply, Running, bearer, running, service_in, trusting

RULES = """\
version: 1
rules:
  - {id: pushing, on: {tools: [exec]}, when: 'args.command.contains("push")', action: ask, message: Push?}
  - {id: never, on: {tools: [exec]}, when: 'args.command.contains("never")', action: deny, message: Never}
  - {id: quiet, on: {tools: [exec]}, when: 'args.command == "quiet"', action: deny, message: Quiet}
  - id: dry
    on: {tools: [exec]}
    when: args.command == "deploy"
    action: transform
    rewrite: {command: '"deploy --dry-run"'}
"""
GOVERNANCE = """\
version: 1
budgets:
  - {per: session, calls: 40, time: 2h}
"""
HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m"
AGENT = HeardAgent(name="claude-code", title="Claude Code", heard=None, warnings=("never asked",))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    place = tmp_path_factory.mktemp("figures")
    (place / "governance.yaml").write_text(GOVERNANCE, encoding="utf-8")
    own = {"file": str(place / "governance.yaml"), "log": "", "checkpoints": str(place / "checkpoints")}
    with service_in(place, RULES, governance=replace(Config().governance, **own)) as opened:
        context = Context(session_id="s1", agent_id="main", source="intercept")
        for command in ("ls", "rm -rf /", "never", "deploy", f"echo {HOSTILE}"):
            verdict = opened.run(context).before(ToolCall("exec", {"command": command}, context=context))
            if verdict.allowed:
                opened.run(context).after(ToolOutcome(verdict.payload, "done", duration_ns=5_000_000))
        asked = opened.run(context).before(ToolCall("exec", {"command": "git push"}, context=context))
        opened.desk.approve(asked.approval, "ann")
        other = replace(context, session_id="s2")
        opened.run(other).before(ToolCall("exec", {"command": "git push"}, context=other))
        kept(opened.store, session_of("g-1", key="g-1", project=""))
        opened.ledger.flush()
        yield opened


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[Running]:
    with running(figures.routes(service, lambda: [AGENT]), trust=trusting()) as made:
        yield made


def get(server: Running, path: str, role: Role = "auditor") -> Reply:
    return server.ask("GET", f"/api/v1{path}", headers=bearer(role))


def test_a_session_call_by_call(server: Running) -> None:
    told = get(server, "/sessions/s1/timeline").json
    assert told["session"]["calls"] == 6
    assert told["seconds"] >= 0
    events = told["events"]
    assert [(one["decision"], one["rule"]) for one in events[::-1]] == [
        ("allow", ""), ("deny", "delete-system"), ("deny", "never"), ("rewrite", "dry"),
        ("deny", "baseline/hidden-text"),
        ("ask", "pushing"),
    ]  # fmt: skip
    asked, hostile, rewritten, refused, *_ = events
    assert (asked["question"]["state"], asked["question"]["by"]) == ("approved", "ann")
    assert asked["question"]["waited_ms"] >= 0
    assert (rewritten["what"], rewritten["outcome"], rewritten["ran_ms"]) == ("deploy --dry-run", "success", 5)
    assert (refused["reason"], refused["outcome"]) == ("Never", "denied")
    assert "fs.delete" in events[4]["effects"]
    assert hostile["what"] == "echo <script>alert(1)</script>\\u202e\\x1b[31m", "one line that nobody can turn around"
    assert all(one["decided_us"] > 0 for one in events)


def test_a_timeline_in_pages(server: Running) -> None:
    whole = get(server, "/sessions/s1/timeline").json["events"]
    seen: list[dict[str, Any]] = []
    cursor = ""
    for _ in range(3):
        page = get(server, f"/sessions/s1/timeline?limit=2{cursor}").json
        seen += page["events"]
        cursor = f"&cursor={page['next']}"
    assert seen == whole
    assert page["next"] is None


def test_budgets_of_a_governed_session(server: Running, service: Service) -> None:
    context = Context(session_id="g-2", source="intercept")
    service.run(context).before(ToolCall("exec", {"command": "ls"}, context=context))
    service.ledger.flush()
    budgets = {one["what"]: one for one in get(server, "/sessions/g-2/timeline").json["budgets"]}
    assert (budgets["calls"]["spent"], budgets["calls"]["limit"], budgets["calls"]["text"]) == (1, 40, "1 of 40")
    assert budgets["time"]["limit"] == 2 * 3600 * 10**9
    before = service.store.spent_of([""])
    alone = get(server, "/sessions/g-1/timeline").json
    assert (alone["events"], alone["session"]["governed"]["state"]) == ([], "active")
    assert service.store.spent_of([""]) == before


def test_no_such_session(server: Running) -> None:
    assert get(server, "/sessions/none/timeline").json["error"] == "not_found"
    assert get(server, "/sessions/s1/timeline?limit=0").json["error"] == "invalid_query"
    assert get(server, "/sessions/s1/timeline?cursor=x").json["error"] == "invalid_query"


def test_what_each_rule_did(server: Running, service: Service) -> None:
    told = get(server, "/policy/activity?days=3").json
    assert len(told["days"]) == 3
    rules = {rule["id"]: rule for rule in told["rules"]}
    assert rules["never"]["counts"] == {"deny": [0, 0, 1]}
    assert rules["pushing"]["counts"]["ask"][-1] == 2
    assert rules["dry"]["counts"] == {"rewrite": [0, 0, 1]}
    assert (rules["quiet"]["total"], rules["quiet"]["counts"]) == (0, {}), "a rule that said nothing is there, too"
    assert rules["quiet"]["written"]["file"].endswith("rules.yaml")
    assert (rules["delete-system"]["written"], rules["delete-system"]["total"]) == (None, 1), "a guard's"
    assert [pack["name"] for pack in told["packs"]] == ["baseline"]
    assert told["packs"][0]["rules"] == sum(1 for rule in told["rules"] if (rule["written"] or {}).get("pack"))
    assert told["complete"]
    totals = [rule["total"] for rule in told["rules"]]
    assert totals == sorted(totals, reverse=True)
    assert get(server, "/policy/activity?days=32").json["error"] == "invalid_query"


def test_the_overview(server: Running, service: Service) -> None:
    told = get(server, "/overview?since=2h").json
    assert told["decisions"]["deny"] == 3
    assert (
        told["total"]
        == sum(told["decisions"].values())
        == sum(count for one in told["stretches"] for count in one["decisions"].values())
    )
    questions = told["questions"]
    assert (questions["asked"], questions["waiting"]) == (2, 1)
    assert questions["states"] == {"approved": 1, "waiting": 1}
    assert questions["answered_in"]["of"] == 1
    assert told["latency"]["of"] == told["total"]
    assert 0 < told["latency"]["p50_us"] <= told["latency"]["p99_us"]
    assert told["ledger"]["problem"] == ""
    assert told["ledger"]["bytes"] > 0
    assert told["policy"]["revision"] == service.policy_status()[0].revision
    assert told["agents"] == [
        {"name": "claude-code", "title": "Claude Code", "heard": None, "warnings": ["never asked"]}
    ]
    assert sum(one["questions"] for one in told["stretches"]) == 2
    assert get(server, "/overview?since=never").json["error"] == "invalid_query"
    assert get(server, "/overview?since=9999999d").status == 200


def test_a_sample_of_each_stretch_is_enough(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures_of, "SAMPLE", 1)
    now = 10**18 * 2
    told = figures_of.overview(service, since_ns=now - 3600 * 10**9, now_ns=now)
    assert (told.total, told.latency, told.agents) == (0, None, None)
    assert told.stretches[-1].start <= moment(now)


@pytest.mark.parametrize("seconds", [1, 59, 3600, 86400, 30 * 86400, 400 * 86400, 50 * 365 * 86400])
def test_there_are_never_more_stretches_than_are_drawn(service: Service, seconds: int) -> None:
    now = 1_800_000_000 * 10**9 + 12345
    since = now - seconds * 10**9
    width = width_of(since, now)
    assert (now - since) // width < figures_of.STRETCHES
    told = figures_of.overview(service, since_ns=since, now_ns=now)
    assert 1 <= len(told.stretches) <= figures_of.STRETCHES + 1
    assert told.stretches[0].start <= moment(since)


@pytest.mark.parametrize("path", ["/overview", "/policy/activity", "/sessions/s1/timeline"])
def test_who_may_look(server: Running, path: str) -> None:
    assert {role: get(server, path, role).status for role in ("agent", "approver", "auditor", "operator")} == {
        "agent": 403, "approver": 403, "auditor": 200, "operator": 200,
    }  # fmt: skip
    assert server.ask("GET", f"/api/v1{path}").status == 401


def test_a_store_that_is_gone_is_said(tmp_path: Path) -> None:
    with service_in(tmp_path, RULES) as opened, running(figures.routes(opened), trust=trusting()) as server:
        opened.store.close()
        for path in ("/overview", "/policy/activity", "/sessions/s1/timeline"):
            told = get(server, path)
            assert (told.status, told.json["error"]) == (503, "store_unavailable"), path
