"""What was said about a command of an agent's host stands in the ledger: refusals, questions, warnings, bypasses.

Such a record looks like one of a call: its tool is `command`, its arguments are the command's name and its text. A
command about which nobody says anything has none, as a message has none: what it makes the agent do is recorded call
by call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from msgspec.structs import replace

from interpose.core.command_text import COMMAND_TOOL
from interpose.core.driving import Failure, Flow, Keep, PendingRecord, called
from interpose.core.types import Command, Decision, FrozenDict, ToolCall, ToolOutcome, Verdict
from interpose.engine.flow.observing import refused_outcome

_AS_COMMAND = FrozenDict()
"""Known by being itself: no call of an agent can carry this very object."""


def recorded_as_call(verdict: Verdict[Command]) -> Verdict[ToolCall]:
    """A verdict about a command as a recorder takes it."""
    command = verdict.payload
    # As a title: what a person typed, or a host expands, is no program, and must not be read as one.
    given = {"name": command.name, "title": f"/{command.name} {command.arguments}".rstrip()}
    call = ToolCall(COMMAND_TOOL, given, context=command.context, metadata=_AS_COMMAND)
    verdict_of_call: Verdict[Any] = replace(verdict, payload=call, original=None)
    return verdict_of_call


def is_command_record(call: ToolCall) -> bool:
    """Whether a recorded call stands for a command."""
    return call.metadata is _AS_COMMAND


Finished = Callable[[Verdict[ToolCall], ToolOutcome, None], PendingRecord | None]
Record = Callable[[Verdict[ToolCall]], Flow[Verdict[ToolCall]]]
"""Records a decision, and refuses what could not be recorded."""


def recorded_command(verdict: Verdict[Command], record: Record, finished: Finished) -> Flow[Verdict[Command]]:
    """INVARIANT (law 9): a command that somebody warned of, or let pass against a rule, does not go unrecorded."""
    came = recorded_as_call(verdict)
    kept = yield from record(came)
    if kept is not came:
        verdict = replace(
            verdict,
            outcome=kept.outcome,
            decision=cast("Decision[Command]", kept.decision),
            findings=kept.findings,
            decided_by=kept.decided_by,
        )
    if kept.outcome != "ask":  # who is asked has not answered yet
        ended: Any = called(finished, (kept, _outcome(kept), None))
        if ended is not None and type(ended) is not Failure:
            yield Keep(ended)
    return verdict


def _outcome(kept: Verdict[ToolCall]) -> ToolOutcome:
    """A command that was let through is its host's: we hear no more of it."""
    if not kept.allowed:
        return refused_outcome(kept)
    return ToolOutcome(kept.payload, {"status": "handed on"}, approver=kept.approver)
