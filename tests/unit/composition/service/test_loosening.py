"""What a project's rules tried to loosen stands in the ledger, once."""

from __future__ import annotations

from pathlib import Path

from interpose.composition.build import open_service
from interpose.core.config.load import load
from interpose.core.types import Context
from interpose.record.ledger import search
from interpose.record.store.protocols import Query
from tests.e2e.processes import clean_environment

LOOSE = """version: 1
rules:
  - id: let-me
    when: "true"
    action: allow
    answers: {rules: [force-push], scope: everywhere}
"""


def test_a_rule_of_a_project_that_would_loosen_is_recorded_once(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".interpose").mkdir(parents=True)
    (project / ".interpose" / "policy.yaml").write_text(LOOSE)
    config = load(environ=clean_environment(tmp_path)).config
    for _ in range(2):  # as hooks do that find no server: a service for each event
        with open_service(config, follow=False) as service:
            service.policies.engine(Context(session_id="s", cwd=str(project)))
            assert service.policies.all()[1].policy.status.refused
    with open_service(config, follow=False) as service:
        (record,) = search(service.store, Query(rule="project-loosening"), 10)
    assert (record.tool, record.decision, record.outcome, record.source) == ("policy", "deny", "denied", "policy")
    assert record.arguments == {"file": str(project / ".interpose" / "policy.yaml"), "line": 3, "rule": "let-me"}
    assert "let-me" in record.reason
