"""JSON as it must be: one value that every reader understands alike. What could mean two things is refused.

The fast decoder refuses what is no JSON: NaN, bad UTF-8, half surrogate pairs, text after the end. Of two equal keys
it keeps the last, so the value is written again and the colons of both texts are counted: each member has one, and
those inside strings are the same in both as long as nothing is escaped by its number. If there are as many, no member
was dropped. Only otherwise are the keys compared one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from interpose.core.types import MAX_DEPTH

T = TypeVar("T")

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
_SHOWN = 64


class StrictJsonError(ValueError):
    """This is no JSON, or JSON that readers understand in different ways. The text says what and where."""


def decode(text: bytes, max_depth: int = MAX_DEPTH) -> Any:
    """The value of a JSON text in UTF-8, or StrictJsonError."""
    try:
        value = _decode(text)
    except RecursionError:
        raise StrictJsonError(_too_deep(max_depth)) from None
    except UnicodeDecodeError:
        raise StrictJsonError(f"it is not UTF-8{_place(text)}") from None
    except msgspec.MsgspecError as error:
        raise StrictJsonError(_malformed(text, str(error))) from None
    _check((value,), max_depth, max_depth)
    if b"\\u" in text or text.count(b":") != _encode(value).count(b":"):
        try:
            _compare_keys(text.decode())
        except RecursionError:  # what a key like its own hides may be deeper than all that is seen
            raise StrictJsonError(_too_deep(max_depth)) from None
    return value


def decode_as(text: bytes, type: type[T]) -> T:  # noqa: A002 - the word of every decoder
    """The value of a JSON text as a value of `type`, or StrictJsonError."""
    try:
        return msgspec.convert(decode(text), type)
    except msgspec.ValidationError as error:
        raise StrictJsonError(str(error)) from None


def _check(values: Iterable[Any], levels: int, max_depth: int) -> None:
    """Refuse numbers and depths that others can't read."""
    for value in values:
        kind = type(value)
        if kind is str:
            continue
        if kind is dict or kind is list:
            if not levels:
                raise StrictJsonError(_too_deep(max_depth))
            if value:
                _check(value.values() if kind is dict else value, levels - 1, max_depth)
        elif kind is int and not _SMALLEST <= value <= _LARGEST:
            raise StrictJsonError("it has a whole number of more than 64 bits")


def _without_twins(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) == len(dict(pairs)):
        return
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            shown = key if len(key) <= _SHOWN else key[:_SHOWN] + "..."
            raise StrictJsonError(f"the key {shown!r} stands twice in one object")
        seen.add(key)


def _compare_keys(text: str) -> None:
    import json  # few texts are looked at like this

    json.loads(text, object_pairs_hook=_without_twins)


def _malformed(text: bytes, said: str) -> str:
    if text.startswith(b"\xef\xbb\xbf"):
        return "it begins with a byte order mark"
    if not text.strip():
        return "it is empty"
    if b"\\u" in text and ("surrogate" in said or "truncated" in said) and _half_pair(text):
        return "it has half of a surrogate pair, which is no character"
    return f"it is not JSON: {said.removeprefix('JSON is malformed: ')}"


def _half_pair(text: bytes) -> bool:
    import json

    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        pass
    return False


def _place(text: bytes) -> str:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f" at byte {error.start}"
    return ""


def _too_deep(max_depth: int) -> str:
    return f"it is nested deeper than {max_depth} levels"
