"""Which rules hold, and taking over changed ones, over a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interpose.composition.service.service import Service
from interpose.core.types import Context
from interpose.doors.http import policy
from tests.support.servers.servers import Reply, Running, bearer, running, service_in, trusting

RULES = """version: 1
rules:
  - id: no-deploys
    on: {tools: [deploy]}
    when: "true"
    action: deny
    message: Not on Fridays.
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with service_in(tmp_path, RULES) as made:
        yield made


@pytest.fixture
def server(service: Service) -> Iterator[Running]:
    with running(policy.routes(service), trust=trusting()) as made:
        yield made


def show(server: Running) -> Reply:
    return server.ask("GET", "/api/v1/policy", headers=bearer("auditor"))


def reload(server: Running) -> Reply:
    return server.ask("POST", "/api/v1/policy/reload", headers=bearer("operator"))


def rules_of(service: Service) -> Path:
    return Path(service.config.policy.directory) / "rules.yaml"


def test_which_rules_hold(service: Service, server: Running) -> None:
    told = show(server).json
    assert told["projects"] == []
    assert told["policy"]["state"] == "current"
    assert told["policy"]["revision"] == service.policy_status()[0].revision
    assert told["policy"]["levels"]["user"] == told["policy"]["rules"] == told["policy"]["packs"]["baseline"] + 1
    assert told["policy"]["files"] == [str(rules_of(service))]


def test_changed_rules_are_taken_over(service: Service, server: Running) -> None:
    before = show(server).json["policy"]
    rules_of(service).write_text(RULES + "  - {id: more, when: 'true', action: log}\n", encoding="utf-8")
    told = reload(server)
    assert told.status == 200
    assert (told.json["changed"], told.json["revision_before"]) == (True, before["revision"])
    assert told.json["policy"]["rules"] == before["rules"] + 1
    again = reload(server).json
    assert (again["changed"], again["policy"]) == (False, told.json["policy"])


def test_broken_rules_are_not(service: Service, server: Running) -> None:
    before = show(server).json["policy"]
    rules_of(service).write_text(RULES.replace('"true"', "1 +"), encoding="utf-8")
    told = reload(server)
    assert (told.status, told.json["error"]) == (409, "policy_broken")
    (problem,) = told.json["problems"]
    assert (problem["file"], problem["rule"]) == (str(rules_of(service)), "no-deploys")
    after = show(server).json["policy"]
    assert (after["state"], after["revision"], after["rules"]) == ("broken", before["revision"], before["rules"])
    assert after["problems"] == told.json["problems"]


def test_rules_of_a_project_that_was_seen(service: Service, server: Running, tmp_path: Path) -> None:
    file = tmp_path / "project" / ".interpose" / "policy.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("version: 1\nrules:\n  - {id: ours, when: 'true', action: ask}\n", encoding="utf-8")
    service.run(Context(cwd=str(tmp_path / "project")))
    (project,) = show(server).json["projects"]
    assert project["levels"]["project"] == 1
    assert str(file) in project["files"]
    file.write_text("version: 1\nrules: [broken", encoding="utf-8")
    told = reload(server)
    assert told.status == 200, "an agent that breaks its project's rules is not the operator's problem"
    assert told.json["projects"][0]["state"] == "broken"


@pytest.mark.parametrize(
    ("method", "path", "role", "want"),
    [
        ("GET", "", "agent", 403),
        ("GET", "", "approver", 403),
        ("GET", "", "auditor", 200),
        ("GET", "", "operator", 200),
        ("POST", "/reload", "auditor", 403),
        ("POST", "/reload", "approver", 403),
        ("POST", "/reload", "operator", 200),
        ("POST", "/reload", "", 401),
        ("GET", "", "", 401),
    ],
)
def test_who_may(server: Running, method: str, path: str, role: str, want: int) -> None:
    headers = bearer(role) if role else {}  # type: ignore[arg-type]  # a role of the table
    assert server.ask(method, f"/api/v1/policy{path}", headers=headers).status == want
