"""Which paths a file tool's call would touch, how, and with what text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Literal

from msgspec import Struct

from interpose.tools import content_of, filters_of, patched_of, path_arguments, replaced_of
from interpose.types import ToolCall

TouchKind = Literal["read", "write", "edit", "delete"]

KINDS: dict[str, TouchKind] = {
    "read": "read",
    "grep": "read",
    "write": "write",
    "edit": "edit",
    "apply_patch": "edit",
}
"""What the tools do to the paths that they name. Tools that only list names are not here: names are no secrets."""

MAX_TOUCHES = 1_000
"""A call that names more paths than that cannot be judged in time."""

_MODES: dict[str, TouchKind] = {"view": "read", "create": "write"}
"""One tool can be several: `str_replace_based_edit_tool` says in `command` what it does."""


class Touch(Struct, frozen=True):
    """One path that a call would touch."""

    text: str
    kind: TouchKind
    added: str = ""
    removed: str = ""


class BadPath(Struct, frozen=True):
    """What stands where a path should."""

    reason: str
    argument: str = "path"


def touches_of(call: ToolCall) -> tuple[Touch, ...] | BadPath:
    """Everything that the call would touch, or why that cannot be said."""
    kind = KINDS[call.name]
    if call.name == "edit":
        kind = _MODES.get(str(call.arguments.get("command")), kind)
    added, removed = ("", "") if kind == "read" else (content_of(call), replaced_of(call))
    touches = [Touch(file.path, file.kind, file.added, file.removed) for file in patched_of(call)]
    empty: BadPath | None = None
    for argument, value in path_arguments(call):
        if isinstance(value, str):
            if value.strip():
                touches.append(Touch(value, kind, added, removed))
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
    return tuple(touches) if touches or call.name == "grep" else BadPath("is missing")


def _searched(call: ToolCall, named: list[Touch]) -> Iterator[Touch]:
    """The files that a search chooses by their names."""
    bases = [touch.text for touch in named] or ["."]
    for chosen in filters_of(call):
        for base in bases:
            yield Touch(f"{base.rstrip('/')}/{chosen.lstrip('/')}", "read")
