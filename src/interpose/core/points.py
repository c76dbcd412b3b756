"""The hook points: what flows through each, what a rewrite there may change, and what handlers see of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.errors import InvalidModificationError, name_of
from interpose.core.tool_names import normalize_tool_name
from interpose.core.types import (
    Allow,
    Command,
    Confirm,
    Context,
    Decision,
    Deny,
    FrozenDict,
    HookPoint,
    Message,
    Params,
    PermissionRequest,
    ToolCall,
    ToolOutcome,
    Transform,
    Verdict,
    freeze,
    same,
    thaw,
)

P = TypeVar("P")

BLOCKED = "Blocked by interceptor"
PARAM_FIELDS: Mapping[str, str] = {
    "model": "model",
    "provider": "provider",
    "think_level": "thinkLevel",
    "reasoning_level": "reasoningLevel",
    "temperature": "temperature",
}
"""The fields that params.before may set, and what status lines call them."""

_UNREAD: Any = object()


class _Input:
    """What a handler is told. Properties without setters: it can't be changed."""

    __slots__ = ("_payload",)

    def __init__(self, payload: Any) -> None:
        self._payload = payload

    @property
    def context(self) -> Context:
        return cast("Context", self._payload.context)

    @property
    def metadata(self) -> dict[str, Any]:
        """The run's metadata bag, read-only here."""
        return cast("dict[str, Any]", self._payload.metadata)

    @property
    def agent_id(self) -> str:
        return self.context.agent_id

    @property
    def session_id(self) -> str:
        return self.context.session_id

    @property
    def cwd(self) -> str:
        return self.context.cwd


class ToolBeforeInput(_Input):
    """The call that is about to run."""

    __slots__ = ()

    @property
    def tool_name(self) -> str:
        return cast("str", self._payload.name)

    @property
    def tool_call_id(self) -> str:
        return cast("str", self._payload.call_id)


class ToolAfterInput(_Input):
    """The call that ran, or was denied."""

    __slots__ = ()

    @property
    def context(self) -> Context:
        return cast("Context", self._payload.call.context)

    @property
    def metadata(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self._payload.call.metadata)

    @property
    def tool_name(self) -> str:
        return cast("str", self._payload.call.name)

    @property
    def tool_call_id(self) -> str:
        return cast("str", self._payload.call.call_id)

    @property
    def args(self) -> dict[str, Any]:
        """The arguments that the tool really got."""
        return cast("dict[str, Any]", self._payload.call.arguments)

    @property
    def is_error(self) -> bool:
        return cast("bool", self._payload.is_error)

    @property
    def denied(self) -> bool:
        return cast("bool", self._payload.denied)


class MessageBeforeInput(_Input):
    """The run that a message starts."""

    __slots__ = ()

    @property
    def provider(self) -> str:
        return cast("str", self._payload.provider)

    @property
    def model(self) -> str:
        return cast("str", self._payload.model)


class ParamsBeforeInput(_Input):
    """The run whose parameters are chosen."""

    __slots__ = ()

    @property
    def message(self) -> str:
        """The message as message.before left it."""
        return cast("str", self._payload.message)


class CommandBeforeInput(_Input):
    """The command that the agent's host is about to run. Nothing of it can be changed: it is let through or refused."""

    __slots__ = ()

    @property
    def command_name(self) -> str:
        return cast("str", self._payload.name)

    @property
    def arguments(self) -> str:
        return cast("str", self._payload.arguments)


class PermissionAskInput(_Input):
    """The question, and the call that it is about."""

    __slots__ = ()

    @property
    def context(self) -> Context:
        return cast("Context", getattr(self._payload.subject, "context", Context()))

    @property
    def metadata(self) -> dict[str, Any]:
        return cast("dict[str, Any]", getattr(self._payload.subject, "metadata", FrozenDict()))

    @property
    def tool_name(self) -> str:
        return cast("str", self._payload.tool)

    @property
    def args(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self._payload.arguments)


class _Output:
    """What a handler may change. `block` refuses, `ask` asks a person; both win over a change."""

    __slots__ = ("_payload", "_shown", "ask", "block", "block_reason")

    def __init__(self, payload: Any) -> None:
        self._payload = payload
        self._shown = False
        self.block: bool = False
        self.block_reason: str | None = None
        self.ask: str | None = None

    def show(self, verdict: Verdict[Any]) -> None:
        """Let an observer see what was decided. What it only finds there is no decision of its own."""
        match verdict.decision:
            case Deny(reason=reason):
                self.block, self.block_reason, self._shown = True, reason, True
            case Confirm(message=message):
                self.ask, self._shown = message, True
            case Allow() | Transform():
                pass

    def decision(self) -> Decision[Any]:
        """What the handler said, read from what it left behind."""
        if (objection := self.objection()) is not None:
            return objection
        changed = self.changed()
        return Allow() if changed is None else Transform(changed)

    def objection(self) -> Deny | Confirm | None:
        """The refusal or the question that the handler left behind, not one that it was shown."""
        if self.block and not self._shown:
            return Deny(str(self.block_reason or BLOCKED))
        return Confirm(str(self.ask)) if self.ask and not self._shown else None

    def changed(self) -> Any | None:
        """The new payload, or None if the handler left it alone."""
        return None


class ToolBeforeOutput(_Output):
    """`args` is a copy of its own for each handler, made when it is first looked at."""

    __slots__ = ("_args",)

    def __init__(self, payload: Any) -> None:
        self._payload = payload
        self.block = self._shown = False
        self.block_reason = self.ask = None
        self._args: Any = _UNREAD

    @property
    def args(self) -> dict[str, Any]:
        if self._args is _UNREAD:
            self._args = thaw(self._payload.arguments)
        return cast("dict[str, Any]", self._args)

    @args.setter
    def args(self, value: dict[str, Any]) -> None:
        self._args = value

    def changed(self) -> ToolCall | None:
        args, call = self._args, self._payload
        if args is _UNREAD or same(args, call.arguments):
            return None
        if not isinstance(args, dict):
            raise InvalidModificationError(f"output.args must be a dict, not {type(args).__name__}")
        return cast("ToolCall", call.with_arguments(args))


class ToolAfterOutput(_Output):
    """`result` may be changed in place or replaced."""

    __slots__ = ("_result",)

    def __init__(self, payload: Any) -> None:
        super().__init__(payload)
        self._result: Any = _UNREAD

    @property
    def result(self) -> Any:
        if self._result is _UNREAD:
            self._result = thaw(self._payload.result)
        return self._result

    @result.setter
    def result(self, value: Any) -> None:
        self._result = value

    def changed(self) -> ToolOutcome | None:
        if self._result is _UNREAD or same(self._result, self._payload.result):
            return None
        return cast("ToolOutcome", replace(self._payload, result=freeze(self._result)))


class MessageBeforeOutput(_Output):
    """The message and the metadata bag of the run."""

    __slots__ = ("message", "metadata")

    def __init__(self, payload: Any) -> None:
        super().__init__(payload)
        self.message: str = payload.text
        self.metadata: dict[str, Any] = thaw(payload.metadata)

    def changed(self) -> Message | None:
        old: Message = self._payload
        message: object = self.message
        metadata: object = self.metadata
        if message == old.text and same(metadata, old.metadata):
            return None
        if not isinstance(message, str):
            raise InvalidModificationError(f"output.message must be a str, not {type(message).__name__}")
        if not isinstance(metadata, dict):
            raise InvalidModificationError(f"output.metadata must be a dict, not {type(metadata).__name__}")
        return replace(old, text=message, metadata=freeze(metadata))


class ParamsBeforeOutput(_Output):
    """The parameters of the run. Setting one to None unsets it; `extras` takes any other name."""

    __slots__ = ("extras", "model", "provider", "reasoning_level", "temperature", "think_level")

    def __init__(self, payload: Any) -> None:
        super().__init__(payload)
        self.model: str | None = payload.model
        self.provider: str | None = payload.provider
        self.think_level: str | None = payload.think_level
        self.reasoning_level: str | None = payload.reasoning_level
        self.temperature: float | None = payload.temperature
        self.extras: dict[str, Any] = thaw(payload.extras)

    def changed(self) -> Params | None:
        new = replace(
            self._payload, extras=freeze(self.extras), **{field: getattr(self, field) for field in PARAM_FIELDS}
        )
        return None if new == self._payload else cast("Params", new)


class CommandBeforeOutput(_Output):
    """Nothing to change. Who wants another command refuses this one and says which."""

    __slots__ = ()


class PermissionAskOutput(_Output):
    """The wording of the question."""

    __slots__ = ("message",)

    def __init__(self, payload: Any) -> None:
        super().__init__(payload)
        self.message: str = payload.message

    def changed(self) -> PermissionRequest | None:
        new = replace(self._payload, message=self.message)
        return None if new == self._payload else cast("PermissionRequest", new)


class PointSpec(Struct, frozen=True):
    """One hook point."""

    payload: type
    rewritable: tuple[str, ...]
    """The fields that a Transform may change. All others must stay: a rewrite can't turn one call into another."""
    describe: Callable[[Any, Any], str]
    input: type[_Input]
    output: type[_Output]

    def misfit(self, old: Any, new: object) -> str:
        """Why `new` may not take the place of `old`; empty if it may."""
        if type(new) is not self.payload:
            return f"a {self.payload.__name__} was expected, not {type(new).__name__}"
        for name in self.payload.__struct_fields__:  # type: ignore[attr-defined]  # payloads are Structs
            if name not in self.rewritable and not _kept(getattr(new, name), getattr(old, name)):
                return f"{name} may not be changed"
        return _wrong_type(new)

    def merged(self, old: Any, new: Any) -> Any:
        """`old` with the rewritable fields of `new`. Nothing else is taken over, whatever a lying `__eq__` let pass."""
        return replace(old, **{name: getattr(new, name) for name in self.rewritable})

    def is_other(self, _old: Any, _new: Any) -> bool:
        """Whether a rewrite made something else of it, about which others have a say."""
        return False


class ToolCallSpec(PointSpec, frozen=True):
    """tool.before. A rewrite may be a new call: `Transform(ToolCall(name, arguments))`.

    INVARIANT: it keeps the id, the context and the metadata of the call that it replaces, whatever else it says.
    """

    def misfit(self, old: Any, new: object) -> str:
        """Why `new` may not take the place of `old`. A field that the author left alone in a new call is no change."""
        if type(new) is not ToolCall:
            return f"a ToolCall was expected, not {name_of(new)}"
        if type(new.name) is not str:
            return f"name must be a str, not {name_of(new.name)}"
        for name in ("context", "metadata"):
            value = getattr(new, name)
            if value and value != Context() and not _kept(value, getattr(old, name)):
                return f"{name} may not be changed"
        said = new.original_name
        if said != old.original_name and normalize_tool_name(said) != normalize_tool_name(new.name):
            return "original_name may not be changed"
        return _wrong_type(new)

    def merged(self, old: Any, new: Any) -> Any:
        """`old` with the tool and the arguments of `new`. The same tool keeps what the agent called it."""
        name = normalize_tool_name(new.name)
        said = old.original_name if name == old.name else new.original_name
        return ToolCall(name, new.arguments, old.call_id, old.context, old.metadata, said or name)

    def is_other(self, old: Any, new: Any) -> bool:
        """Whether it is a call of another tool now."""
        return bool(old.name != new.name)


def _kept(new: Any, old: Any) -> bool:
    return new is old or same(new, old) or (isinstance(old, Struct) and type(new) is type(old) and bool(new == old))


_FIELD_TYPES: Mapping[type, tuple[tuple[str, type], ...]] = {
    ToolCall: (("arguments", dict),),
    Message: (("text", str), ("metadata", dict)),
    PermissionRequest: (("message", str),),
}


def _wrong_type(new: object) -> str:
    if isinstance(new, Params):
        return _wrong_params(new)
    for name, wanted in _FIELD_TYPES.get(type(new), ()):
        value: object = getattr(new, name)
        if not isinstance(value, wanted):
            return f"{name} must be a {wanted.__name__}, not {type(value).__name__}"
    return ""


def _wrong_params(params: Params) -> str:
    for name in ("model", "provider", "think_level", "reasoning_level"):
        value: object = getattr(params, name)
        if value is not None and not isinstance(value, str):
            return f"{name} must be a str or None, not {type(value).__name__}"
    temperature: object = params.temperature
    if temperature is not None and (isinstance(temperature, bool) or not isinstance(temperature, int | float)):
        return f"temperature must be a number or None, not {type(temperature).__name__}"
    extras: object = params.extras
    return "" if isinstance(extras, dict) else f"extras must be a dict, not {type(extras).__name__}"


def _changed_keys(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [str(key) for key in {**old, **new} if key not in old or key not in new or not same(old[key], new[key])]


def _describe_call(old: ToolCall, new: ToolCall) -> str:
    other = [] if old.name == new.name else [f"tool {new.name}"]
    return ", ".join(other + _changed_keys(old.arguments, new.arguments))


def _describe_message(old: Message, new: Message) -> str:
    keys = _changed_keys(old.metadata, new.metadata)
    said = ["message mutated"] if old.text != new.text else []
    return ", ".join(said + ([f"metadata: {', '.join(keys)}"] if keys else []))


def _describe_params(old: Params, new: Params) -> str:
    pairs = [(word, getattr(old, name), getattr(new, name)) for name, word in PARAM_FIELDS.items()]
    pairs += [(key, old.extras.get(key), new.extras.get(key)) for key in _changed_keys(old.extras, new.extras)]
    return ", ".join(
        f"{word} → {'unset' if after is None else after}" for word, before, after in pairs if before != after
    )


def _describe_outcome(_old: ToolOutcome, _new: ToolOutcome) -> str:
    return "result"


def _describe_command(_old: Command, _new: Command) -> str:
    return ""


def _describe_question(_old: PermissionRequest, _new: PermissionRequest) -> str:
    return "question reworded"


POINTS: Mapping[HookPoint, PointSpec] = {
    HookPoint.MESSAGE_BEFORE: PointSpec(
        Message, ("text", "metadata"), _describe_message, MessageBeforeInput, MessageBeforeOutput
    ),
    HookPoint.PARAMS_BEFORE: PointSpec(
        Params, (*PARAM_FIELDS, "extras"), _describe_params, ParamsBeforeInput, ParamsBeforeOutput
    ),
    HookPoint.TOOL_BEFORE: ToolCallSpec(
        ToolCall, ("name", "arguments"), _describe_call, ToolBeforeInput, ToolBeforeOutput
    ),
    HookPoint.PERMISSION_ASK: PointSpec(
        PermissionRequest, ("message",), _describe_question, PermissionAskInput, PermissionAskOutput
    ),
    HookPoint.TOOL_AFTER: PointSpec(ToolOutcome, ("result",), _describe_outcome, ToolAfterInput, ToolAfterOutput),
    HookPoint.COMMAND_BEFORE: PointSpec(Command, (), _describe_command, CommandBeforeInput, CommandBeforeOutput),
}
