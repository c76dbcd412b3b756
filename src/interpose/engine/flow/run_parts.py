"""What runs and engines are made of: interceptors, tools, what keeps decisions, and what comes of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from interpose.core.driving import Flow, PendingRecord
from interpose.core.interceptor import Registration
from interpose.core.registry import Snapshot
from interpose.core.toolsets import ToolSet
from interpose.core.types import Deny, ToolCall, ToolOutcome, Verdict, refused
from interpose.engine.flow.status_lines import Verbose
from interpose.engine.flow.wire_log import WireLog
from interpose.people.approvals import StandingAnswer

if TYPE_CHECKING:
    # Loaded when there is a result, or somebody governs: whoever only decides has neither.
    from interpose.core.governing import Governing
    from interpose.engine.flow.streamed_calls import StreamedCall

Entries = tuple[Registration, ...]

Tool = Callable[[dict[str, Any]], Any]
"""What runs when a call is allowed. It gets the arguments as a dict of its own."""

NeedsConfirmation = Callable[[dict[str, Any]], bool | str]
"""A tool's own wish to be confirmed, asked with the arguments that it would really get."""


class Interceptors(Protocol):
    """A registry or a chain."""

    def snapshot(self) -> Snapshot:
        """The interceptors as they are now."""


class Recorder(Protocol):
    """Keeps what was decided and what came of it."""

    def decided(self, verdict: Verdict[ToolCall], /) -> PendingRecord | None:
        """Called before the tool runs. If it raises, or the record that it returns fails, the tool does not run."""

    def finished(
        self, verdict: Verdict[ToolCall], outcome: ToolOutcome, after: Verdict[ToolOutcome] | None, /
    ) -> PendingRecord | None:
        """Called when the outcome is known, with what tool.after said of it. The answer waits for the record."""


class ToolRun(Struct, frozen=True):
    """One call from question to answer. `response` is what the agent gets, `after` what tool.after said of it."""

    response: Any
    verdict: Verdict[ToolCall]
    outcome: ToolOutcome
    after: Verdict[ToolOutcome] | None = None
    streamed: StreamedCall | None = None
    """Of a result that comes piece by piece: its outcome, when that is known."""


class Functions(Protocol):
    """Tools that were registered by name."""

    def find(self, name: str) -> Any:
        """The tool of this name, by any agent's name for it: it has `execute` and `requires_confirmation`."""


class Parts(Protocol):
    """What an engine is made of."""

    interceptors: Interceptors
    standing: tuple[StandingAnswer, ...]
    recorder: Recorder | None
    tool_set: ToolSet
    shell_tools: frozenset[str]
    refuse_questions: bool
    verbose: Verbose
    sinks: tuple[Callable[[str], object], ...]
    wire: WireLog
    governor: Governing | None

    @property
    def functions(self) -> Functions:
        """The tools that run here by their names."""


Prepare = Callable[[ToolCall, Snapshot], Flow[tuple[ToolCall, Entries, Any]]]

RULE = "renamed-call"
"""The rule of calls that were rewritten to a tool that is not here to run."""


class Renaming:
    """What the pipeline asks when a rewrite names another tool, and what came of it."""

    __slots__ = ("_function", "_prepare", "_snapshot", "entries", "happened")

    def __init__(self, prepare: Prepare, snapshot: Snapshot, entries: Entries) -> None:
        self._prepare, self._snapshot, self.entries = prepare, snapshot, entries
        self._function: Any = None
        self.happened = False

    def __call__(self, call: ToolCall) -> Flow[tuple[ToolCall, Entries]]:
        """The call as the interceptors of its new tool see it, and who they are."""
        call, self.entries, self._function = yield from self._prepare(call, self._snapshot)
        self.happened = True
        return call, self.entries

    def runnable(self, verdict: Verdict[ToolCall]) -> Verdict[ToolCall]:
        """INVARIANT: what runs is what was judged. A call of a tool that is not here is refused, not run by another."""
        if self._function is not None or verdict.outcome == "deny":
            return verdict
        name = verdict.payload.name
        reason = (
            f"An interceptor rewrote this call to one of {name!r}, and there is no such tool here: register it with "
            "engine.add_tool, or rewrite the arguments alone with Transform(call.with_arguments({...}))"
        )
        return refused(verdict, Deny(reason, RULE))

    def execute(self, arguments: dict[str, Any]) -> Any:
        """Run the other tool."""
        return self._function.execute(arguments)

    def watching(self, entries: Entries) -> Entries:
        """All who saw the call, under its old name or its new one: they hear what came of it."""
        if not self.happened:
            return entries
        known = {id(entry) for entry in self.entries}
        return (*self.entries, *(entry for entry in entries if id(entry) not in known))
