"""Payloads of events: bare (`{name, arguments}`, `{content}`) or whole messages (`{method, params}`, `{result}`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from interpose.core.errors import InvalidCallError
from interpose.core.types import same, thaw
from interpose.doors.mcp.gate.gate_calls import CALL, PROMPT, RESOURCE
from interpose.rules.interceptor_protocol.descriptors import EventPhase

COMPLETION = "llm/completion"
EVENTS = (CALL, PROMPT, RESOURCE, COMPLETION)
_MOST_PLACES = 50


class Enclosed(Struct, frozen=True):
    """What is judged, and what it came in."""

    params: Mapping[str, Any]
    key: str = ""
    """Under which it stands in the payload; empty if it is the payload."""
    request: Mapping[str, Any] | None = None
    """Of a result: the request that it answers, if it came along."""

    def place(self, inner: str) -> str:
        """The path of something inside, as it is in the payload."""
        return ".".join(part for part in (self.key, inner) if part)

    def around(self, new: dict[str, Any], payload: Any) -> Any:
        """The payload with something new in the place of what was judged."""
        return thaw(payload) | {self.key: new} if self.key else new


def enclosed(event: str, phase: EventPhase, payload: object) -> Enclosed:
    """What is to be judged in a payload. Raises InvalidCallError."""
    if not isinstance(payload, dict):
        raise InvalidCallError(f"{event}: the payload must be an object")
    key = "params" if phase == "request" else "result"
    inner = payload.get(key)
    if phase == "request" and (not isinstance(inner, dict) or payload.get("method", event) != event):
        if "method" in payload and "name" not in payload:
            raise InvalidCallError(f"{event}: the payload is a message of another method, or has no params")
        return Enclosed(payload)
    if phase == "response" and not isinstance(inner, dict):
        return Enclosed(payload)
    assert isinstance(inner, dict)  # noqa: S101 - both cases above
    request = payload.get("params") if isinstance(payload.get("params"), dict) else payload
    named = isinstance(request, dict) and any(isinstance(request.get(word), str) for word in ("name", "uri"))
    return Enclosed(inner, key, request if phase == "response" and named else None)


def changed_places(at: str, old: Any, new: Any) -> tuple[dict[str, Any], ...]:
    """What would have to be where, so that it may pass."""
    places: list[dict[str, Any]] = []
    for path, value in _changes(at, old, new):
        places.append({"path": path, "value": thaw(value)})
        if len(places) >= _MOST_PLACES:
            break
    return tuple(places)


def _changes(at: str, old: Any, new: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        for key in old:
            yield from _changes(f"{at}.{key}", old[key], new[key])
    elif not same(old, new):
        yield at, new


class Completion(Struct, frozen=True):
    """The newest message of a request to a model."""

    params: Mapping[str, Any]
    text: str
    place: str = ""
    at: tuple[Any, ...] = ()
    """Where its text stands."""

    @property
    def model(self) -> str:
        """Which model is asked."""
        model = self.params.get("model")
        return model if isinstance(model, str) else ""

    def with_text(self, text: str) -> dict[str, Any]:
        """The request with another text there."""
        params: dict[str, Any] = thaw(dict(self.params))
        *path, last = self.at
        found: Any = params
        for step in path:
            found = found[step]
        found[last] = text
        return params


def completion_of(params: Mapping[str, Any]) -> Completion:
    """The text that a model is about to get. Raises InvalidCallError.

    `messages` with texts or with parts of `text`, or one `prompt`.
    """
    if isinstance(prompt := params.get("prompt"), str):
        return Completion(params, prompt, "prompt", ("prompt",))
    messages = params.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidCallError(f"{COMPLETION}: the payload has neither messages nor a prompt")
    at = len(messages) - 1
    content = messages[at].get("content") if isinstance(messages[at], dict) else None
    place: tuple[Any, ...] = ("messages", at, "content")
    if isinstance(content, dict):
        content, place = [content], (*place, None)
    if isinstance(content, list):
        texts = [
            (number, part) for number, part in enumerate(content)
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        ]  # fmt: skip
        if len(texts) != 1:
            raise InvalidCallError(f"{COMPLETION}: the last message has {len(texts)} texts, and one can be judged")
        number, part = texts[0]
        steps = (*place[:3], "text") if place[-1] is None else (*place, number, "text")
        return Completion(params, part["text"], _path(steps), steps)
    if not isinstance(content, str):
        raise InvalidCallError(f"{COMPLETION}: the last message has no text")
    return Completion(params, content, _path(place), place)


def _path(steps: tuple[Any, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")
