"""What changed in a definition, in lines that a person can read: hidden characters are spelled out."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from interpose.record.pins.definitions import item_of
from interpose.record.pins.hidden_text import spelled_out

_FIRST = ("name", "title", "description", "instructions", "command", "url", "inputSchema", "arguments")
"""What is read first. The rest follows by name."""
_LONGEST = 400
MOST_LINES = 2000


def lines_of(text: str) -> list[str]:
    """A definition in lines: `inputSchema.properties.path.type: string`."""
    found: list[str] = []
    for line in _lines(item_of(text), ""):
        if len(found) == MOST_LINES:
            found.append("… (more lines than are shown)")
            break
        found.append(line)
    return found


def difference(before: str, after: str) -> list[str]:
    """The lines of a unified difference, without its head."""
    compared = difflib.unified_diff(lines_of(before), lines_of(after), lineterm="", n=1)
    return [line for number, line in enumerate(compared) if number > 1 and not line.startswith("@@")]


def _lines(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name in sorted(value, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)):
            yield from _lines(value[name], f"{at}.{spelled_out(name)}" if at else spelled_out(name))
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for number, each in enumerate(value):
            yield from _lines(each, f"{at}[{number}]")
    elif isinstance(value, str):
        first, *rest = spelled_out(value).split("\n")
        yield from _cut(f"{at}: {first}")
        for line in rest:
            yield from _cut(f"{at}| {line}")
    else:
        yield from _cut(f"{at}: {spelled_out(json.dumps(value, ensure_ascii=False))}")


def _cut(line: str) -> Iterator[str]:
    """Nothing is left out: a long line goes on in the next one, or an order could stand at its end."""
    yield line[:_LONGEST]
    for start in range(_LONGEST, len(line), _LONGEST):
        yield f"    {line[start : start + _LONGEST]}"
