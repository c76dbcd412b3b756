"""Items of OpenAI Responses: which of them are calls that a client would run, and what takes their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from interpose.doors.proxy.call_smells import block_smells, elsewhere, smell_of
from interpose.doors.proxy.found_calls import (
    ChangedCall,
    FoundCall,
    PassedCall,
    Ruling,
    TextInstead,
    fixed_call,
    json_call,
    text_call,
    unknown_call,
)
from interpose.doors.proxy.wire_values import object_in, text_in

_RUN_THERE = frozenset({
    "file_search_call", "web_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
    "mcp_list_tools",
})  # fmt: skip
_SAID = frozenset({"message", "reasoning", "compaction", "compaction_summary"})
_PATCHED = {"create_file": "Add", "update_file": "Update", "delete_file": "Delete"}


def call_in(item: dict[str, Any]) -> FoundCall | None:
    """The call that an item is; None if it is none. Raises DoubtfulError."""
    kind, key = text_in(item.get("type")), item.get("call_id")
    match kind:
        case "function_call":
            return json_call(key, _named(item), item.get("arguments", ""), wrong=elsewhere(item, "arguments"))
        case "custom_tool_call":
            return text_call(key, _named(item), item.get("input"), wrong=elsewhere(item, "input"))
        case "local_shell_call":
            action = dict(object_in(item.get("action") or {}, "action"))
            wrong = "" if action.pop("type", "exec") == "exec" else "it is no command"
            return fixed_call(key, "local_shell", action, wrong=wrong or elsewhere(item, "action"))
        case "shell_call":
            action = dict(object_in(item.get("action") or {}, "action"))
            return fixed_call(key, "shell", action, wrong=elsewhere(item, "action"))
        case "apply_patch_call":
            patch = _patch(key, object_in(item.get("operation") or {}, "operation"))
            return replace(patch, wrong=patch.wrong or elsewhere(item, "operation"))
        case "computer_call":
            acts: dict[str, Any] = {name: item[name] for name in ("action", "actions") if name in item}
            return fixed_call(key, "computer", acts, wrong=elsewhere(item, "action", "actions"))
        case "tool_search_call":
            if item.get("execution") == "server":
                return None
            arguments = item.get("arguments")
            return fixed_call(key, "tool_search", arguments if isinstance(arguments, dict) else {"query": arguments})
        case "mcp_approval_request":
            # The server runs it when the client has agreed, and a client may agree by itself.
            name = f"mcp__{text_in(item.get('server_label'))}__{text_in(item.get('name'))}"
            asked = json_call(item.get("id"), name, item.get("arguments", ""), wrong=elsewhere(item, "arguments"))
            return fixed_call(asked.key, asked.tool, asked.arguments, wrong=asked.wrong)
        case _:
            return unknown_call(kind, item) if _is_odd(item) else None


def is_run_there(item: Mapping[str, Any]) -> bool:
    """Whether the model's server runs it."""
    return text_in(item.get("type")) in (*_RUN_THERE, "tool_search_call")


def _is_odd(item: dict[str, Any]) -> bool:
    kind = text_in(item.get("type"))
    if kind in _RUN_THERE:
        return False
    if kind in _SAID or kind.endswith("_output"):
        return bool(smell_of(item))
    return block_smells(item)


def _named(item: Mapping[str, Any]) -> object:
    """The tool as rules know it: with its namespace, if it has one."""
    space, name = item.get("namespace"), item.get("name")
    if not isinstance(space, str) or not space or not isinstance(name, str):
        return name
    return f"{space}{'__' if space.startswith('mcp__') else '.'}{name}"


def _patch(key: object, operation: dict[str, Any]) -> FoundCall:
    """The change of one file, as the patch that it is."""
    word, path = _PATCHED.get(text_in(operation.get("type"))), operation.get("path")
    if word is None or not isinstance(path, str) or not path or not path.isprintable():
        return fixed_call(key, "apply_patch", {"operation": dict(operation)}, wrong="it is no change of a file")
    diff = text_in(operation.get("diff")).splitlines()
    if any(line.startswith("*** ") for line in diff):
        return fixed_call(key, "apply_patch", {"operation": dict(operation)}, wrong="it is more than one change")
    lines = ["*** Begin Patch", f"*** {word} File: {path}", *diff, "*** End Patch"]
    return fixed_call(key, "apply_patch", {"input": "\n".join(lines)})


def ruled_item(item: dict[str, Any], ruling: Ruling) -> dict[str, Any]:
    """What takes the place of an item."""
    match ruling:
        case PassedCall():
            return item
        case ChangedCall(arguments):
            if item.get("type") == "custom_tool_call":
                return {**item, "input": arguments["input"]}
            return {**item, "arguments": msgspec.json.encode(arguments).decode()}
        case TextInstead(text):
            return text_item(item, text)


def text_item(item: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A message in the place of an item."""
    _, _, rest = text_in(item.get("id")).rpartition("_")
    return {
        "id": f"msg_{rest or 'interpose'}", "type": "message", "status": "completed", "role": "assistant",
        "content": [text_part(text)],
    }  # fmt: skip


def text_part(text: str) -> dict[str, Any]:
    """The one part of such a message."""
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def answer_to(item: Mapping[str, Any], text: str) -> dict[str, Any] | None:
    """What a server that remembers a call wants to hear in the next request, if the call became a text here."""
    key = item.get("call_id")
    match item.get("type"):
        case "function_call" | "custom_tool_call" | "local_shell_call" as kind:
            return {"type": f"{kind}_output", "call_id": key, "output": text}
        case "shell_call":
            failed = {"stdout": "", "stderr": text, "outcome": {"type": "exit", "exit_code": 1}}
            return {"type": "shell_call_output", "call_id": key, "output": [failed]}
        case "apply_patch_call":
            return {"type": "apply_patch_call_output", "call_id": key, "status": "failed", "output": text}
        case "mcp_approval_request":
            asked = item.get("id")
            return {"type": "mcp_approval_response", "approval_request_id": asked, "approve": False, "reason": text}
        case _:
            return None
