"""The texts in a tool's result: reading them, and replacing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from interpose.core.types import MAX_DEPTH


def text_of_result(result: Any) -> str:
    """All texts of a result, one a line."""
    return result if type(result) is str else "\n".join(_texts(result, MAX_DEPTH))


def _texts(value: Any, depth: int) -> Iterator[str]:
    if type(value) is str:
        yield value
    elif depth > 0 and isinstance(value, dict):
        for item in value.values():
            yield from _texts(item, depth - 1)
    elif depth > 0 and isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, depth - 1)
    elif type(value) is bytes:
        yield value.decode("utf-8", "replace")


def replace_texts(value: Any, replace: Callable[[str], str]) -> Any:
    """The value with every text in it replaced, bytes too; the same object where nothing changed."""
    if type(value) is str:
        return replace(value)
    if type(value) is bytes:
        text = value.decode("utf-8", "surrogateescape")
        new = replace(text)
        return value if new == text else new.encode("utf-8", "surrogateescape")
    if isinstance(value, dict):
        changed = {key: replace_texts(item, replace) for key, item in value.items()}
        return value if all(changed[key] is value[key] for key in value) else changed
    if isinstance(value, list | tuple):
        items = [replace_texts(item, replace) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else tuple(items) if isinstance(value, tuple) else items
    return value
