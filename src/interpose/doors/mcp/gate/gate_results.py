"""Results on their way to the client: how the pipeline sees them, and how what it says of them goes back into them.

The pipeline sees the whole result as it came, with two differences. Base64 that holds text is shown as that text.
Base64 of a picture, a sound or an archive is shown as its size: searching that for secrets would only damage it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpose.core.formats import base64_parts
from interpose.core.formats.base64_parts import HeldPart, OpenedValue, Place, closed
from interpose.doors.hooks.hosts.result_shapes import plain_text
from interpose.doors.mcp.gate.contract import Asked
from interpose.doors.mcp.gate.gate_schema import MOST_STEPS, SchemaSteps, misfit

_PARTS = frozenset({"content", "contents", "messages", "task", "completion"})
"""One of these makes a result what it is."""
_STATE = "requestState"
_MOST_CHANGES = 64
NOT_STRUCTURED = (
    "Interpose hid secrets in this result. What is left does not fit the tool's output schema, so the structured part "
    "is left out."
)


def opened(result: Mapping[str, Any]) -> OpenedValue:
    """A result with its base64 opened."""
    found = base64_parts.opened(dict(result), _kind_of)
    if result.get("resultType") == "input_required" and isinstance(state := result.get(_STATE), str):
        part = HeldPart(state, f"[{len(state)} letters of the server's own state]")
        return OpenedValue(found.value | {_STATE: part.shown}, {**found.held, (_STATE,): part})
    return found


def _kind_of(part: Mapping[str, Any], key: str) -> str | None:
    if key != "blob" and (key != "data" or part.get("type") not in ("image", "audio")):
        return None
    mime = part.get("mimeType")
    return mime if isinstance(mime, str) else "data"


def rewritten(
    asked: Asked, result: Mapping[str, Any], shown: OpenedValue, new: Any, *, is_error: bool
) -> Mapping[str, Any]:
    """The result that the client gets when the pipeline has changed it: in the shape that MCP knows."""
    value = closed(shown, new)
    if not isinstance(value, dict) or not result.keys() & _PARTS <= value.keys():
        return text_result(asked, plain_text(value), is_error=is_error)
    if is_task(value) and isinstance(inner := value.get("result"), dict):
        came = result.get("result")
        return value | {"result": _fitted(asked, came if isinstance(came, Mapping) else {}, inner)}
    return _fitted(asked, result, value)


def _fitted(asked: Asked, result: Mapping[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    if "structuredContent" not in value:
        return value
    fitted = fit(asked.definition.get("outputSchema"), result.get("structuredContent"), value["structuredContent"])
    if fitted is not None:
        return value | {"structuredContent": fitted[0]}
    # A tool with an output schema must give what fits it, unless it failed. So this is said to have failed.
    content = value.get("content")
    told = [{"type": "text", "text": NOT_STRUCTURED}, *(content if isinstance(content, list) else ())]
    kept = {key: item for key, item in value.items() if key != "structuredContent"}
    return kept | {"content": told, "isError": True}


def fit(schema: object, came: Any, new: Any) -> tuple[Any] | None:
    """A value that was changed, so that it fits its schema as far as it did; None if it can't be made to.

    A hidden value that does not fit becomes a shorter mark, is left out where it may be, or null where that is allowed.
    """
    if not isinstance(schema, Mapping) or not misfit(schema, new):
        return (new,)
    if misfit(schema, came):
        return (new,)  # it never did
    places, steps = list(_changes(came, new, ())), SchemaSteps(MOST_STEPS)
    if len(places) > _MOST_CHANGES:
        return None
    for place in places:
        if not misfit(schema, new, steps):
            break
        new = _fitted_at(schema, came, new, place, steps)
    return None if misfit(schema, new) else (new,)


_MARKS = ("[redacted]", "redacted", "***", "")


def _fitted_at(schema: Mapping[str, Any], came: Any, new: Any, place: Place, steps: SchemaSteps) -> Any:
    """Try other values at one place, with everything else as it came: what fits there is taken."""
    for candidate in (_at(new, place), *_MARKS, None, _LEFT_OUT):
        if not misfit(schema, _with(came, place, candidate), steps):
            return _with(new, place, candidate)
    return new


_LEFT_OUT: Any = object()


def _changes(came: Any, new: Any, at: Place) -> Any:
    if isinstance(came, dict) and isinstance(new, dict) and came.keys() == new.keys():
        for key in came:
            yield from _changes(came[key], new[key], (*at, key))
    elif isinstance(came, list) and isinstance(new, list) and len(came) == len(new):
        for place, (old, item) in enumerate(zip(came, new, strict=True)):
            yield from _changes(old, item, (*at, place))
    elif came is not new and came != new:
        yield at


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value


def _with(value: Any, place: Place, new: Any) -> Any:
    if not place:
        return None if new is _LEFT_OUT else new
    key, rest = place[0], place[1:]
    if isinstance(value, dict):
        if not rest and new is _LEFT_OUT:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: _with(value[key], rest, new)}
    if not rest and new is _LEFT_OUT:
        return value  # an item that is left out would move the others
    assert isinstance(key, int)  # noqa: S101 - places are made by `_changes`
    return [*value[:key], _with(value[key], rest, new), *value[key + 1 :]]


def text_result(asked: Asked, text: str, *, is_error: bool) -> dict[str, Any]:
    """A result that is nothing but a text, in the shape that this request has."""
    part = {"type": "text", "text": text}
    match asked.method:
        case "prompts/get":
            result: dict[str, Any] = {"messages": [{"role": "user", "content": part}]}
        case "resources/read":
            result = {"contents": [{"uri": asked.name, "mimeType": "text/plain", "text": text}]}
        case "completion/complete":
            result = {"completion": {"values": []}}  # nobody reads a reason there
        case _:
            result = {"content": [part], "isError": is_error}
    return result | {"resultType": "complete"} if asked.client.era == "modern" else result


def with_word(asked: Asked, result: Mapping[str, Any], word: str) -> Mapping[str, Any]:
    """The result of a tool, and beside it what a person said to the agent."""
    content = result.get("content")
    if not word or asked.method != "tools/call" or not isinstance(content, list):
        return result
    return {**result, "content": [*content, {"type": "text", "text": f"Interpose: {word}"}]}


def is_task(result: Mapping[str, Any]) -> bool:
    """Whether this is about a task, whose result comes later, or came, or may be asked for again."""
    return isinstance(result.get("task"), Mapping) or "taskId" in result


def asks_back(result: Mapping[str, Any]) -> bool:
    """Whether the server asks something before it gives its result."""
    return result.get("resultType") == "input_required"


_TASK = (
    "taskId",
    "status",
    "createdAt",
    "lastUpdatedAt",
    "ttl",
    "ttlMs",
    "pollInterval",
    "pollIntervalMs",
    "resultType",
)
_LONGEST_FACT = 200


def withheld(asked: Asked, text: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in the place of a result. That there is a task, and how it stands, is still said."""
    instead = text_result(asked, text, is_error=True)
    if "taskId" not in result:
        return instead
    facts = {key: result[key] for key in _TASK if _is_fact(result.get(key))}
    return facts | ({"result": instead} if "result" in result else {"statusMessage": text})


def _is_fact(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= _LONGEST_FACT)
