"""What a tool call would make of the project's state file: known for tools that write and edit, unknown for commands.

Chain rules with `becomes` ask for it: the state that a write leads to is what they hold back.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from interpose.core.formats.strict_json import StrictJsonError, decode
from interpose.core.tools import spellings
from interpose.core.types import ToolCall
from interpose.effects.paths import FileSystem
from interpose.reading.calls import Reading, reading_of
from interpose.rules.governance.chains.prerequisites import StateContent
from interpose.rules.governance.files.project_files import state_data
from interpose.rules.governance.roles.name_patterns import fits_any

_DEFAULT = "/"
_WRITES = object()


class NextState(Struct, frozen=True):
    """The content that the state file would have. With `unknown`, nobody can say it before it is written."""

    data: Any = None
    unknown: str = ""


def may_write_state(call: ToolCall, state_tools: tuple[str, ...], home: str) -> bool:
    """Whether a call could change some state file: whether it writes anything at all. No file is looked at."""
    reading = reading_of(call, home)
    return reading.remember((_WRITES, state_tools), lambda: _may_write(reading, state_tools))


def _may_write(reading: Reading, state_tools: tuple[str, ...]) -> bool:
    writes = any(effect.kind == "fs.write" for effect in reading.effects)
    return writes or _is_state_tool(reading.call, state_tools)


def writes_state(call: ToolCall, *, project: str, state_file: str, state_tools: tuple[str, ...], home: str) -> bool:
    """Whether a call changes the state file."""
    if _is_state_tool(call, state_tools):
        return True
    written = [effect.resource for effect in reading_of(call, home).effects if effect.kind == "fs.write"]
    if not written or not project.startswith("/"):
        return False
    lookup, cwd = FileSystem(), call.context.cwd or _DEFAULT
    wanted = set(lookup.spellings(f"{project.rstrip('/')}/{state_file}", cwd=_DEFAULT, home=home).paths)
    return any(not wanted.isdisjoint(lookup.spellings(path, cwd=cwd, home=home).paths) for path in written)


def next_state(call: ToolCall, *, state_file: str, state_tools: tuple[str, ...], now: StateContent) -> NextState:
    """The content that the file would have after a call that writes it. `now` is what it has."""
    return (
        _merged(now, dict(call.arguments))
        if _is_state_tool(call, state_tools)
        else _written(call, state_file, now.text)
    )


def _is_state_tool(call: ToolCall, patterns: tuple[str, ...]) -> bool:
    return fits_any(patterns, call.name) or bool(call.original_name and fits_any(patterns, call.original_name))


def _merged(now: StateContent, changes: dict[str, Any]) -> NextState:
    """The fields of the state, or a `key` with its `value`, whichever the tool takes.

    INVARIANT: a call that says both in different words is not known: neither may hide the other.
    """
    before = now.data if not now.problem and isinstance(now.data, dict) else {}
    key = changes.get("key")
    if not isinstance(key, str) or "value" not in changes:
        return NextState({**before, **changes})
    if set(changes) & {key, key.partition(".")[0]}:
        return NextState(unknown="It is not known which of its fields this call writes into the state file")
    try:
        value = _value_of(changes["value"])
    except StrictJsonError as error:
        return NextState(unknown=f"What would be written into the state file can't be read: {error}")
    return NextState(_with_value({**before, **changes}, key.split("."), value))


def _with_value(data: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    name, *rest = path
    if rest:
        inner = data.get(name)
        value = _with_value(inner if isinstance(inner, dict) else {}, rest, value)
    return {**data, name: value}


def _value_of(value: Any) -> Any:
    """What a value stands for: such tools take JSON as text, too. Raises StrictJsonError for half of an object."""
    text = value.strip() if isinstance(value, str) else ""
    if not text.startswith("{") and not (text.startswith('"') and text.endswith('"')):
        return value
    return decode(text.encode("utf-8", "surrogatepass"))


def _written(call: ToolCall, state_file: str, text_now: str) -> NextState:
    match call.name:
        case "write":
            text = _only(call, "content")
            if text is None:
                return NextState(unknown="It is not known which text is written into the state file")
            return _read(text, state_file)
        case "edit":
            old, new = _only(call, "replaced"), _only(call, "content")
            # Some hosts replace the first of several, others all.
            if not old or new is None or text_now.count(old) != 1:
                return NextState(unknown="It is not known what this edit makes of the state file")
            return _read(text_now.replace(old, new), state_file)
        case _:
            return NextState(unknown=f"It is not known what {call.name} writes into the state file")


def _only(call: ToolCall, what: str) -> str | None:
    """The text of a call that is this; None if there is none, or more than one.

    INVARIANT: which of `content` and `Content` a host writes is not ours to guess, and both together say another thing
    than each.
    """
    texts = [call.arguments[name] for name in spellings(call, what)]
    return texts[0] if len(texts) == 1 and isinstance(texts[0], str) and "edits" not in call.arguments else None


def _read(text: str, state_file: str) -> NextState:
    try:
        return NextState(state_data(text.encode("utf-8", "surrogatepass"), state_file))
    except ValueError as error:
        return NextState(unknown=f"What would be written into the state file can't be read: {error}")
