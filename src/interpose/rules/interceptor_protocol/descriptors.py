"""What an interceptor says of itself. All generations of the wire are read, the current one is written.

G1  `events`, `phase`, type `observability`       G2  `hook: {events, phase}`, phase `both`, mode `enforce`
G3  `hooks: [{events, phase}]`, mode `active`     G4  type `sink`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from interpose.core.types import EMPTY, freeze

EventPhase = Literal["request", "response"]
PHASES: tuple[EventPhase, ...] = ("request", "response")
InterceptorType = Literal["validation", "mutation", "sink"]
InterceptorMode = Literal["active", "audit"]

ANY = "*"
LOWEST, HIGHEST = -(2**31), 2**31 - 1
"""A priority has 32 bits."""
LONGEST_NAME = 256
MOST_HOOKS = 64
MOST_EVENTS = 64

_TYPES: Mapping[str, InterceptorType] = {
    "validation": "validation", "mutation": "mutation", "sink": "sink", "observability": "sink",
}  # fmt: skip
_MODES: Mapping[str, InterceptorMode] = {"active": "active", "enforce": "active", "audit": "audit"}
_BOTH: Mapping[str, tuple[EventPhase, ...]] = {"request": ("request",), "response": ("response",), "both": PHASES}


class DescriptorError(ValueError):
    """This describes no interceptor. The text says what is wrong."""


class EventHook(Struct, frozen=True):
    """Where an interceptor stands: events such as `tools/call`, `tools/*` or `*`, in one phase."""

    events: tuple[str, ...]
    phase: EventPhase

    def covers(self, event: str, phase: str) -> bool:
        """Whether it stands at this event."""
        return self.phase == phase and any(matches(pattern, event) for pattern in self.events)


class PhasePriority(Struct, frozen=True):
    """Which mutation comes first: lower before higher, in each phase."""

    request: int = 0
    response: int = 0

    def of(self, phase: EventPhase) -> int:
        """The number that holds in a phase."""
        return self.request if phase == "request" else self.response


class InterceptorDescriptor(Struct, frozen=True, kw_only=True):
    """One interceptor."""

    name: str
    type: InterceptorType
    hooks: tuple[EventHook, ...]
    version: str = ""
    description: str = ""
    mode: InterceptorMode = "active"
    fail_open: bool = False
    priority: PhasePriority = PhasePriority()
    min_protocol: str = ""
    max_protocol: str = ""
    config_schema: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        _name(self.name)
        if not self.hooks:
            raise DescriptorError(f"{self.name}: it has no hooks")
        for number in (self.priority.request, self.priority.response):
            _priority_number(self.name, number)

    def covers(self, event: str, phase: str) -> bool:
        """Whether it is to be asked about this event."""
        return any(hook.covers(event, phase) for hook in self.hooks)

    def listed(self, event: str | None, phase: str | None) -> bool:
        """Whether a list of what stands at this event, in this phase, has it."""
        return any(
            (phase is None or hook.phase == phase)
            and (event is None or any(matches(one, event) or matches(event, one) for one in hook.events))
            for hook in self.hooks
        )

    def speaks(self, protocol: str) -> bool:
        """Whether it is made for this version of MCP. Versions are dates: they compare as texts."""
        if not protocol:
            return True
        return (not self.min_protocol or self.min_protocol <= protocol) and (
            not self.max_protocol or protocol <= self.max_protocol
        )

    def narrowed(self, hooks: tuple[EventHook, ...]) -> InterceptorDescriptor:
        """The same with fewer events. Raises DescriptorError for one that it does not have: nothing is ever widened."""
        for hook in hooks:
            for event in hook.events:
                if not any(one.phase == hook.phase and any(_within(event, own) for own in one.events)
                           for one in self.hooks):  # fmt: skip
                    raise DescriptorError(
                        f"{self.name}: it does not stand at {event} ({hook.phase}); an override can only narrow"
                    )
        return replace(self, hooks=hooks)


def matches(pattern: str, event: str) -> bool:
    """Whether `tools/call`, `tools/*` or `*` covers an event."""
    return pattern in (ANY, event) or (pattern.endswith("/*") and event.startswith(pattern[:-1]))


def _within(narrow: str, wide: str) -> bool:
    """Whether a pattern covers nothing that another does not."""
    if narrow == ANY:
        return wide == ANY
    return matches(wide, narrow)  # `tools/*` is a text that starts with `tools/`, too


def read_descriptor(value: object) -> InterceptorDescriptor:
    """What another program said of its interceptor, in any generation. Raises DescriptorError."""
    if not isinstance(value, dict):
        raise DescriptorError("a descriptor is an object")
    name = _name(value.get("name"))
    kind = _TYPES.get(str(value.get("type")))
    if kind is None:
        raise DescriptorError(f"{name}: type must be validation, mutation or sink, not {_short(value.get('type'))}")
    mode = _MODES.get(str(value.get("mode", "active")))
    if mode is None:
        raise DescriptorError(f"{name}: mode must be active or audit, not {_short(value.get('mode'))}")
    fail_open = value.get("failOpen", False)
    if not isinstance(fail_open, bool):
        raise DescriptorError(f"{name}: failOpen must be true or false")
    compat = value.get("compat", {})
    if not isinstance(compat, dict) or not all(isinstance(compat.get(key, ""), str) for key in _COMPAT):
        raise DescriptorError(f"{name}: compat must be an object with minProtocol and maxProtocol")
    schema = value.get("configSchema", {})
    if not isinstance(schema, dict):
        raise DescriptorError(f"{name}: configSchema must be an object")
    return InterceptorDescriptor(
        name=name, type=kind, hooks=_hooks(name, value), version=_text(value.get("version")),
        description=_text(value.get("description")), mode=mode, fail_open=fail_open,
        priority=read_priority(name, value.get("priorityHint", 0)), min_protocol=compat.get("minProtocol", ""),
        max_protocol=compat.get("maxProtocol", ""), config_schema=freeze(schema),
    )  # fmt: skip


_COMPAT = ("minProtocol", "maxProtocol")


def read_priority(name: str, value: object) -> PhasePriority:
    """`priorityHint`: a number for both phases, or one for each. Raises DescriptorError."""
    if isinstance(value, dict):
        if not value.keys() <= set(PHASES):
            raise DescriptorError(f"{name}: priorityHint has request and response, and nothing else")
        return PhasePriority(*(_priority_number(name, value.get(phase, 0)) for phase in PHASES))
    number = _priority_number(name, value)
    return PhasePriority(number, number)


def _priority_number(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not LOWEST <= value <= HIGHEST:
        raise DescriptorError(f"{name}: priorityHint must be an integer of 32 bits, not {_short(value)}")
    return value


def _hooks(name: str, value: dict[str, Any]) -> tuple[EventHook, ...]:
    given = value.get("hooks")
    if given is None:
        one = value.get("hook")
        given = [one] if one is not None else [{"events": value.get("events"), "phase": value.get("phase", "both")}]
    if not isinstance(given, list) or not 0 < len(given) <= MOST_HOOKS:
        raise DescriptorError(f"{name}: hooks must be a list of 1 to {MOST_HOOKS}")
    return tuple(hook for each in given for hook in read_hooks(name, each))


def read_hooks(name: str, value: object) -> tuple[EventHook, ...]:
    """The hooks that one object means: two if it is for both phases, or has the old `*/request`."""
    events = value.get("events") if isinstance(value, dict) else None
    phases = _BOTH.get(str(value.get("phase"))) if isinstance(value, dict) else None
    if phases is None:
        raise DescriptorError(f"{name}: the phase of a hook is request or response")
    if not isinstance(events, list | tuple) or not 0 < len(events) <= MOST_EVENTS:
        raise DescriptorError(f"{name}: a hook has 1 to {MOST_EVENTS} events")
    found: list[EventHook] = []
    for phase in phases:
        # `*/request` is how the first generations said `*` in one phase.
        kept = [ANY if event == f"*/{phase}" else event for event in map(_event, events)]
        here = tuple(dict.fromkeys(event for event in kept if not event.startswith("*/")))
        if here:
            found.append(EventHook(here, phase))
    if not found:
        raise DescriptorError(f"{name}: a hook has no event in its phase")
    return tuple(found)


def _event(value: object) -> str:
    if not isinstance(value, str) or not value or len(value) > LONGEST_NAME or not value.isprintable():
        raise DescriptorError("an event is a text such as tools/call")
    return value


def _name(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise DescriptorError(f"an interceptor has a name of {LONGEST_NAME} letters at most")
    return value


def _text(value: object) -> str:
    return value[:4096] if isinstance(value, str) else ""


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 64 else f"{text[:64]}..."


def written(one: InterceptorDescriptor) -> dict[str, Any]:
    """A descriptor as the current generation has it. Defaults are left out."""
    said: dict[str, Any] = {
        "name": one.name, "version": one.version, "description": one.description, "type": one.type,
        "hooks": [{"events": list(hook.events), "phase": hook.phase} for hook in one.hooks],
        "mode": "" if one.mode == "active" else one.mode, "failOpen": one.fail_open,
        "priorityHint": _written_priority(one.priority),
        "compat": {
            key: text for key, text in zip(_COMPAT, (one.min_protocol, one.max_protocol), strict=True) if text
        },
        "configSchema": dict(one.config_schema),
    }  # fmt: skip
    return {key: value for key, value in said.items() if value}


def _written_priority(priority: PhasePriority) -> int | dict[str, int]:
    if priority.request == priority.response:
        return priority.request
    return {phase: number for phase in PHASES if (number := priority.of(phase))}


def both_phases(*events: str) -> tuple[EventHook, ...]:
    """Hooks at these events before and after."""
    return tuple(EventHook(events, phase) for phase in PHASES)


def as_phase(value: object) -> EventPhase | None:
    """The phase of this name."""
    return value if value in PHASES else None
