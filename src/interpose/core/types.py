"""The values that cross layers: calls, contexts, decisions, verdicts, effects. Frozen, and standing on answers alone.

A changed call is a new object. Arguments are frozen deeply when a call is made, so an interceptor that tries to change
what it was shown gets an error instead of changing what others see.
"""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar, cast

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import force_setattr, replace

from interpose.core.answers import Approvers, Edited
from interpose.core.tool_names import normalize_tool_name
from interpose.effects.frozen_values import EMPTY, MAX_DEPTH, FrozenDict, FrozenList, freeze, same, thaw
from interpose.effects.values import Certainty, Effect, EffectKind

__all__ = [
    "AUDIT_UNAVAILABLE", "EMPTY", "INTERCEPTOR_ERROR", "MAX_DEPTH", "NOTHING_RAISED", "SEVERITY_WEIGHT", "Allow",
    "Certainty", "Claims", "Command", "Confirm", "Context", "Decision", "Deny", "Effect", "EffectKind", "Finding",
    "FrozenDict", "FrozenList", "HookPoint", "InterceptorKind", "Message", "Mode", "OnError", "Outcome", "Params",
    "PermissionRequest", "Raised", "Report", "Severity", "ToolCall", "ToolOutcome", "Transform", "Verdict", "freeze",
    "new_id", "refused", "same", "says_error", "thaw",
]  # fmt: skip

T = TypeVar("T")


class HookPoint(StrEnum):
    """Where an interceptor can stand."""

    MESSAGE_BEFORE = "message.before"
    PARAMS_BEFORE = "params.before"
    TOOL_BEFORE = "tool.before"
    PERMISSION_ASK = "permission.ask"
    TOOL_AFTER = "tool.after"
    COMMAND_BEFORE = "command.before"


OnError = Literal["deny", "ask", "allow"]
"""What an interceptor's failure means: `deny` refuses the call, `ask` asks a person, `allow` only notes it."""

Mode = Literal["enforce", "watch"]
"""`enforce` decides; `watch` says what it would have done and never blocks."""


# --- calls -----------------------------------------------------------------------------------------------------------


_ids: list[str] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ids.clear)  # or a child would give out the same ones


def new_id() -> str:
    """128 random bits in hex. Not `uuid`: its import costs more than a decision.

    Drawn many at once: each draw lets go of the interpreter lock, and getting it back from a busy thread takes longer
    than all the rest of a decision.
    """
    try:
        return _ids.pop()
    except IndexError:
        drawn = os.urandom(16 * 256).hex()
        _ids.extend(drawn[at : at + 32] for at in range(32, len(drawn), 32))
        return drawn[:32]


class Claims(Struct, frozen=True, eq=False, kw_only=True):
    """What a caller says of itself that nothing proves: for the record alone.

    INVARIANT: all claims are equal, so nothing can be found, remembered or granted by one.
    """

    session: str = ""
    principal: str = ""
    client: str = ""

    def __eq__(self, other: object) -> bool:
        return type(other) is Claims or other is UNSET

    def __hash__(self) -> int:
        return 0


class Context(Struct, frozen=True, kw_only=True):
    """Who acts, and where. The same in every event of a run."""

    session_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    """What kind of agent it is, as its host says it: the name of a sub-agent, or of a configured main agent."""
    role: str = ""
    principal: str = ""
    cwd: str = ""
    trace_id: str = ""
    span_id: str = ""
    """The span of the trace in which the call was asked for."""
    source: str = "library"
    request_id: str = ""
    """The caller's own name for the request in which the call came; it finds the record."""
    claimed: str = ""
    """For whom the caller says that it acts. No rule goes by it: `principal` is what a credential proves."""
    claims: Any = UNSET
    """`Claims`: what an anonymous caller says of itself, and what any caller calls itself. Kept, and never read.

    The type is open, so that a context can be made of a dict of texts."""
    unseen_input: str = ""
    """The tool that types into what already runs there, if nobody is asked about it."""
    search_path: str = ""
    """The PATH of the process that asks, where it is known: which program a bare name stands for."""

    @staticmethod
    def of_session_key(key: str, **fields: str) -> Context:
        """The context of a session key. `agent:<id>:...` names its agent; any other key belongs to `main`."""
        parts = key.split(":")
        agent = parts[1] if len(parts) >= 2 and parts[0] == "agent" and parts[1] else "main"
        return Context(**{"session_id": key, "agent_id": agent} | fields)


class ToolCall(Struct, frozen=True, dict=True):
    """One tool call. `name` is canonical (`Bash` becomes `exec`); `original_name` is what the agent said.

    Two calls are equal when everything but the `call_id` is: that is drawn at random.
    Beside its fields a call carries what was worked out about it (reading/), which is no part of its value.
    """

    name: str
    arguments: dict[str, Any] = field(default_factory=FrozenDict)
    call_id: str = field(default_factory=new_id)
    context: Context = Context()
    metadata: dict[str, Any] = EMPTY
    original_name: str = ""

    def __post_init__(self) -> None:
        name, given = cast("tuple[object, object]", (self.name, self.arguments))
        if not isinstance(name, str):
            raise TypeError(f"the name of a tool must be a str, not {type(name).__name__}")
        if not self.original_name:
            force_setattr(self, "original_name", name)
            force_setattr(self, "name", normalize_tool_name(name))
        if type(given) is not FrozenDict:
            if not isinstance(given, dict):
                raise TypeError(f"the arguments of tool {self.name!r} must be a dict, not {type(given).__name__}")
            force_setattr(self, "arguments", freeze(given))

    def __eq__(self, other: object) -> bool:
        # For users and their tests. INVARIANT: nothing of ours joins, caches or approves calls by it.
        return type(other) is ToolCall and self._value() == other._value()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._value())

    def _value(self) -> tuple[object, ...]:
        return (self.name, self.original_name, self.arguments, self.context, self.metadata)

    def is_tool(self, *names: str) -> bool:
        """Whether this is a call of one of these tools, whichever agent's names they are: `file_write` is `write`."""
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"is_tool takes names, one after the other: is_tool('write', 'edit'), not {name!r}")
        return any(self.name == normalize_tool_name(name) for name in names)

    def with_arguments(self, arguments: dict[str, Any]) -> ToolCall:
        """The same call with other arguments."""
        return ToolCall(self.name, arguments, self.call_id, self.context, self.metadata, self.original_name)


class Raised(tuple[BaseException, ...]):
    """Exceptions, kept for programs. They are not asked how they would like to be shown: that can raise anything."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} raised>"


NOTHING_RAISED = Raised()


def says_error(result: Any) -> bool:
    """Whether a result that was given and not raised is one of a failure."""
    whole = issubclass(type(result), dict)
    if _field(result, "isError") is True or _field(result, "is_error") is True or (whole and result.get("error")):
        return True
    metadata = _field(result, "metadata")
    return issubclass(type(metadata), dict) and metadata.get("error") is not None


def _field(value: Any, name: str) -> Any:
    """A field of a mapping, or of a value of a tool's own class: reading that may run the class's code."""
    try:
        return value.get(name) if issubclass(type(value), dict) else getattr(value, name, None)
    except Exception:  # noqa: BLE001 - a result that can't be read says nothing
        return None


class ToolOutcome(Struct, frozen=True):
    """What became of a call, as `tool.after` and `observe` see it. A `denied` call never ran.

    `approver` is who answered yes, if a question was asked.
    """

    call: ToolCall
    result: Any = None
    is_error: bool = False
    denied: bool = False
    duration_ns: int = 0
    approver: str = ""
    errors: Raised = NOTHING_RAISED
    """What the tool raised, or the interceptors that refused the call by failing. For programs; records have texts."""

    @property
    def error(self) -> BaseException | None:
        """The first of them."""
        return self.errors[0] if self.errors else None

    @property
    def failed(self) -> bool:
        """Whether the agent got nothing good: the tool failed, or its result says so itself (`isError` of MCP,
        `error`, `metadata.error`)."""
        return self.is_error or says_error(self.result)


class Message(Struct, frozen=True):
    """A message on its way to the agent, with the run's metadata bag."""

    text: str
    metadata: dict[str, Any] = EMPTY
    context: Context = Context()
    provider: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "metadata", freeze(self.metadata))


class Params(Struct, frozen=True, kw_only=True):
    """The model parameters of a run. `None` means unset; `extras` carries what we have no field for."""

    model: str | None = None
    provider: str | None = None
    think_level: str | None = None
    reasoning_level: str | None = None
    temperature: float | None = None
    extras: dict[str, Any] = EMPTY
    message: str = ""
    metadata: dict[str, Any] = EMPTY
    context: Context = Context()

    def __post_init__(self) -> None:
        force_setattr(self, "extras", freeze(self.extras))


class Command(Struct, frozen=True):
    """A command of an agent's host on its way: `/review 12` is `review` with the arguments `12`."""

    name: str
    arguments: str = ""
    context: Context = Context()
    metadata: dict[str, Any] = EMPTY


class PermissionRequest(Struct, frozen=True):
    """A question on its way to a person. `message` may be reworded; what is asked about may not change."""

    message: str
    subject: Any = None
    findings: tuple[Finding, ...] = ()
    original: Any = None
    """What came in, if what is asked about was made of it."""

    @property
    def tool(self) -> str:
        """The tool that is asked about; empty when the question is about a message or parameters."""
        return self.subject.name if isinstance(self.subject, ToolCall) else ""

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that the tool would really get."""
        return self.subject.arguments if isinstance(self.subject, ToolCall) else EMPTY


INTERCEPTOR_ERROR = "interceptor-error"
"""The rule of what was refused or asked because an interceptor failed."""

AUDIT_UNAVAILABLE = "audit_unavailable"
"""The rule of calls that were refused because they could not be recorded."""


# --- decisions -------------------------------------------------------------------------------------------------------

Severity = Literal["info", "warning", "error", "critical"]

SEVERITY_WEIGHT: dict[Severity, int] = {"info": 0, "warning": 1, "error": 2, "critical": 3}
"""How much each word weighs, wherever the worst of several is looked for."""


class Allow(Struct, frozen=True):
    """No objection."""


class Transform(Struct, Generic[T], frozen=True):
    """Go on with `payload` instead."""

    payload: T
    reason: str = ""
    rule: str = ""
    detail: str = ""
    """More than the reason says by itself, such as a judge's own words."""


class Confirm(Struct, frozen=True):
    """A person must agree."""

    message: str
    rule: str = ""
    severity: Severity = "warning"
    part: str = ""
    instead: str = ""
    detail: str = ""
    """More than the reason says by itself, such as a judge's own words."""
    summary: str = ""
    """The reason without its detail. Empty means the reason itself."""
    approvers: Approvers | UnsetType = UNSET
    """Who must agree, where it is not enough that anybody does."""


class Deny(Struct, frozen=True):
    """This must not happen."""

    reason: str
    rule: str = ""
    severity: Severity = "error"
    part: str = ""
    instead: str = ""
    detail: str = ""
    summary: str = ""


Decision = Allow | Transform[T] | Confirm | Deny


InterceptorKind = Literal["guard", "cel", "ai", "governance"]
"""What kind of interceptor speaks: code, a rule in CEL, a rule that a model judges, or a rule of governance."""


class Finding(Struct, frozen=True, kw_only=True):
    """One interceptor's contribution to a verdict."""

    interceptor: str
    said: Literal["deny", "ask", "rewrite", "error", "note"]
    reason: str
    rule: str = ""
    severity: Severity = "warning"
    part: str = ""
    instead: str = ""
    mode: Mode = "enforce"
    detail: str = ""
    summary: str = ""
    kind: InterceptorKind = "guard"
    approvers: Approvers | UnsetType = UNSET


class Report(Struct, Generic[T], frozen=True):
    """What an interceptor says that has more to say than one decision, such as a policy of many rules.

    Each decision counts as if it were said alone. Notes are findings that decide nothing. `policy` is the revision of
    the rules that were asked.
    """

    decisions: tuple[Decision[T], ...] = ()
    notes: tuple[Finding, ...] = ()
    policy: str = ""


Outcome = Literal["allow", "rewrite", "ask", "deny"]


class Verdict(Struct, Generic[T], frozen=True, kw_only=True):
    """What the pipeline says after all interceptors.

    `outcome` is the word for `decision`: `ask` means that a person still has to agree, `rewrite` that `payload` is not
    the payload that came in (`original` is). `approver` says who answered a question, if one was asked; `approval` is
    the id of a question that waits in the queue.
    """

    outcome: Outcome
    decision: Decision[T]
    payload: T
    findings: tuple[Finding, ...] = ()
    questions: tuple[str, ...] = ()
    rewritten: bool = False
    approver: str = ""
    elapsed_ns: int = 0
    policy: str = ""
    """The revision of the policy that was asked; several are joined by `+`, none is empty."""
    timings: tuple[tuple[str, int], ...] = ()
    """Nanoseconds per interceptor, in the order in which they ran."""
    original: T | None = None
    approval: str = ""
    errors: Raised = NOTHING_RAISED
    """What interceptors raised. Each is a finding, too."""
    decided_by: Finding | None = None
    """What the decision is made of: the refusal, the first question, the last rewrite. None if nobody objected."""
    word: str = ""
    """What the person who answered, or put the answer off, says to the agent."""
    edit: Edited | None = None
    """The question was answered by another call: the flow decides about that one. With this alone nothing runs."""

    @property
    def allowed(self) -> bool:
        """Whether the call may run now."""
        return self.outcome == "allow" or self.outcome == "rewrite"

    @property
    def may_run_unseen(self) -> bool:
        """Whether the call may run without our hearing of it again: it is allowed, or another asks the person."""
        return self.allowed or (self.outcome == "ask" and not self.approval)

    @property
    def rule(self) -> str:
        """The rule that decided; of a verdict that no rule decided, the first that had something to say."""
        if self.decided_by is not None and self.decided_by.rule:
            return self.decided_by.rule
        return next((found.rule for found in self.findings if found.rule), "")

    @property
    def instead(self) -> str:
        """What would be safer, if whoever decided knows it."""
        match self.decision:
            case Deny(instead=instead) | Confirm(instead=instead):
                return instead
            case Transform() | Allow():
                return ""

    @property
    def reason(self) -> str:
        """Why, in words for the agent: empty when nothing was said."""
        match self.decision:
            case Deny(reason=reason) | Transform(reason=reason):
                return reason
            case Confirm(message=message):
                return message
            case Allow():
                return ""


def refused(verdict: Verdict[T], deny: Deny, *, by: str = "interpose") -> Verdict[T]:
    """The verdict turned into a refusal that no interceptor gave."""
    said = Finding(
        interceptor=by, said="deny", reason=deny.reason, rule=deny.rule, severity=deny.severity, part=deny.part,
        instead=deny.instead,
    )  # fmt: skip
    return replace(verdict, outcome="deny", decision=deny, findings=(*verdict.findings, said), decided_by=said)
