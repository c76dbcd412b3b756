"""What the operators and functions of CEL mean, on Python values. Each raises EvaluationError and nothing else.

Numbers are Python ints, held to 64 bits where they are computed, and floats; a bool is no number. Texts are str: no
text is ever cut, copied or converted for a rule.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import re2  # type: ignore[import-untyped]  # the package has no types
from msgspec import Struct

MAX_SIZE = 1_000_000
"""How large a text or list an expression may build."""

_MAX_INT = 2**63 - 1
_MIN_INT = -(2**63)


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


def _number(value: object) -> bool:
    return type(value) is int or type(value) is float


def _ordered(function: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def apply(one: Any, other: Any) -> bool:
        if (_number(one) and _number(other)) or (
            type(one) is type(other) and isinstance(one, str | bytes | bool | datetime | timedelta)
        ):
            return compare(one, other)
        raise no_overload(function, one, other)

    return apply


def _whole(value: int) -> int:
    if _MIN_INT <= value <= _MAX_INT:
        return value
    raise EvaluationError("a number is beyond 64 bits")


def _bounded(value: Any) -> Any:
    if len(value) > MAX_SIZE:
        raise EvaluationError(f"a value is larger than {MAX_SIZE}")
    return value


def _moment(compute: Callable[[], Any]) -> Any:
    try:
        return compute()
    except OverflowError:
        raise EvaluationError("a time is out of range") from None


def add(one: Any, other: Any) -> Any:
    """`+` on numbers, texts, lists, times and durations."""
    kinds = type(one), type(other)
    if kinds == (int, int):
        return _whole(one + other)
    if kinds == (float, float):
        return one + other
    if kinds in ((str, str), (bytes, bytes)):
        if len(one) + len(other) > MAX_SIZE:
            raise EvaluationError(f"a text is longer than {MAX_SIZE}")
        return one + other
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return _bounded([*one, *other])
    if isinstance(one, timedelta) and isinstance(other, datetime | timedelta):
        return _moment(lambda: other + one)
    if isinstance(one, datetime) and isinstance(other, timedelta):
        return _moment(lambda: one + other)
    raise no_overload("+", one, other)


def _subtract(one: Any, other: Any) -> Any:
    if type(one) is int and type(other) is int:
        return _whole(one - other)
    if type(one) is float and type(other) is float:
        return one - other
    if isinstance(one, datetime) and isinstance(other, datetime | timedelta):
        return _moment(lambda: one - other)
    if isinstance(one, timedelta) and isinstance(other, timedelta):
        return _moment(lambda: one - other)
    raise no_overload("-", one, other)


def _multiply(one: Any, other: Any) -> Any:
    if type(one) is int and type(other) is int:
        return _whole(one * other)
    if type(one) is float and type(other) is float:
        return one * other
    raise no_overload("*", one, other)


def _divide(one: Any, other: Any) -> Any:
    if type(one) is int and type(other) is int:
        if other == 0:
            raise EvaluationError("division by zero")
        return _whole((abs(one) // abs(other)) * (1 if (one < 0) == (other < 0) else -1))
    if type(one) is float and type(other) is float:
        if other == 0.0:
            return math.nan if one == 0.0 or math.isnan(one) else math.copysign(math.inf, one) * math.copysign(1, other)
        return one / other
    raise no_overload("/", one, other)


def _modulo(one: Any, other: Any) -> Any:
    if type(one) is not int or type(other) is not int:
        raise no_overload("%", one, other)
    if other == 0:
        raise EvaluationError("modulus by zero")
    _whole(abs(one) if other == -1 else 0)
    return int(math.copysign(1, one)) * (abs(one) % abs(other))


def _negate(value: Any) -> Any:
    if type(value) is int:
        return _whole(-value)
    if type(value) is float:
        return -value
    raise no_overload("-", value)


def _size(value: Any) -> int:
    if isinstance(value, str | bytes | list | tuple | dict):
        return len(value)
    raise no_overload("size", value)


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


@lru_cache(maxsize=512)
def pattern(text: str) -> Any:
    """A compiled RE2 pattern: linear in time, whatever the text."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options=options)
    except (re2.error, UnicodeError) as error:
        raise EvaluationError(f"{text!r} is no RE2 pattern: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    told = error.args[0] if error.args else ""
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else str(told)


def encoded(text: str) -> bytes:
    """A text as RE2 searches it. Half a surrogate pair is no UTF-8: it is searched as the bytes it would have been."""
    return text.encode("utf-8", "surrogatepass")


def _texts(function: str, apply: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of `count` texts."""

    def checked_one(text: Any) -> Any:
        if type(text) is not str:
            raise no_overload(function, text)
        return apply(text)

    def checked_two(text: Any, other: Any) -> Any:
        if type(text) is not str or type(other) is not str:
            raise no_overload(function, text, other)
        return apply(text, other)

    return checked_one if count == 1 else checked_two


def _matches(text: str, expression: str) -> bool:
    return pattern(expression).search(encoded(text)) is not None


@lru_cache(maxsize=512)
def _glob(expression: str) -> Any:
    """`*` stops at `/`, `**` does not, `?` is one character. The whole text must match."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", expression)
    marks = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return pattern("(?s)^" + "".join(marks.get(part) or re2.escape(part) for part in parts) + "$")


def glob(text: str, expression: str) -> bool:
    """Whether all of `text` fits a glob."""
    return _glob(expression).search(encoded(text)) is not None


def _under(path: str, directory: str) -> bool:
    base = directory.rstrip("/")
    return path == base or path.startswith(base + "/")


def _ascii(function: str, table: dict[int, int]) -> Callable[..., Any]:
    return _texts(function, lambda text: text.translate(table), 1)


_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _replace(text: Any, old: Any, new: Any, limit: Any = -1) -> str:
    if not all(type(part) is str for part in (text, old, new)) or type(limit) is not int:
        raise no_overload("replace", text, old, new)
    times = min(text.count(old), limit) if limit >= 0 else text.count(old)
    if len(text) + times * (len(new) - len(old)) > MAX_SIZE:
        raise EvaluationError(f"a text is longer than {MAX_SIZE}")
    return str(text.replace(old, new, max(limit, -1)))


def _split(text: Any, separator: Any, limit: Any = -1) -> list[str]:
    if type(text) is not str or type(separator) is not str or type(limit) is not int:
        raise no_overload("split", text, separator)
    if limit == 0:
        return []
    if separator == "":
        letters = list(text)
        return letters if limit < 0 or len(letters) <= limit else [*letters[: limit - 1], "".join(letters[limit - 1 :])]
    return text.split(separator, -1 if limit < 0 else limit - 1)


def _join(items: Any, separator: Any = "") -> str:
    if not isinstance(items, list | tuple) or not all(type(item) is str for item in items):
        raise no_overload("join", items)
    if sum(map(len, items)) + len(separator) * len(items) > MAX_SIZE:
        raise EvaluationError(f"a text is longer than {MAX_SIZE}")
    return str(separator.join(items))


def _substring(text: Any, start: Any, end: Any = None) -> str:
    end = len(text) if end is None else end
    if type(text) is not str or type(start) is not int or type(end) is not int:
        raise no_overload("substring", text, start)
    if not 0 <= start <= end <= len(text):
        raise EvaluationError(f"no characters {start} to {end} in a text of {len(text)}")
    return text[start:end]


def _char_at(text: Any, at: Any) -> str:
    if type(text) is not str or type(at) is not int:
        raise no_overload("charAt", text, at)
    if not 0 <= at <= len(text):
        raise EvaluationError(f"no character {at} in a text of {len(text)}")
    return text[at : at + 1]


def _find(function: str, search: Callable[[str, str], int]) -> Callable[..., Any]:
    return _texts(function, search, 2)


def _value(optional: Any) -> Any:
    if not optional.there:
        raise MissingKeyError("an optional value is missing")
    return optional.value


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "_==_": equal,
    "_!=_": lambda one, other: not equal(one, other),
    "_<_": _ordered("<", lambda one, other: one < other),
    "_<=_": _ordered("<=", lambda one, other: one <= other),
    "_>_": _ordered(">", lambda one, other: one > other),
    "_>=_": _ordered(">=", lambda one, other: one >= other),
    "_+_": add,
    "_-_": _subtract,
    "_*_": _multiply,
    "_/_": _divide,
    "_%_": _modulo,
    "-_": _negate,
    "@in": contains_item,
    "_[_]": index,
    "_[?_]": optional_index,
    "_?._": optional_index,
    "optional.of": lambda value: Optional(value, there=True),
    "optional.none": Optional,
    "hasValue": lambda optional: optional.there,
    "value": _value,
    "has": lambda holder, key: isinstance(holder, dict) and contains_item(key, holder),
    "get": get,
    "size": _size,
    "contains": _texts("contains", lambda text, part: part in text, 2),
    "startsWith": _texts("startsWith", str.startswith, 2),
    "endsWith": _texts("endsWith", str.endswith, 2),
    "matches": _texts("matches", _matches, 2),
    "glob": _texts("glob", glob, 2),
    "under": _texts("under", _under, 2),
    "lowerAscii": _ascii("lowerAscii", _LOWER),
    "upperAscii": _ascii("upperAscii", _UPPER),
    "trim": _texts("trim", str.strip, 1),
    "replace": _replace,
    "split": _split,
    "join": _join,
    "substring": _substring,
    "charAt": _char_at,
    "indexOf": _find("indexOf", str.find),
    "lastIndexOf": _find("lastIndexOf", str.rfind),
    "dyn": lambda value: value,
    "type": lambda value: TypeName(type_name(value)),
}
