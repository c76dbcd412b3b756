"""The arguments of a call, one text at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from interpose.core.tools import path_text
from interpose.reading.unknown_tools.argument_names import ArgumentName, argument_name

MOST_VALUES = 5_000
"""How many values of one call are looked at. What has more is a question."""
_MOST_NUMBERS, _LONGEST_NUMBER = 200, 256
_LONGEST_JSON, _LONGEST_NAME = 65_536, 200
DEEPEST_JSON = 3
"""How often a JSON text inside of a JSON text is opened."""


class Leaf(Struct, frozen=True):
    """One text among the arguments: the name that it stands under, and all names above that one."""

    name: ArgumentName
    text: str
    above: tuple[str, ...] = ()
    listed: bool = False
    """Whether it is one of a list."""

    @property
    def proves(self) -> bool:
        """Whether it is there to prove who calls."""
        return self.name.is_credential or any(name.lower() == "headers" for name in self.above)


def leaves_of(arguments: dict[str, Any], said: Mapping[str, str]) -> tuple[Leaf, ...]:
    """Every text among the arguments, those in lists, objects and JSON texts included; numbers and truths as texts.

    INVARIANT: there are more than `MOST_VALUES` of them exactly where some were left out.
    """
    return tuple(islice(_leaves(arguments, (), said, 0), MOST_VALUES + 1))


def _leaves(value: object, above: tuple[str, ...], said: Mapping[str, str], opened: int) -> Iterator[Leaf]:
    pending: list[tuple[object, tuple[str, ...], bool]] = [(value, above, False)]
    numbers = 0
    while pending:
        given, names, listed = pending.pop()
        item = path_text(given)
        if isinstance(item, dict):
            pending.extend((inner, (*names, str(key)[:_LONGEST_NAME]), False) for key, inner in reversed(item.items()))
        elif isinstance(item, list | tuple):
            pending.extend((inner, names, True) for inner in reversed(item))
        elif isinstance(item, str):
            name = names[-1] if names else ""
            yield Leaf(argument_name(name, said.get(name, "")), item, names[:-1], listed)
            if opened < DEEPEST_JSON and (inner := json_object(item)) is not None:
                yield from _leaves(inner, names, said, opened + 1)
        elif isinstance(item, bool | int | float) and numbers < _MOST_NUMBERS:
            numbers += 1
            yield Leaf(argument_name(names[-1] if names else ""), number_text(item).lower(), names[:-1])


def json_object(text: str) -> dict[str, Any] | list[Any] | None:
    """The object or list that a text writes as JSON, or None."""
    if text[:1] not in "{[" or not text or len(text) > _LONGEST_JSON:
        return None
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


def number_text(value: object) -> str:
    """A number or a truth as a text. One of thousands of digits is no number that a tool takes, and slow to write."""
    return "0" if isinstance(value, int) and value.bit_length() > _LONGEST_NUMBER else str(value)
