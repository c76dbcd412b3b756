"""What becomes of a call, as observers and records see it."""

from __future__ import annotations

from typing import Any

from interpose.driving import Failure
from interpose.points import BLOCKED
from interpose.types import ToolCall, ToolOutcome, Verdict


def outcome_of(call: ToolCall, answer: Any, duration_ns: int, approver: str) -> ToolOutcome:
    """The outcome of a call that ran: what its tool gave, or its failure."""
    if type(answer) is Failure:
        from interpose.flow.streamed_calls import failed_outcome

        return failed_outcome(call, answer.error, duration_ns, approver)
    return ToolOutcome(call, answer, duration_ns=duration_ns, approver=approver)


def refused_outcome(verdict: Verdict[ToolCall], reason: str = "") -> ToolOutcome:
    """The outcome of a call that did not run."""
    call = verdict.payload
    blocked = {"status": "blocked", "tool": call.name, "reason": reason or verdict.reason or BLOCKED}
    if verdict.instead:
        blocked["instead"] = verdict.instead
    return ToolOutcome(call, blocked, is_error=True, denied=True, errors=verdict.errors)
