"""Results in the tool's own shape: a host that gets another shape keeps the original.

A text that takes the place of a result goes where the result's text was. Numbers become 0 and other texts are emptied,
save those that say what kind of thing this is and those that the agent wrote itself. Names of fields stay if they are
words and no secrets: other keys are what the tool found.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from interpose.core.errors import text_of
from interpose.effects.late_patterns import late
from interpose.reading.secrets import Redactor

_MAIN = (
    "stdout", "llmContent", "text_result_for_llm", "textResultForLlm", "content", "text", "output", "result",
    "returnDisplay", "message", "stderr", "error",
)  # fmt: skip
"""Where tools keep what they say, the likeliest first."""
_KINDS = frozenset({
    "type", "kind", "status", "mode", "role", "mimeType", "mime_type", "media_type", "result_type", "resultType",
})  # fmt: skip
_WORD = late(r"[A-Za-z_][A-Za-z0-9_./+-]{0,39}")

_WITHHELD = "withheld"

Place = tuple[str | int, ...]

_redactor = Redactor()

_encode = msgspec.json.Encoder(enc_hook=text_of).encode


def with_text(shape: Any, text: str, said: frozenset[str] = frozenset()) -> Any:
    """`shape` with nothing in it but this text. `said` are the agent's own words, which may stay."""
    if isinstance(shape, str) or shape is None:
        return text
    place = min(_places(shape, ()), key=_likelihood, default=None)
    return text if place is None and not shape else _filled(shape, (), place, text, said)


def fitted(shape: Any, new: Any, said: frozenset[str] = frozenset()) -> Any:
    """`new` if it has the shape, or else its text in the shape."""
    return new if _alike(shape, new) else with_text(shape, plain_text(new), said)


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a value, but for the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts_in(item)


def plain_text(value: Any) -> str:
    """A result as one text, for hosts that take no other."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for key in ("llmContent", "text_result_for_llm", "textResultForLlm", "content", "text"):
            if isinstance(value.get(key), str | list):
                return plain_text(value[key])
        if isinstance(value.get("stdout"), str):
            return "\n".join(part for part in (value["stdout"], value.get("stderr")) if isinstance(part, str) and part)
    if isinstance(value, list) and value and all(_is_text_part(part) for part in value):
        return "\n".join(plain_text(part) for part in value)
    return _encode(value).decode()


def _is_text_part(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("text"), str))


def _alike(shape: Any, new: Any) -> bool:
    if isinstance(shape, dict):
        return isinstance(new, dict) and shape.keys() == new.keys() and all(_alike(shape[k], new[k]) for k in shape)
    if isinstance(shape, list):
        return isinstance(new, list) and len(new) == len(shape) and all(map(_alike, shape, new))
    return type(shape) is type(new)


def _likelihood(place: Place) -> tuple[int, int]:
    names = [name for name in place if isinstance(name, str)]
    ranks = [_MAIN.index(name) for name in names if name in _MAIN]
    return (min(ranks, default=len(_MAIN)) if not names or names[-1] not in _KINDS else 2 * len(_MAIN), len(place))


def _places(value: Any, at: Place) -> Iterator[Place]:
    if isinstance(value, str):
        yield at
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*at, index))


def _filled(value: Any, at: Place, place: Place | None, text: str, said: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {
            key if _is_plain(key) else _WITHHELD: _filled(item, (*at, key), place, text, said)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_filled(item, (*at, index), place, text, said) for index, item in enumerate(value)]
    if not isinstance(value, str):
        return type(value)(0) if type(value) in (int, float) else value
    if at == place:
        return text
    kind = bool(at) and at[-1] in _KINDS and _is_plain(value)
    return value if kind or value in said else ""


def _is_plain(word: str) -> bool:
    return _WORD.fullmatch(word) is not None and not _redactor.redact(word).found
