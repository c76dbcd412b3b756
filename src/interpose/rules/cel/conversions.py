"""CEL's conversions between types, and what it reads from times. Each raises EvaluationError and nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from interpose.effects.late_patterns import late
from interpose.rules.cel.runtime_values import EvaluationError, no_overload

_MAX_INT = 2**63 - 1
_WHOLE = late(r"\s*[-+]?[0-9]{1,19}\s*", re.ASCII)
_PART = late(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|us|ns|m|s)", re.ASCII)
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_OFFSET = late(r"([-+]?)([0-9]{1,2}):([0-9]{2})", re.ASCII)
_TIME = late(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[-+][0-9]{2}:[0-9]{2})")
_BOOLS = {
    "true": True, "True": True, "TRUE": True, "t": True, "1": True,
    "false": False, "False": False, "FALSE": False, "f": False, "0": False,
}  # fmt: skip


def _int(value: Any) -> int:
    if isinstance(value, datetime):
        value = math.floor(value.timestamp())
    readable = type(value) is int or (type(value) is float and math.isfinite(value))
    if not readable and not (type(value) is str and _WHOLE.fullmatch(value)):
        raise _unreadable("int", value)
    number = int(value)
    if not -_MAX_INT - 1 <= number <= _MAX_INT:
        raise EvaluationError("a number is beyond 64 bits")
    return number


def _double(value: Any) -> float:
    if type(value) is int or type(value) is float:
        return float(value)
    if type(value) is str and "_" not in value:
        try:
            return float(value)
        except ValueError:
            pass
    raise _unreadable("double", value)


def _string(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
        case float():
            return _shortest(value)
        case bytes():
            try:
                return value.decode("utf-8")
            except UnicodeDecodeError:
                raise EvaluationError("the bytes are no UTF-8 text") from None
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case timedelta():
            return f"{_shortest(value.total_seconds())}s"
        case _:
            raise no_overload("string", value)


def _shortest(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _bool(value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is str and value in _BOOLS:
        return _BOOLS[value]
    raise _unreadable("bool", value)


def _bytes(value: Any) -> bytes:
    if type(value) is str:
        return value.encode("utf-8", "surrogatepass")
    if type(value) is bytes:
        return value
    raise no_overload("bytes", value)


def _duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if type(value) is not str:
        raise no_overload("duration", value)
    text = value.lstrip("+-")
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text or len(value) - len(text) > 1:
        raise _unreadable("duration", value)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    try:
        return timedelta(seconds=-seconds if value.startswith("-") else seconds)
    except OverflowError:
        raise EvaluationError("a time is out of range") from None


def _timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        if type(value) is int:
            return datetime.fromtimestamp(value, UTC)
        if type(value) is str and _TIME.fullmatch(value):
            return datetime.fromisoformat(value)
    except (ValueError, OverflowError, OSError):
        pass
    raise _unreadable("timestamp", value)


def _unreadable(function: str, value: object) -> EvaluationError:
    if type(value) is str:
        return EvaluationError(f"{function}() can't read {value[:60]!r}")
    return no_overload(function, value)


def _zone(name: str) -> Any:
    offset = _OFFSET.fullmatch(name)
    if offset:
        minutes = int(offset[2]) * 60 + int(offset[3])
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # few rules ask for one, and it takes long to load

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name[:60]!r}") from None


def _from_time(
    function: str, read: Callable[[datetime], int], of_duration: Callable[[float], int] | None = None
) -> Callable[..., int]:
    def apply(value: Any, zone: Any = "UTC") -> int:
        if isinstance(value, datetime) and type(zone) is str:
            return read(value.astimezone(_zone(zone)))
        if isinstance(value, timedelta) and of_duration is not None:
            return of_duration(value.total_seconds())
        raise no_overload(function, value)

    return apply


CONVERSIONS: Mapping[str, Callable[..., Any]] = {
    "int": _int,
    "double": _double,
    "string": _string,
    "bool": _bool,
    "bytes": _bytes,
    "duration": _duration,
    "timestamp": _timestamp,
    "getFullYear": _from_time("getFullYear", lambda time: time.year),
    "getMonth": _from_time("getMonth", lambda time: time.month - 1),
    "getDate": _from_time("getDate", lambda time: time.day),
    "getDayOfMonth": _from_time("getDayOfMonth", lambda time: time.day - 1),
    "getDayOfWeek": _from_time("getDayOfWeek", lambda time: time.isoweekday() % 7),
    "getDayOfYear": _from_time("getDayOfYear", lambda time: time.timetuple().tm_yday - 1),
    "getHours": _from_time("getHours", lambda time: time.hour, lambda seconds: int(seconds / 3600)),
    "getMinutes": _from_time("getMinutes", lambda time: time.minute, lambda seconds: int(seconds / 60)),
    "getSeconds": _from_time("getSeconds", lambda time: time.second, int),
    "getMilliseconds": _from_time(
        "getMilliseconds", lambda time: time.microsecond // 1000, lambda seconds: int(seconds * 1000) % 1000
    ),
}
