"""What the operators and functions of CEL mean, on Python values. Each raises EvaluationError and nothing else.

Numbers are Python ints, held to 64 bits where they are computed, and floats; a bool is no number. Texts are str: no
text is ever cut, copied or converted for a rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from interpose.rules.cel.runtime_values import (
    MAX_SIZE,
    EvaluationError,
    MissingKeyError,
    Optional,
    TypeName,
    contains_item,
    equal,
    get,
    index,
    no_overload,
    optional_index,
    type_name,
)
from interpose.rules.cel.text_functions import TEXT_FUNCTIONS

_MAX_INT = 2**63 - 1
_MIN_INT = -(2**63)


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
    **TEXT_FUNCTIONS,
    "dyn": lambda value: value,
    "type": lambda value: TypeName(type_name(value)),
}
