"""Values of a model's API, read so that no other reader of the same bytes can find something else in them.

INVARIANT: what two readers could understand in two ways is not passed on. A key that stands twice is one way, a key in
another spelling is the other: some languages take `Tool_Calls` for `tool_calls`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from interpose.core.formats import strict_json
from interpose.core.formats.strict_json import StrictJsonError


class DoubtfulError(ValueError):
    """This can't be passed on: nobody can say what the other side would find in it. The text says why, for people."""


_WATCHED = (
    "type", "index", "id", "name", "input", "arguments", "args", "function", "custom", "namespace", "caller",
    # answers, whole and in events
    "message", "content", "content_block", "delta", "partial_json", "stop_reason", "choices", "finish_reason",
    "tool_calls", "function_call", "functionCall", "candidates", "parts", "response", "output", "item", "output_index",
    "item_id", "call_id", "action", "operation", "server_label", "error",
    # requests
    "messages", "role", "tool_use_id", "tool_call_id", "contents", "functionResponse", "function_response",
    "previous_response_id", "conversation", "is_error",
)  # fmt: skip


@lru_cache(maxsize=4096)
def plain_key(key: str) -> str:
    """A key without case, underscores and hyphens, as two keys are compared."""
    return key.lower().replace("_", "").replace("-", "") if len(key) <= 200 else key


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


_SPELLINGS: dict[str, set[str]] = {}
"""Both ways to write two words are in use; each API keeps to one, and is read in that alone."""
for _name in _WATCHED:
    _SPELLINGS.setdefault(plain_key(_name), set()).update((_name, _camel(_name)))


def value_of(text: bytes) -> Any:
    """The value of a JSON text. Raises DoubtfulError."""
    try:
        return strict_json.decode(text)
    except StrictJsonError as error:
        raise DoubtfulError(f"it can't be read without doubt: {error}") from None


def object_in(value: object, what: str) -> dict[str, Any]:
    """An object whose keys can be read in one way. Raises DoubtfulError."""
    if not isinstance(value, dict):
        raise DoubtfulError(f"{what} is no object")
    seen: set[str] = set()
    for key in value:
        plain = plain_key(key)
        if plain in seen or key not in _SPELLINGS.get(plain, (key,)):
            raise DoubtfulError(f"{what} has the key {key[:60]!r} in a spelling that could be taken for another")
        seen.add(plain)
    return value


def objects_in(value: object, what: str) -> list[dict[str, Any]]:
    """A list of such objects; none if there is nothing. Raises DoubtfulError."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise DoubtfulError(f"{what} is no list")
    return [object_in(item, f"an item of {what}") for item in value]


def number_in(value: object, what: str) -> int:
    """A whole number. Raises DoubtfulError."""
    if type(value) is not int:
        raise DoubtfulError(f"{what} is no number")
    return value


def text_in(value: object) -> str:
    """A text; empty if it is none."""
    return value if isinstance(value, str) else ""
