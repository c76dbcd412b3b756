"""Results of tools in requests, on their way to the model: where each API has them, and whose result each is.

A request has all results of a conversation so far, and the calls that they belong to. Where the server keeps the
conversation it has only the new ones.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from interpose.doors.proxy import anthropic_messages, gemini_content, openai_chat, openai_responses
from interpose.doors.proxy.found_calls import FoundCall, object_call
from interpose.doors.proxy.response_items import call_in as call_in_item
from interpose.doors.proxy.wire_values import object_in, objects_in, text_in

_RESULT_ITEMS: Mapping[str, str] = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "output",
    "computer_call_output": "output",
    "tool_search_output": "tools",
}
"""Where the items that are results have them."""
_WRAPPERS = ("generateContentRequest", "generate_content_request", "request")
"""What counts tokens, and Google's door for its own agents, have a request inside of theirs."""


class FoundResult(Struct):
    """A result of a tool. `holder[field]` is where it stands; `call` is what it came of, if the request says so."""

    key: str
    holder: dict[str, Any]
    field: str
    call: FoundCall | None = None
    tool: str = ""
    """The name of the tool, if only that is said."""
    is_error: bool = False

    @property
    def value(self) -> Any:
        """The result."""
        return self.holder[self.field]


def results_in(dialect: str, body: Any) -> list[FoundResult]:
    """All results of a request, in their order. Raises DoubtfulError."""
    request = object_in(body, "the request")
    match dialect:
        case anthropic_messages.NAME:
            return list(_messages(request))
        case openai_chat.NAME:
            return list(_chat(request))
        case openai_responses.NAME:
            return list(_responses(request))
        case gemini_content.NAME:
            return list(_gemini(request))
        case _:
            return []


def _one_or_more(value: Any) -> Any:
    """Google takes one thing for a list of it."""
    return [value] if isinstance(value, dict) else value


def _blocks(message: dict[str, Any], what: str = "content") -> list[dict[str, Any]]:
    content = message.get(what)
    return objects_in(content, what) if isinstance(content, list) else []


def _messages(request: dict[str, Any]) -> Iterator[FoundResult]:
    calls: dict[str, FoundCall] = {}
    for message in objects_in(request.get("messages"), "messages"):
        for block in _blocks(message):
            match block.get("type"):
                case "tool_use":
                    call = object_call(block.get("id"), block.get("name"), block.get("input"))
                    calls[call.key] = call
                case "tool_result" if block.get("content"):
                    key = text_in(block.get("tool_use_id"))
                    yield FoundResult(key, block, "content", calls.get(key), is_error=block.get("is_error") is True)
                case _:
                    pass


def _chat(request: dict[str, Any]) -> Iterator[FoundResult]:
    calls: dict[str, FoundCall] = {}
    old: dict[str, FoundCall] = {}
    for message in objects_in(request.get("messages"), "messages"):
        for called in _blocks(message, "tool_calls"):
            call = openai_chat.call_in(called)
            calls[call.key] = call
        if message.get("function_call"):
            call = openai_chat.old_call(message["function_call"])
            old[call.tool] = call
        if not message.get("content"):
            continue
        if message.get("role") == "tool":
            key = text_in(message.get("tool_call_id"))
            yield FoundResult(key, message, "content", calls.get(key), text_in(message.get("name")))
        elif message.get("role") == "function":
            name = text_in(message.get("name"))
            yield FoundResult("", message, "content", old.get(name), name)


def _responses(request: dict[str, Any]) -> Iterator[FoundResult]:
    calls: dict[str, FoundCall] = {}
    for item in _blocks(request, "input"):
        kind = text_in(item.get("type"))
        field = _RESULT_ITEMS.get(kind) or ("output" if kind.endswith("_output") else None)
        if field is None:
            if (call := call_in_item(item)) is not None and call.key:
                calls[call.key] = call
        elif item.get(field):
            key = text_in(item.get("call_id") or item.get("id"))
            yield FoundResult(key, item, field, calls.get(key), is_error=item.get("status") == "failed")


def _gemini(request: dict[str, Any]) -> Iterator[FoundResult]:
    """Calls of Gemini need no id, and some clients make ids of their own for results: then the order tells."""
    by_id: dict[str, FoundCall] = {}
    by_name: dict[str, deque[FoundCall]] = defaultdict(deque)
    for wrapper in _WRAPPERS:
        if isinstance(inner := request.get(wrapper), dict):
            yield from _gemini(object_in(inner, wrapper))
    for content in objects_in(_one_or_more(request.get("contents")), "contents"):
        for part in objects_in(_one_or_more(content.get("parts")), "parts"):
            if (call := gemini_content.call_in(part)) is not None:
                if call.key:
                    by_id[call.key] = call
                by_name[call.tool].append(call)
            for key in gemini_content.RESULTS:
                if key not in part:
                    continue
                answered = object_in(part[key], key)
                name = text_in(answered.get("name"))
                call = by_id.get(text_in(answered.get("id")))
                waiting = by_name[name]
                if call is None:
                    call = waiting.popleft() if waiting else None
                elif call in waiting:
                    waiting.remove(call)
                own = "" if call is None else call.key
                if answered.get("parts"):  # files and pictures beside the data: one result
                    yield FoundResult(own, part, key, call, name)
                elif answered.get("response"):
                    yield FoundResult(own, answered, "response", call, name)
