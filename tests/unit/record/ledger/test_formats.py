"""Records in the shapes that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interpose.composition.build import open_ledger
from interpose.core.types import Allow, Context, Decision, Deny, ToolCall, ToolOutcome, Transform
from interpose.engine.engine import Engine
from interpose.record.ledger import shapes
from interpose.record.ledger.record import Record
from tests.support.ledgers import all_records, guarded

COMMAND = 'gh pr create --title "Feature X"'


@pytest.fixture
def record(tmp_path: Path) -> Record:
    context = Context(session_id="session-abc123", principal="user:developer@example.com", trace_id="t1")
    call = ToolCall("Bash", {"command": COMMAND}, "req-1", context)
    with open_ledger(tmp_path) as ledger:
        Engine(guarded(), recorder=ledger.recorder).run_tool(call, lambda _arguments: {"exit_code": 0})
        ledger.flush()
        (found,) = all_records(ledger.store)
        return found


def shape(value: Any) -> Any:
    """The keys of nested data."""
    return {key: shape(item) for key, item in value.items()} if isinstance(value, dict) else None


def test_the_entry_of_the_intercept_endpoint(record: Record) -> None:
    (entry,) = shapes(record, "intercept")
    assert entry.pop("timestamp").endswith("Z")
    assert isinstance(entry.pop("duration_ms"), int)
    assert entry == {
        "source": "intercept",
        "phase": "request_validation",
        "tool": {"name": "Bash", "arguments": {"command": COMMAND}},
        "context": {
            "sessionId": "session-abc123",
            "traceId": "t1",
            "principal": {"type": "user", "id": "developer@example.com"},
        },
        "decision": "allow",
    }


def test_the_entry_of_maybe_dont(record: Record) -> None:
    (entry,) = shapes(record, "maybe-dont")
    assert list(entry) == [
        "source", "validation_started", "created_at", "tool", "upstream_request", "request_validation",
        "recommended_action", "action", "action_reason", "duration_ms", "total_blocked_ms", "cli",
    ]  # fmt: skip
    assert entry["cli"]["command"] == "gh"
    assert entry["action"] == "allow"
    assert entry["upstream_request"]["session_id"] == "session-abc123"
    assert list(shape(entry["request_validation"])["cel"]) == [
        "action", "blocked_ms", "evaluation_ms", "deciding_rule", "reason", "results",
    ]  # fmt: skip


def test_the_whole_record(record: Record) -> None:
    (entry,) = shapes(record, "record")
    assert entry["outcome"] == "success"
    assert entry["exit_code"] == 0
    assert entry["timings"][0][0] == "no-rm"


class Looks:
    """Says something about results: keeps one back, changes another."""

    def intercept(self, outcome: ToolOutcome) -> Decision[ToolOutcome]:
        match outcome.result:
            case "poison":
                return Deny("An instruction is hidden in it.", rule="injection")
            case "long":
                return Transform(replace(outcome, result="short"), "cut")
            case _:
                return Allow()


class Tames:
    def intercept(self, call: ToolCall) -> Decision[ToolCall]:
        return (
            Transform(call.with_arguments({"command": "ls --safe"})) if "ls" in call.arguments["command"] else Allow()
        )


def looked_at(directory: Path, command: str, result: Any, **context: str) -> Record:
    """The record of a call whose result was looked at."""
    registry = guarded()
    registry.add(id="tames", name="tool.before", interceptor=Tames())
    registry.add(id="looks", name="tool.after", interceptor=Looks())
    call = ToolCall("exec", {"command": command}, context=Context(session_id="s1", **context))
    with open_ledger(directory) as ledger:
        Engine(registry, recorder=ledger.recorder).run_tool(call, lambda _arguments: result)
        ledger.flush()
        (found,) = all_records(ledger.store)
        return found


PHASES = [
    ("a result that is handed on", "echo", "fine", ["allow", "allow"], ("allow", "")),
    ("one that is withheld", "echo", "poison", ["allow", "deny"], ("deny", "response_policy")),
    ("one that is changed", "echo", "long", ["allow", "allow"], ("redact", "response_policy")),
    ("a refused call has no result", "rm -rf /", "", ["deny"], ("deny", "request_policy")),
]


@pytest.mark.parametrize(("note", "command", "result", "decisions", "action"), PHASES, ids=[case[0] for case in PHASES])
def test_each_phase_of_a_call(
    tmp_path: Path, note: str, command: str, result: str, decisions: list[str], action: tuple[str, str]
) -> None:
    record = looked_at(tmp_path, command, result)
    entries = shapes(record, "intercept")
    assert [entry["decision"] for entry in entries] == decisions, note
    assert [entry["phase"] for entry in entries] == ["request_validation", "response_validation"][: len(decisions)]
    (long,) = shapes(record, "maybe-dont")
    assert (long["action"], long["action_reason"]) == action
    assert ("response_validation" in long) == (len(decisions) == 2)
    if result == "poison":
        said = long["response_validation"]["cel"]
        assert (said["action"], said["deciding_rule"]) == ("deny", "injection")
        assert said["results"][0]["rule"] == "injection"
        assert long["request_validation"]["cel"]["action"] == "allow"


SOURCES = [("library", "intercept"), ("http", "intercept"), ("hook", "intercept"), ("hook:claude-code", "intercept"),
           ("cli", "cli"), ("action", "action"), ("mcp", "mcp"), ("", "intercept")]  # fmt: skip


@pytest.mark.parametrize(("source", "want"), SOURCES)
def test_where_a_call_came_from(tmp_path: Path, source: str, want: str) -> None:
    record = looked_at(tmp_path, "echo", "fine", source=source)
    assert {entry["source"] for entry in (*shapes(record, "intercept"), *shapes(record, "maybe-dont"))} == {want}


def test_the_call_that_came_in_stands_beside_the_one_that_ran(tmp_path: Path) -> None:
    record = looked_at(tmp_path, "ls", "fine")
    for entry in shapes(record, "intercept"):
        assert entry["tool"]["arguments"] == {"command": "ls --safe"}
        assert entry["tool"]["original_arguments"] == {"command": "ls"}
    (long,) = shapes(record, "maybe-dont")
    assert (long["tool"]["params"], long["tool"]["original_params"]) == ({"command": "ls --safe"}, {"command": "ls"})
    assert long["action"] == "allow"
