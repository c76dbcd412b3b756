"""Fields of a host's payload. What is missing or of another type is said, never guessed."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interpose.core.formats.strict_json import StrictJsonError, decode
from interpose.core.tools import normalize_tool_name
from interpose.core.types import Command, Context, ToolCall
from interpose.doors.hooks.hosts.events import EventError, HostEvent, HostFacts
from interpose.effects.agents.agent import Fields, Names
from interpose.effects.late_patterns import late

_MISSING = object()
_WINDOWS = late(r"[A-Za-z]:[\\/]|\\\\")
_SLASHED_DRIVE = late(r"/([A-Za-z]):/")


def read_event(facts: HostFacts, raw: dict[str, Any], hint: str = "", fields: Fields | None = None) -> HostEvent:
    """The event in a payload with named fields: the host's own, or others."""
    fields = fields or facts.fields
    name = text(raw, fields.event) or hint
    point = facts.points.get(name)
    if point is None:
        known = f"the event {name!r}, which is not known here" if name else f"no event name in {fields.event[0]!r}"
        raise EventError(f"{facts.title} sent {known}")
    context = Context(
        session_id=text(raw, fields.session),
        agent_id=text(raw, fields.agent),
        agent_type=text(raw, fields.agent_type),
        cwd=directory(text(raw, fields.cwd)),
        source=f"hook:{facts.name}",
        unseen_input=" or ".join(facts.unasked_input),
    )
    event = HostEvent(host=facts.name, name=name, point=point, context=context, raw=raw)
    match point:
        case "message.before":
            _present(raw, fields.prompt)  # it may be empty: Qwen Code tells of every call of its model
            return replace(event, text=text(raw, fields.prompt))
        case "subagent.stop":
            return replace(event, text=text(raw, fields.answer))
        case "command.before":
            name = text(raw, fields.command, needed=True)
            _present(raw, fields.command_arguments)
            return replace(event, command=Command(name, text(raw, fields.command_arguments), context))
        case "tool.before" | "permission.ask":
            return replace(event, call=_call(facts, fields, raw, context), call_key=text(raw, fields.key))
        case "tool.after":
            failed = name in fields.failures
            return replace(
                event,
                call=_call(facts, fields, raw, context),
                call_key=text(raw, fields.key),
                result=_present(raw, fields.error if failed else fields.result),
                is_error=failed,
                duration_ns=_nanoseconds(raw, fields.milliseconds),
            )
        case _:
            return event


def _call(facts: HostFacts, fields: Fields, raw: dict[str, Any], context: Context) -> ToolCall:
    name = text(raw, fields.tool, needed=True)
    if facts.windows_shell == "powershell" and is_windows(context.cwd) and normalize_tool_name(name) == "exec":
        name = "PowerShell"
    try:
        return ToolCall(name, arguments(_present(raw, fields.arguments), fields.arguments[0]), context=context)
    except ValueError as error:
        raise EventError(str(error)) from None


def arguments(value: Any, where: str) -> dict[str, Any]:
    """The arguments of a call: an object, or the text of one."""
    if isinstance(value, str):
        value = json_text(value, where)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise EventError(f"{where!r} must be an object, not {type(value).__name__}")
    return value


def json_text(value: str, where: str) -> Any:
    """The value of JSON that came as text."""
    try:
        return decode(value.encode())
    except (StrictJsonError, UnicodeEncodeError) as error:
        raise EventError(f"{where!r} is text that can't be read as JSON: {error}") from None


def text(raw: dict[str, Any], names: Names, *, needed: bool = False) -> str:
    """The first of these fields that is there, as text; empty if none is there or it is null."""
    value = next((raw[name] for name in names if raw.get(name) is not None), "")
    if not isinstance(value, str):
        raise EventError(f"{names[0]!r} must be text, not {type(value).__name__}")
    if needed and not value.strip():
        raise EventError(f"{names[0]!r} is missing or empty")
    return value


def objects(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """A field that must be an object."""
    value = raw.get(name)
    if not isinstance(value, dict):
        raise EventError(f"{name!r} must be an object, not {type(value).__name__}")
    return value


def first_root(raw: dict[str, Any], name: str) -> str:
    """The first of the directories that an editor has open."""
    roots = raw.get(name)
    root = roots[0] if isinstance(roots, list) and roots else ""
    return root if isinstance(root, str) else ""


def directory(path: str) -> str:
    """A directory as its system writes it: editors say `/c:/Users` for `c:/Users`."""
    found = _SLASHED_DRIVE.match(path)
    return path[1:] if found else path


def is_windows(path: str) -> bool:
    """Whether a path is one of Windows."""
    return _WINDOWS.match(path) is not None


def _present(raw: dict[str, Any], names: Names) -> Any:
    # A field that moved to another name would leave nothing to judge: better loud than blind.
    value = next((raw[name] for name in names if name in raw), _MISSING)
    if value is _MISSING:
        raise EventError(f"{names[0]!r} is missing")
    return value


def _nanoseconds(raw: dict[str, Any], names: Names) -> int:
    value = next((raw[name] for name in names if name in raw), 0)
    return int(value * 1_000_000) if type(value) in (int, float) and 0 <= value < 1e12 else 0
