"""The steps of governance in the flow of a call. What happens in them is the governor's; when, is said here.

    enter -> [pipeline: the rules look at the session] -> question -> admit -> [record, tool] -> finished

An engine that is not governed has no governor and takes none of these steps.
"""

from __future__ import annotations

from interpose.core.driving import Flow
from interpose.core.errors import text_of
from interpose.core.governing import Governing, SessionWords
from interpose.core.interceptor import Registration
from interpose.core.late import late_logger
from interpose.core.types import Command, Context, Deny, ToolCall, ToolOutcome, Verdict, refused
from interpose.engine.flow.own_steps import refusing

log = late_logger("interpose.governance")

UNAVAILABLE = "governance-unavailable"
"""The rule of calls that were refused because their session could not be read or charged."""
_UNTOLD = "Whether this is allowed can't be told"

Entries = tuple[Registration, ...]


def entered(
    governor: Governing, call: ToolCall, entries: Entries, *, only_look: bool = False
) -> Flow[tuple[ToolCall, Entries]]:
    """The call in its governed session, and who has a say in it. INVARIANT: whose session can't be known is refused."""
    try:
        return (yield from governor.enter(call, only_look=only_look)), entries
    except Exception as error:  # noqa: BLE001 - as above, whatever keeps it from being known
        return call, (refusing(f"{_UNTOLD}: {text_of(error)}", UNAVAILABLE), *entries)


def entered_command(governor: Governing | None, command: Command, entries: Entries) -> Flow[tuple[Command, Entries]]:
    """The same for a command of the host. It stays as it is where nobody governs."""
    if governor is None:
        return command, entries
    try:
        return (yield from governor.enter_command(command)), entries
    except Exception as error:  # noqa: BLE001 - as above
        return command, (refusing(f"{_UNTOLD}: {text_of(error)}", UNAVAILABLE), *entries)


def counted_command(governor: Governing | None, verdict: Verdict[Command]) -> Flow[None]:
    """Let the session know of a command that was decided. What is not known of one opens nothing."""
    if governor is None:
        return
    try:
        yield from governor.commanded(verdict)
    except Exception as error:  # noqa: BLE001 - it is decided: what waits for its success only waits on
        log.warning("the command %r could not be noted in its session: %s", verdict.payload.name[:100], text_of(error))


def admitted(governor: Governing, verdict: Verdict[ToolCall]) -> Flow[Verdict[ToolCall]]:
    """The verdict when it was charged. INVARIANT: what can't be charged does not run."""
    try:
        return (yield from governor.admit(verdict))
    except Exception as error:  # noqa: BLE001 - as above
        if not verdict.may_run_unseen:
            return verdict
        return refused(verdict, Deny(f"{_UNTOLD}: {text_of(error)}", UNAVAILABLE), by="interpose:governance")


def counted(governor: Governing, verdict: Verdict[ToolCall], outcome: ToolOutcome) -> Flow[None]:
    """Let the session know what came of a call. The call has run: nothing is refused any more."""
    try:
        yield from governor.finished(verdict, outcome)
    except Exception as error:  # noqa: BLE001 - the next call meets the same store, and is refused
        log.warning("what came of %s could not be counted in its session: %s", outcome.call.name, text_of(error))


_OF_SUB_AGENTS: dict[SessionWords, SessionWords] = {
    "start": "agent-start", "resume": "agent-start", "clear": "agent-start", "compacted": "agent-start",
    "end": "agent-stop", "due": "due",
}  # fmt: skip
"""What a program says of a sub-agent, for the session: that goes on when one of them begins or ends."""


def session_told(governor: Governing | None, context: Context, said: SessionWords) -> Flow[str]:
    """What an agent should read when its program says so of its session; empty if nothing, or if nobody governs it."""
    below = bool(context.agent_id and context.agent_type)
    event = _OF_SUB_AGENTS.get(said) if below else said
    if governor is None or event is None:
        return ""
    try:
        return (yield from governor.heard(context, event))
    except Exception as error:  # noqa: BLE001 - it only informs: the next call meets the same store, and is refused
        log.warning("what happened in the session %r could not be noted: %s", context.session_id[:100], text_of(error))
        return ""
