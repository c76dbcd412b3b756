"""Answers as JSON, for programs."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


def encoded(answer: Any) -> bytes:
    """An answer as JSON. A command can spell characters that are none (`$'\\ud800'`); these are shown escaped."""
    try:
        return _encode(answer)
    except UnicodeEncodeError:
        return _encode(_writable(msgspec.to_builtins(answer)))


def print_json(data: Any) -> None:
    """Print an answer for programs that people may look at."""
    sys.stdout.buffer.write(msgspec.json.format(encoded(data), indent=2) + b"\n")


def _writable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_writable(key): _writable(item) for key, item in value.items()}
        case list() | tuple():
            return [_writable(item) for item in value]
        case _:
            return value
