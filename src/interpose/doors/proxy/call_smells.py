"""What looks like a call of a tool where none is expected, or in a form that nobody knows.

INVARIANT: what smells is never passed on as it is. A new kind of call is refused until somebody has taught it here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from interpose.doors.proxy.wire_values import DoubtfulError, plain_key

_CALL_KEYS = frozenset({
    "toolcall", "toolcalls", "functioncall", "functioncalls", "tooluse", "tooluses", "customtoolcall", "localshellcall",
    "shellcall", "applypatchcall", "computercall", "requiredaction",
})  # fmt: skip
_CALL_TYPES = frozenset({
    "tooluse", "functioncall", "toolcall", "customtoolcall", "localshellcall", "shellcall", "applypatchcall",
    "computercall", "mcpapprovalrequest", "toolsearchcall",
})  # fmt: skip
_CALL_WORDS = frozenset({
    "tool", "call", "calls", "use", "function", "exec", "execute", "execution", "command", "commands", "shell", "bash",
    "computer", "patch", "action", "actions", "invoke", "invocation", "run", "approval", "request",
})  # fmt: skip
_CARRIES = frozenset({"input", "arguments", "args", "action", "actions", "operation", "command", "commands"})
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_LONGEST_TYPE = 100
_RESULT_TYPES = ("toolresult", "calloutput", "functionresult", "toolsearchoutput")
_RESULT_KEYS = frozenset({"functionresponse", "functionresponses", "toolresult", "toolresults", "tooloutputs"})


def smell_of(value: Any) -> str:
    """What in a value looks like a call; empty if nothing does."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, dict):
            if found := _smell(one):
                return found
            pending.extend(one.values())
    return ""


def _smell(one: dict[str, Any]) -> str:
    plain = {plain_key(key): item for key, item in one.items()}
    for key in _CALL_KEYS & plain.keys():
        if plain[key] and not isinstance(plain[key], bool | int | float | str):
            return key
    kind = plain.get("type")
    if isinstance(kind, str) and (plain_key(kind) in _CALL_TYPES or (type_smells(kind) and _CARRIES & plain.keys())):
        return kind[:60]
    return "name and arguments" if "name" in plain and {"arguments", "args"} & plain.keys() else ""


def result_smell(value: Any) -> str:
    """What in a value looks like the result of a tool; empty if nothing does."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, dict):
            plain = {plain_key(key): item for key, item in one.items()}
            kind, role = plain.get("type"), plain.get("role")
            if isinstance(kind, str) and plain_key(kind).endswith(_RESULT_TYPES):
                return kind[:60]
            if role in ("tool", "function") and plain.get("content"):
                return f"role {role}"
            if found := next((key for key in _RESULT_KEYS & plain.keys() if isinstance(plain[key], dict | list)), ""):
                return found
            pending.extend(one.values())
    return ""


def no_call_in(value: Mapping[str, Any], what: str, *known: str) -> None:
    """Raises DoubtfulError if something besides what is `known`, and judged, looks like a call."""
    rest = {key: item for key, item in value.items() if item and key not in known}
    # Most events have only numbers and short texts beside what is known: these are no call.
    if any(type(item) in (dict, list) or plain_key(key) in _CARRIES for key, item in rest.items()) and (
        found := smell_of(rest)
    ):
        raise DoubtfulError(f"{what} has a call where none belongs ({found})")


def elsewhere(holder: Mapping[str, Any], *own: str) -> str:
    """Why a call is ambiguous: what could be its arguments stands where they do not. Empty if nothing does."""
    for key, item in holder.items():
        if item and key not in own and plain_key(key) in _CARRIES:
            return f"something like its arguments stands in {key[:60]!r}, too"
    return ""


def type_smells(kind: str) -> bool:
    """Whether the name of a kind of thing sounds like a call."""
    words = _WORD.findall(kind[:_LONGEST_TYPE])
    return len(kind) > _LONGEST_TYPE or not _CALL_WORDS.isdisjoint(word.lower() for word in words)


def block_smells(block: dict[str, Any]) -> bool:
    """Whether a block or an item of a kind that nobody knows could be a call."""
    kind = block.get("type")
    return not isinstance(kind, str) or type_smells(kind) or bool(smell_of(block))
