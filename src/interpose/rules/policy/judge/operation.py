"""An event as the judge is shown it: one canonical JSON text, which is also what verdicts are cached by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from interpose.core.errors import text_of
from interpose.core.types import Command, Context, HookPoint, Message, Params, PermissionRequest, ToolCall, ToolOutcome

Payload = ToolCall | ToolOutcome | PermissionRequest | Message | Params | Command


class Operation(Struct, frozen=True):
    """What is judged. `text` is JSON on one line, without a character that can't be seen."""

    point: HookPoint
    text: str


class UnreadableError(ValueError):
    """There is no text that shows the whole operation."""


def operation_of(payload: Payload, max_characters: int) -> Operation:
    """The operation of an event. Never a part of it: what is left out could be what matters."""
    point, shown = _shown(payload)
    try:
        text = json.dumps(shown, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=text_of)
    except (TypeError, ValueError, RecursionError):
        raise UnreadableError("the operation has no JSON form") from None
    if len(text) > max_characters:
        raise UnreadableError(f"the operation has more than {max_characters} characters")
    return Operation(point, _visible(text))


def _shown(payload: Payload) -> tuple[HookPoint, dict[str, Any]]:
    match payload:
        case ToolCall():
            return HookPoint.TOOL_BEFORE, _call(payload)
        case ToolOutcome():
            result = {"result": payload.result, "is_error": payload.is_error}
            return HookPoint.TOOL_AFTER, {**_call(payload.call), **result}
        case PermissionRequest():
            asked = [{"rule": finding.rule, "question": finding.reason} for finding in payload.findings]
            subject = _shown(payload.subject)[1] if isinstance(payload.subject, Payload) else {}
            return HookPoint.PERMISSION_ASK, {**subject, "asked": asked}
        case Message():
            return HookPoint.MESSAGE_BEFORE, {"message": payload.text, **_who(payload.context)}
        case Params():
            chosen = {
                "model": payload.model, "provider": payload.provider, "think_level": payload.think_level,
                "reasoning_level": payload.reasoning_level, "temperature": payload.temperature,
                "extras": payload.extras, "message": payload.message,
            }  # fmt: skip
            return HookPoint.PARAMS_BEFORE, {**chosen, **_who(payload.context)}
        case Command():
            told = {"command": payload.name, "arguments": payload.arguments}
            return HookPoint.COMMAND_BEFORE, {**told, **_who(payload.context)}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"tool": call.name, "arguments": call.arguments, **_who(call.context)}


def _who(context: Context) -> Mapping[str, str]:
    """Who acts and where. Not in which session: the same call is the same operation in all of them."""
    return {"cwd": context.cwd, "agent": context.agent_id, "role": context.role, "principal": context.principal}


def _visible(text: str) -> str:
    """Characters that hide, turn or end a text are written as escapes, as JSON allows in every string."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)
