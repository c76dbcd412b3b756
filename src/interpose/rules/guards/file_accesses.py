"""Which paths a file tool's call would touch, how, and with what text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Literal

from msgspec import Struct

from interpose.core.tools import (
    content_of,
    filters_of,
    is_destination,
    only_views,
    patched_of,
    path_arguments,
    replaced_of,
)
from interpose.core.types import EMPTY, FrozenDict, ToolCall

TouchKind = Literal["read", "write", "edit", "delete"]

KINDS: dict[str, TouchKind] = {
    "read": "read",
    "grep": "read",
    "write": "write",
    "edit": "edit",
    "apply_patch": "edit",
    "delete": "delete",
    "move": "delete",
    "copy": "read",
}
"""What the tools do to the paths that they name, a move and a copy to their source.

Tools that only list names are not here: names are no secrets.
"""

MAX_TOUCHES = 1_000
"""A call that names more paths than that cannot be judged in time."""

_MODES: dict[str, TouchKind] = {"create": "write", "delete": "delete"}
"""One tool can be several: `str_replace_based_edit_tool` says in `command` what it does."""
_EDITED = FrozenDict({"in_place": True})
_TAKEN = FrozenDict({"recursive": True})
_MOVED = FrozenDict({"recursive": True, "moved": True})
_SEARCHED = FrozenDict({"searched": True})


class Touch(Struct, frozen=True):
    """One path that a call would touch."""

    text: str
    kind: TouchKind
    added: str = ""
    removed: str = ""
    details: FrozenDict = EMPTY
    """What the effect of the same change in a command would say."""


class BadPath(Struct, frozen=True):
    """What stands where a path should."""

    reason: str
    argument: str = "path"
    missing: bool = False


def touches_of(call: ToolCall) -> tuple[Touch, ...] | BadPath:
    """Everything that the call would touch, or why that cannot be said."""
    kind = _kind(call)
    added, removed = ("", "") if kind == "read" else (content_of(call), replaced_of(call))
    touches = [Touch(file.path, file.kind, file.added, file.removed, _details(file.kind)) for file in patched_of(call)]
    empty: BadPath | None = None
    for argument, value in path_arguments(call):
        if isinstance(value, str):
            if value.strip():
                touch = Touch(value, kind, added, removed, _details(kind, call))
                touches.extend(_touches(call, argument, touch))
            else:
                empty = empty or BadPath("is empty", argument)
        elif value is not None:
            return BadPath(f"is {type(value).__name__}, not text", argument)
    if call.name == "grep":
        touches.extend(islice(_searched(call, touches), MAX_TOUCHES + 1))
    elif empty is not None:
        return empty
    elif call.name == "read":
        touches.extend(Touch(chosen, kind) for chosen in filters_of(call))
    if len(touches) > MAX_TOUCHES:
        return BadPath(f"names more than {MAX_TOUCHES} paths")
    # A search that names no path looks here.
    return tuple(touches) if touches or call.name == "grep" else BadPath("is missing", missing=True)


def _kind(call: ToolCall) -> TouchKind:
    kind = KINDS[call.name]
    if call.name != "edit":
        return kind
    return "read" if only_views(call) else _MODES.get(str(call.arguments.get("command")), kind)


def _details(kind: TouchKind, call: ToolCall | None = None) -> FrozenDict:
    if kind == "edit":
        return _EDITED
    if call is not None and call.name == "grep":
        return _TAKEN
    if kind != "delete" or call is None:
        return EMPTY
    if call.name == "move":
        return _MOVED
    is_file = "file" in call.original_name.lower() and call.arguments.get("recursive") is not True
    return EMPTY if is_file else _TAKEN


def _touches(call: ToolCall, argument: str, touch: Touch) -> Iterator[Touch]:
    """A move reads and takes away its source, a copy reads it; both write their destination."""
    if call.name not in ("move", "copy"):
        yield touch
    elif is_destination(argument):
        yield Touch(touch.text, "write")
    else:
        yield Touch(touch.text, "read", details=_TAKEN)
        if call.name == "move":
            yield touch


def _searched(call: ToolCall, named: list[Touch]) -> Iterator[Touch]:
    """The files that a search chooses by their names."""
    bases = [touch.text for touch in named] or ["."]
    for chosen in filters_of(call):
        for base in bases:
            yield Touch(f"{base.rstrip('/')}/{chosen.lstrip('/')}", "read", details=_SEARCHED)
