"""What an interceptor is asked, and what it says. Read in all generations, written in the current one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from interpose.core.types import EMPTY
from interpose.rules.interceptor_protocol.descriptors import EventPhase, InterceptorDescriptor, InterceptorType

MessageSeverity = Literal["info", "warning", "error"]
SEVERITIES: tuple[MessageSeverity, ...] = ("info", "warning", "error")
MOST_MESSAGES = 100
LONGEST_MESSAGE = 4000


class MisansweredInvocationError(ValueError):
    """An interceptor said something that means nothing. The text says what."""


class InvocationContext(Struct, frozen=True, kw_only=True):
    """Who acts, as whoever invokes says."""

    session_id: str = ""
    principal_type: str = ""
    principal_id: str = ""
    trace_id: str = ""
    span_id: str = ""
    timestamp: str = ""
    caller: Any = None
    """Where it came from, for our own interceptors: what a credential proves stands there."""


class InterceptorInvocation(Struct, frozen=True, kw_only=True):
    """One event that an interceptor is asked about."""

    event: str
    phase: EventPhase
    payload: Any
    config: Mapping[str, Any] = EMPTY
    context: InvocationContext = InvocationContext()
    timeout: float | None = None
    """Seconds."""


class InterceptorMessage(Struct, frozen=True, omit_defaults=True):
    """One thing that a validator has to say."""

    message: str
    path: str = ""
    severity: MessageSeverity | None = None


class ValidationSaid(Struct, frozen=True, kw_only=True):
    """What a validator says. It changes nothing."""

    valid: bool = True
    severity: MessageSeverity | None = None
    messages: tuple[InterceptorMessage, ...] = ()
    suggestions: tuple[Mapping[str, Any], ...] = ()
    """What would be valid: `{"path": ..., "value": ...}`."""
    info: Mapping[str, Any] = EMPTY

    @property
    def blocks(self) -> bool:
        """INVARIANT: what is invalid without saying how badly is an error."""
        return not self.valid and self.severity in (None, "error")


class MutationSaid(Struct, frozen=True, kw_only=True):
    """What a mutator says: the whole new payload, or nothing."""

    payload: Any = UNSET
    info: Mapping[str, Any] = EMPTY

    @property
    def modified(self) -> bool:
        """Whether there is another payload."""
        return self.payload is not UNSET


class SinkSaid(Struct, frozen=True, kw_only=True):
    """What a sink says: that it has it."""

    recorded: bool = True
    info: Mapping[str, Any] = EMPTY


InterceptorSaid = ValidationSaid | MutationSaid | SinkSaid
KINDS: Mapping[InterceptorType, type] = {"validation": ValidationSaid, "mutation": MutationSaid, "sink": SinkSaid}


def denied(message: str, path: str = "", *, suggestions: Sequence[Mapping[str, Any]] = ()) -> ValidationSaid:
    """A refusal for one reason."""
    said = InterceptorMessage(message, path, "error")
    return ValidationSaid(valid=False, severity="error", messages=(said,), suggestions=tuple(suggestions))


def written_result(
    one: InterceptorDescriptor, asked: InterceptorInvocation, said: InterceptorSaid, milliseconds: int
) -> dict[str, Any]:
    """A result as the current generation has it."""
    result: dict[str, Any] = {"interceptor": one.name, "type": one.type, "phase": asked.phase}
    match said:
        case ValidationSaid():
            result["valid"] = said.valid
            if said.severity is not None:
                result["severity"] = said.severity
            if said.messages:
                result["messages"] = [_written_message(each) for each in said.messages]
            if said.suggestions:
                result["suggestions"] = [dict(each) for each in said.suggestions]
        case MutationSaid():
            result["modified"] = said.modified
            result["payload"] = said.payload if said.modified else asked.payload
        case SinkSaid():
            result["recorded"] = said.recorded
    result["durationMs"] = milliseconds
    if said.info:
        result["info"] = dict(said.info)
    return result


def _written_message(one: InterceptorMessage) -> dict[str, Any]:
    found = {"path": one.path, "message": one.message, "severity": one.severity}
    return {key: value for key, value in found.items() if value}


def read_result(one: InterceptorDescriptor, asked: InterceptorInvocation, value: object) -> InterceptorSaid:
    """What another program's interceptor said, in any generation. Raises MisansweredInvocationError."""
    result = _unnested(one.type, value)
    for key, own in (("interceptor", one.name), ("phase", asked.phase)):
        if result.get(key, own) != own:
            raise MisansweredInvocationError(f"it answered for another {key}")
    if result.get("type", one.type) not in (one.type, "observability" if one.type == "sink" else one.type):
        raise MisansweredInvocationError(f"a {one.type} interceptor answered as another type")
    info = result.get("info")
    told: Mapping[str, Any] = info if isinstance(info, dict) else EMPTY
    match one.type:
        case "validation":
            return _read_validation(result, told)
        case "mutation":
            return _read_mutation(result, asked, told)
        case "sink":
            return SinkSaid(recorded=result.get("recorded", True) is not False, info=told)


def _unnested(kind: InterceptorType, value: object) -> dict[str, Any]:
    """One SDK puts the result under the name of its type."""
    if not isinstance(value, dict):
        raise MisansweredInvocationError("the result is no object")
    inner = value.get(kind)
    if isinstance(inner, dict) and not value.keys() & {"valid", "modified", "recorded"}:
        return {key: each for key, each in value.items() if key != kind} | inner
    return value


def _read_validation(result: dict[str, Any], info: Mapping[str, Any]) -> ValidationSaid:
    valid = result.get("valid")
    if not isinstance(valid, bool):
        raise MisansweredInvocationError("a validation result says `valid`: true or false")
    suggestions = result.get("suggestions")
    return ValidationSaid(
        valid=valid, severity=_severity(result.get("severity")), messages=_messages(result.get("messages")),
        suggestions=tuple(each for each in (suggestions if isinstance(suggestions, list) else ())[:MOST_MESSAGES]
                          if isinstance(each, dict)),
        info=info,
    )  # fmt: skip


def _severity(value: object) -> MessageSeverity | None:
    """INVARIANT: a severity that nobody knows is the worst."""
    if value is None:
        return None
    return value if value in SEVERITIES else "error"


def _messages(value: object) -> tuple[InterceptorMessage, ...]:
    found: list[InterceptorMessage] = []
    for each in value[:MOST_MESSAGES] if isinstance(value, list) else ():
        if isinstance(each, str):
            found.append(InterceptorMessage(each[:LONGEST_MESSAGE]))
        elif isinstance(each, dict) and isinstance(each.get("message"), str):
            path = each.get("path")
            where = path[:500] if isinstance(path, str) else ""
            found.append(InterceptorMessage(each["message"][:LONGEST_MESSAGE], where, _severity(each.get("severity"))))
    return tuple(found)


def _read_mutation(result: dict[str, Any], asked: InterceptorInvocation, info: Mapping[str, Any]) -> MutationSaid:
    payload: Any | UnsetType = result.get("payload", UNSET)
    modified = result.get("modified", payload is not UNSET and payload != asked.payload)
    if not isinstance(modified, bool):
        raise MisansweredInvocationError("a mutation result says `modified`: true or false")
    if modified and payload is UNSET:
        raise MisansweredInvocationError("a mutation result that is modified has a payload")
    return MutationSaid(payload=payload if modified else UNSET, info=info)
