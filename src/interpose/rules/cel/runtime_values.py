"""The values that expressions work on: their types, when they are equal, and what is in them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

MAX_SIZE = 1_000_000
"""How large a text or list an expression may build."""


class EvaluationError(Exception):
    """An expression that has no value for this call."""


class MissingKeyError(EvaluationError):
    """A key, a field or an element that is not there."""


class Optional(Struct, frozen=True):
    """A value that may be missing: `args.?path`."""

    value: Any = None
    there: bool = False


class TypeName(Struct, frozen=True):
    """What `type(x)` gives."""

    name: str


def type_name(value: object) -> str:
    """What CEL calls the type of a value."""
    match value:
        case None:
            return "null_type"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "double"
        case str():
            return "string"
        case bytes():
            return "bytes"
        case dict():
            return "map"
        case list() | tuple():
            return "list"
        case datetime():
            return "google.protobuf.Timestamp"
        case timedelta():
            return "google.protobuf.Duration"
        case TypeName():
            return "type"
        case Optional():
            return "optional_type"
        case _:
            return "dyn"


def no_overload(function: str, *args: object) -> EvaluationError:
    """The error of a function that does not take these values."""
    return EvaluationError(f"{function} does not take ({', '.join(map(type_name, args))})")


def equal(one: Any, other: Any) -> bool:
    """CEL's `==`: values of different types differ, numbers compare by value, a bool is no number."""
    if type(one) is str and type(other) is str:
        return one == other
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(key in other and equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, Optional) and isinstance(other, Optional):
        return one.there == other.there and equal(one.value, other.value)
    try:
        return bool(one == other)
    except Exception as error:  # noqa: BLE001 - values of an embedding program's own classes may compare badly
        raise EvaluationError(f"the values can't be compared: {type(error).__name__}") from None


def contains_item(item: Any, among: Any) -> bool:
    """`item in among`."""
    if isinstance(among, dict):
        if type(item) is str or type(item) is int or type(item) is float:
            return item in among
        if type(item) is bool:
            return any(key is item for key in among)  # True is 1 to a dict, and not to CEL
        raise no_overload("in", item, among)
    if isinstance(among, list | tuple):
        return any(equal(item, known) for known in among)
    raise no_overload("in", item, among)


def index(holder: Any, key: Any) -> Any:
    """`holder[key]`."""
    if isinstance(holder, dict):
        if type(key) is float and key.is_integer():
            key = int(key)
        if contains_item(key, holder):
            return holder[key]
        raise MissingKeyError(f"no such key: {key!r}"[:200])
    if isinstance(holder, list | tuple):
        if type(key) is float and key.is_integer():
            key = int(key)
        if type(key) is int:
            if 0 <= key < len(holder):
                return holder[key]
            raise MissingKeyError(f"no element {key} in a list of {len(holder)}")
    raise no_overload("[]", holder, key)


def optional_index(holder: Any, key: Any) -> Optional:
    """`holder[?key]` and `holder.?key`."""
    if isinstance(holder, Optional):
        if not holder.there:
            return holder
        holder = holder.value
    try:
        return Optional(index(holder, key), there=True)
    except MissingKeyError:
        return Optional()


def get(holder: Any, key: Any, default: Any) -> Any:
    """`get(map, key, default)`: never an error. What is no map has no keys."""
    return holder[key] if isinstance(holder, dict) and contains_item(key, holder) else default


def plain(value: Any) -> Any:
    """A value that an argument may have: what JSON has. Raises EvaluationError for a time, bytes or a type."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    raise EvaluationError(f"an argument can't be of type {type_name(value)}")
