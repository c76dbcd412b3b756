"""What becomes of a call, and showing it to those who asked to see it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from interpose.core.driving import Failure, Flow, ask, called
from interpose.core.errors import logged, text_of
from interpose.core.interceptor import Registration
from interpose.core.points import BLOCKED
from interpose.core.types import Finding, ToolCall, ToolOutcome, Verdict

if TYPE_CHECKING:
    from interpose.engine.flow.result_streams import TextFilter


def observe_all(entries: Iterable[Registration], payload: Any, outcome: Any) -> Flow[tuple[Finding, ...]]:
    """Call `observe` of all, in order. A failing one is noted and stops nobody."""
    findings: list[Finding] = []
    for entry in entries:
        if entry.observe is None:
            continue
        answer = yield from ask(entry, entry.observe, payload, outcome)
        if type(answer) is Failure:
            _warn(entry.id, logged(answer.error, entry.id))
            reason = f"observe failed: {text_of(answer.error)}"
            findings.append(Finding(interceptor=entry.id, said="error", reason=reason, mode=entry.mode))
    return tuple(findings)


def _warn(id: str, error: BaseException) -> None:
    import logging

    logging.getLogger("interpose").warning("%s: observe failed: %s", id, text_of(error))


def outcome_of(call: ToolCall, answer: Any, duration_ns: int, approver: str) -> ToolOutcome:
    """The outcome of a call that ran: what its tool gave, or its failure."""
    if type(answer) is Failure:
        from interpose.engine.flow.streamed_calls import failed_outcome

        return failed_outcome(call, answer.error, duration_ns, approver)
    return ToolOutcome(call, answer, duration_ns=duration_ns, approver=approver)


def refused_outcome(verdict: Verdict[ToolCall], reason: str = "") -> ToolOutcome:
    """The outcome of a call that did not run."""
    call = verdict.payload
    blocked = {"status": "blocked", "tool": call.name, "reason": reason or verdict.reason or BLOCKED}
    if verdict.instead:
        blocked["instead"] = verdict.instead
    return ToolOutcome(call, blocked, is_error=True, denied=True, errors=verdict.errors)


def never(entries: Iterable[Registration], call: ToolCall) -> str:
    """Why a tool is refused whatever its arguments are; empty if nobody can say so by its name alone."""
    for entry in entries:
        says = getattr(entry.handler, "never", None)
        if entry.mode == "enforce" and not entry.is_observer and callable(says):
            reason = called(says, (call,))
            if isinstance(reason, str) and reason:
                return reason
    return ""


def not_available(call: ToolCall) -> str:
    """Why a call of a tool is refused that its agent does not have."""
    return f"Tool '{call.name}' is not available to this agent"


def text_filters(after: Sequence[Registration], call: ToolCall) -> list[tuple[Registration, TextFilter]]:
    """Who looks at the text of a result as it passes."""
    return [
        (entry, cast("Any", entry.handler).text_filter(call))
        for entry in after
        if entry.mode == "enforce" and hasattr(entry.handler, "text_filter")
    ]


RECORD = "interpose:record"
UNSEEN = Finding(
    interceptor=RECORD, said="note", rule="undecided", reason="The call was not decided here before it ran"
)
"""What a record of a result says whose call nobody decided here."""
