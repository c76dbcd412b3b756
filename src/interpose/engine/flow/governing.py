"""The steps of governance in the flow of a call. What happens in them is the governor's; when, is said here.

    enter -> [pipeline: the rules look at the session] -> question -> admit -> [record, tool] -> finished

An engine that is not governed has no governor and takes none of these steps.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

from interpose.core.driving import Flow
from interpose.core.errors import text_of
from interpose.core.interceptor import Registration
from interpose.core.late_loggers import late_logger
from interpose.core.types import Command, Context, Deny, PermissionRequest, ToolCall, ToolOutcome, Verdict, refused
from interpose.engine.flow.own_steps import refusing

log = late_logger("interpose.governance")

UNAVAILABLE = "governance-unavailable"
"""The rule of calls that were refused because their session could not be read or charged."""
_UNTOLD = "Whether this is allowed can't be told"


SessionWords = Literal[
    "start", "resume", "clear", "compact", "compacted", "idle", "end", "due", "agent-start", "agent-stop"
]
"""What hosts tell of sessions: `compact` is about to happen, `compacted` has; `idle`: the agent waits for its user;
`due` is a place where agents read."""


class Governing(Protocol):
    """Who counts what interceptors can't: each step happens once for a call, and none of them when somebody only asks
    what would be decided, except `enter`, which then changes nothing."""

    def enter(self, call: ToolCall, *, only_look: bool) -> Flow[ToolCall]:
        """The call with its role and session in its context. Raises what keeps them from being known."""

    def enter_command(self, command: Command) -> Flow[Command]:
        """The same for a command of the host."""

    def commanded(self, verdict: Verdict[Command]) -> Flow[None]:
        """Called when a command was decided and recorded. Raises nothing that matters to the command."""

    def question(self, request: PermissionRequest) -> Flow[Deny | None]:
        """Called before a person is asked. A refusal if there is no question left."""

    def admit(self, verdict: Verdict[ToolCall]) -> Flow[Verdict[ToolCall]]:
        """Called when a call was decided, before it is recorded: it is charged, or refused. Raises what keeps it from
        being charged."""

    def finished(self, verdict: Verdict[ToolCall], outcome: ToolOutcome) -> Flow[None]:
        """Called when it is known what came of a call. Raises nothing that matters to the call."""

    def heard(self, context: Context, event: SessionWords, said: str = "") -> Flow[str]:
        """The host tells of a session. What the agent should be told of its role and rules; empty if nothing. `said` is
        what an agent answered that stopped."""

    def due(self, context: Context) -> Flow[str]:
        """What the agent of this session is still to be told, once; empty if nothing."""

    def rulebooks(self) -> tuple[Any, ...]:
        """The rulebooks that hold now."""

    def close(self) -> None:
        """Write what waits to be told."""

    def for_stranger(self) -> Governing:
        """The same for somebody who did not say who they are: it neither reads nor leaves anything of a session."""


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
