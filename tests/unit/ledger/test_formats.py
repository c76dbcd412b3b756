"""Records in the shapes that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpose.build import open_ledger
from interpose.engine import Engine
from interpose.ledger import shaped
from interpose.ledger.record import Record
from interpose.types import Context, ToolCall
from tests.ledgers import all_records, guarded

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


def test_the_entry_of_the_seed(record: Record) -> None:
    entry = shaped(record, "seed")
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
    entry = shaped(record, "maybe-dont")
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
    entry = shaped(record, "record")
    assert entry["outcome"] == "success"
    assert entry["exit_code"] == 0
    assert entry["timings"][0][0] == "no-rm"
