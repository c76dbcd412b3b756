"""How agents read answers of models, each in its own way: what any of them would run must have been judged.

They are as lax as clients are: some join names, some replace them; some look at the parts of a call, some only at its
end; some do not care how keys are spelled. What makes one of them fail is no call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Call = tuple[str, str]
"""A tool, and its arguments as JSON in one spelling."""
Reader = Callable[[bytes], Iterator[Any]]
Client = Callable[[list[Any]], Iterator[tuple[Any, Any]]]


def by_the_standard(stream: bytes) -> Iterator[Any]:
    """Lines end with \\n, \\r\\n or \\r, a byte order mark is skipped, an event at the end counts."""
    text = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    data: list[bytes] = []
    for line in [*text.split(b"\n"), b""]:
        if not line and data:
            yield b"\n".join(data)
            data = []
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))


def by_line_feeds(stream: bytes) -> Iterator[Any]:
    """Each line that begins with data is an event."""
    yield from (line[5:].strip() for line in stream.split(b"\n") if line.startswith(b"data:"))


def by_any_line_end(stream: bytes) -> Iterator[Any]:
    """As Python splits texts: at more characters than others."""
    for line in stream.decode("utf-8", "replace").splitlines():
        if line.startswith("data:"):
            yield line[5:].strip().encode()


READERS: tuple[Reader, ...] = (by_the_standard, by_line_feeds, by_any_line_end)


def values_of(reader: Reader, stream: bytes, *, lower: bool = False) -> list[Any]:
    """What a reader makes of a stream. With `lower`, keys count without case."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        return {key.lower() if lower else key: value for key, value in found}

    values = []
    for data in reader(stream):
        try:
            values.append(json.loads(data, object_pairs_hook=pairs))
        except (ValueError, RecursionError):
            continue
    return values


def get(value: Any, *path: Any) -> Any:
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def messages_by_index(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Anthropic: blocks by their number, whatever the order."""
    blocks: dict[Any, list[Any]] = {}
    for value in values:
        index = json.dumps(get(value, "index"))
        match get(value, "type"):
            case "content_block_start":
                blocks[index] = [get(value, "content_block"), ""]
            case "content_block_delta" if index in blocks and isinstance(
                part := get(value, "delta", "partial_json"), str
            ):
                blocks[index][1] += part
            case _:
                pass
        for block in get(value, "message", "content") or get(value, "content") or ():
            blocks[object()] = [block, ""]
    for block, text in blocks.values():
        if get(block, "type") == "tool_use":
            yield get(block, "name"), text or get(block, "input")


def messages_in_order(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Anthropic: one block after the other, without looking at numbers; each is run when it ends."""
    block, text = None, ""
    for value in values:
        match get(value, "type"):
            case "content_block_start":
                block, text = get(value, "content_block"), ""
            case "content_block_delta" if isinstance(part := get(value, "delta", "partial_json"), str):
                text += part
            case "content_block_stop" if get(block, "type") == "tool_use":
                yield get(block, "name"), text or get(block, "input")
            case _:
                pass


def _chat_parts(values: list[Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    for value in values:
        for choice in get(value, "choices") or ():
            for holder in (get(choice, "delta"), get(choice, "message")):
                for part in get(holder, "tool_calls") or ():
                    if isinstance(part, dict):
                        yield get(choice, "index"), part


def _chat(values: list[Any], *, joins_names: bool, by_id: bool) -> Iterator[tuple[Any, Any]]:
    calls: dict[Any, list[str]] = {}
    last: dict[Any, Any] = {}
    for choice, part in _chat_parts(values):
        key: Any = (json.dumps(choice), json.dumps(part.get("index")))
        if by_id:
            last[key] = part.get("id") or last.get(key)
            key = (*key, json.dumps(last[key]))
        held = calls.setdefault(key, ["", ""])
        for kind, field in (("function", "arguments"), ("custom", "input")):
            name, text = get(part, kind, "name"), get(part, kind, field)
            if isinstance(name, str) and name:
                held[0] = held[0] + name if joins_names else name
            if isinstance(text, str):
                held[1] += json.dumps({"input": text}) if kind == "custom" and not held[1] else text
    yield from ((name, text) for name, text in calls.values())


def chat_joining(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Chat: every text that comes in parts is joined."""
    return _chat(values, joins_names=True, by_id=False)


def chat_replacing(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Chat: the last name counts."""
    return _chat(values, joins_names=False, by_id=False)


def chat_by_id(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Chat: another id begins another call."""
    return _chat(values, joins_names=False, by_id=True)


def chat_of_old(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Chat: `function_call`."""
    calls: dict[str, list[str]] = {}
    for value in values:
        for choice in get(value, "choices") or ():
            for holder in (get(choice, "delta"), get(choice, "message")):
                if isinstance(found := get(holder, "function_call"), dict):
                    held = calls.setdefault(json.dumps(get(choice, "index")), ["", ""])
                    for place, field in enumerate(("name", "arguments")):
                        held[place] += found[field] if isinstance(found.get(field), str) else ""
    yield from ((name, text) for name, text in calls.values())


_ITEMS = ("function_call", "custom_tool_call")


def _item(item: Any, text: Any = None) -> Iterator[tuple[Any, Any]]:
    kind = get(item, "type")
    space, name = get(item, "namespace"), get(item, "name")
    if isinstance(space, str) and space and isinstance(name, str):
        name = f"{space}{'__' if space.startswith('mcp__') else '.'}{name}"
    if kind == "function_call":
        yield name, get(item, "arguments") if text is None else text
    elif kind == "custom_tool_call":
        yield name, {"input": get(item, "input") if text is None else text}
    elif kind == "shell_call":
        yield "shell", get(item, "action")
    elif kind == "local_shell_call":
        action = get(item, "action")
        yield "local_shell", {key: part for key, part in action.items() if key != "type"} if action else action


def responses_at_the_end(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Responses: only items that are done."""
    for value in values:
        if get(value, "type") == "response.output_item.done":
            yield from _item(get(value, "item"))


def responses_last(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Responses: only what the answer has as a whole, in any event."""
    for value in values:
        for item in [*(get(value, "response", "output") or ()), *(get(value, "output") or ())]:
            yield from _item(item)


def _responses_parts(values: list[Any], key: str) -> Iterator[tuple[Any, Any]]:
    items: dict[str, list[Any]] = {}
    for value in values:
        kind = get(value, "type")
        if kind == "response.output_item.added":
            item = get(value, "item")
            where = get(item, "id") if key == "item_id" else get(value, key)
            items[json.dumps(where)] = [item, get(item, "arguments") or get(item, "input") or ""]
        elif isinstance(kind, str) and kind.endswith(".delta") and isinstance(part := get(value, "delta"), str):
            held = items.get(json.dumps(get(value, key)))
            if held is not None and isinstance(held[1], str):
                held[1] += part
    for item, text in items.values():
        if text and get(item, "type") in _ITEMS:  # without parts they wait for the end
            yield from _item(item, text)


def responses_by_place(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Responses: parts, joined by the place of their item."""
    return _responses_parts(values, "output_index")


def responses_by_id(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Responses: parts, joined by the id of their item."""
    return _responses_parts(values, "item_id")


def gemini_parts(values: list[Any]) -> Iterator[tuple[Any, Any]]:
    """Gemini: every part, in both spellings."""
    for value in values:
        for one in value if isinstance(value, list) else [value]:
            for candidate in get(one, "candidates") or ():
                for part in get(candidate, "content", "parts") or ():
                    for key in ("functionCall", "function_call", "functioncall"):
                        if isinstance(called := get(part, key), dict):
                            yield called.get("name"), called.get("args") or {}


CLIENTS: dict[str, tuple[Client, ...]] = {
    "anthropic": (messages_by_index, messages_in_order),
    "chat": (chat_joining, chat_replacing, chat_by_id, chat_of_old),
    "responses": (responses_at_the_end, responses_last, responses_by_place, responses_by_id),
    "gemini": (gemini_parts,),
}


def lowered(value: Any) -> Any:
    """A value as readers see it who do not care how keys are spelled."""
    if isinstance(value, dict):
        return {key.lower(): lowered(item) for key, item in value.items()}
    return [lowered(item) for item in value] if isinstance(value, list) else value


def normal(tool: Any, arguments: Any) -> Call | None:
    """A call as it is compared; None if no client would run it."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            return None
    if not isinstance(tool, str) or not tool.strip() or not isinstance(arguments or {}, dict):
        return None
    return tool, json.dumps(arguments or {}, sort_keys=True)


def runs(dialect: str, stream: bytes) -> Iterator[tuple[str, Call]]:
    """Every call that some client would find in a stream, with who finds it."""
    for reader in READERS:
        for lower in (False, True):
            values = values_of(reader, stream, lower=lower)
            for client in CLIENTS[dialect]:
                try:
                    found = list(client(values))
                except (AttributeError, TypeError, KeyError, ValueError, IndexError):
                    continue  # it fails, and runs nothing
                for tool, arguments in found:
                    if (call := normal(tool, arguments)) is not None:
                        yield f"{client.__name__} {reader.__name__} lower={lower}", call
