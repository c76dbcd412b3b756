"""What a process decides for others, with all its parts."""

from __future__ import annotations

from pathlib import Path

from interpose import Context, ToolCall, ToolOutcome
from tests.support.servers.servers import service_in

RULES = """
version: 1
rules:
  - id: customers
    on: { point: tool.after }
    when: result.text.contains("customer")
    action: redact
    redact: { pattern: "customer [0-9]+" }
"""


def test_a_call_that_breaks_a_projects_rules_gets_no_result_past_the_others(tmp_path: Path) -> None:
    """One command may spoil the project's file and print what the user's rules hold back."""
    work = tmp_path / "work"
    work.mkdir()
    with service_in(tmp_path / "state", RULES) as service:
        run = service.run(Context(cwd=str(work), session_id="s"))
        call = run.before(ToolCall("Bash", {"command": "make report"})).payload
        (work / ".interpose").mkdir()
        (work / ".interpose" / "policy.yaml").write_text("rules: [")
        later = service.run(Context(cwd=str(work / "new"), session_id="s"))
        done = later.after(ToolOutcome(call, "customer 4711"))
    assert done.after is not None
    assert (done.after.outcome, "4711" in str(done.response)) == ("deny", False)


def test_broken_rules_are_named_and_not_recited(tmp_path: Path) -> None:
    (tmp_path / "work" / ".interpose").mkdir(parents=True)
    rules = "".join(f"- {{id: r{number}, action: nonsense}}\n" for number in range(500))
    (tmp_path / "work" / ".interpose" / "policy.yaml").write_text(f"version: 1\nrules:\n{rules}")
    with service_in(tmp_path / "state") as service:
        verdict = service.run(Context(cwd=str(tmp_path / "work"))).before(ToolCall("Bash", {"command": "ls"}))
    assert verdict.reason.startswith("The rules of this project can't be loaded: ")
    assert "policy.yaml:3: this is no rule; `interpose policy lint`" in verdict.reason
    assert verdict.reason.endswith(" more)")
    assert len(verdict.reason) < 500
