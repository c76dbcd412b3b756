"""What governs sessions, as the flow of a call sees it: a protocol, and the words that hosts tell of sessions."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from interpose.core.driving import Flow
from interpose.core.types import Command, Context, Deny, PermissionRequest, ToolCall, ToolOutcome, Verdict

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
