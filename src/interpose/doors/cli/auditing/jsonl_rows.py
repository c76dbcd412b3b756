"""Reading `--jsonl`: one row a line, strictly, and answers that never wait for the next row.

A row that cannot be trusted to mean one thing (bad JSON, a key twice, text that is no UTF-8) is refused, not guessed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from interpose.core.formats import strict_json as strict
from interpose.core.types import MAX_DEPTH

MAX_ROW_BYTES = 16 * 1024 * 1024
_CHUNK = 1 << 16
_AROUND_ARGUMENTS = 1
"""Levels of a row that are not levels of its arguments."""
_OVERSIZED = f"the row is larger than {MAX_ROW_BYTES} bytes"


class Row(Struct, frozen=True):
    """One call to be judged."""

    id: str | int
    tool: str
    args: dict[str, Any]
    cwd: str = ""


class BadRow(Exception):  # noqa: N818 - it is an answer, not a failure of ours
    """A row that was refused: `str` says what was wrong and where, `id` is the row's id as far as it was readable."""

    def __init__(self, reason: str, row_id: object = None) -> None:
        super().__init__(reason)
        self.id = row_id if isinstance(row_id, str | int) and not isinstance(row_id, bool) else None


def lines(read: Callable[[int], bytes], waiting: Callable[[], None]) -> Iterator[bytes | BadRow]:
    """The lines that `read` delivers. `waiting` is called before each read, which may block: answer first."""
    kept = bytearray()
    dropping = False
    while True:
        waiting()
        chunk = read(_CHUNK)
        if not chunk:
            break
        first, newline, rest = chunk.partition(b"\n")
        if not dropping:
            kept += first
            if len(kept) > MAX_ROW_BYTES:
                kept.clear()
                dropping = True
        if not newline:
            continue
        yield BadRow(_OVERSIZED) if dropping else bytes(kept)
        dropping = False
        kept.clear()
        *complete, tail = rest.split(b"\n")
        yield from complete
        kept += tail
    if dropping:
        yield BadRow(_OVERSIZED)
    elif kept:
        yield bytes(kept)


def parsed(line: bytes) -> dict[str, Any]:
    """The object in a line, which has a usable `id`, or `BadRow`."""
    value = strict_json(line)
    if not isinstance(value, dict):
        raise BadRow(f"a row is a JSON object, this is {_kind(value)}")
    row_id = value.get("id")
    if "id" not in value:
        raise BadRow("the key 'id' is missing")
    if isinstance(row_id, bool) or not isinstance(row_id, str | int):
        raise BadRow(f"'id' must be text or a whole number, not {_kind(row_id)}")
    return value


def decode(line: bytes) -> Row:
    """The call in a line, or `BadRow`."""
    value = parsed(line)
    row_id = value["id"]
    tool, args, cwd = value.get("tool", "exec"), value.get("args"), value.get("cwd")
    if not isinstance(tool, str) or not tool:
        raise BadRow(f"'tool' must be a tool's name, not {_kind(tool)}", row_id)
    if not isinstance(args, dict):
        raise BadRow(f"'args' must be an object, not {_kind(args)}" if "args" in value else "'args' is missing", row_id)
    if cwd is not None and not isinstance(cwd, str):
        raise BadRow(f"'cwd' must be text, not {_kind(cwd)}", row_id)
    return Row(row_id, tool, args, cwd or "")


def strict_json(line: bytes) -> object:
    """The JSON value in a text, without anything that could mean two things, or `BadRow`."""
    try:
        return strict.decode(line, MAX_DEPTH + _AROUND_ARGUMENTS)
    except strict.StrictJsonError as error:
        raise BadRow(f"the row can't be read: {error}", _id_of(line)) from None


def _id_of(line: bytes) -> object:
    """The id of a row that is refused for something else, when there is one id and it can be written."""
    ids: list[object] = []
    try:
        json.loads(
            line, object_pairs_hook=lambda pairs: ids.__setitem__(slice(None), [v for k, v in pairs if k == "id"])
        )
    except (ValueError, RecursionError):
        return None
    found = ids[0] if len(ids) == 1 else None
    return found if not isinstance(found, str) or found.isprintable() else None


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text" if value else "empty text"
        case list():
            return "a list"
        case _:
            return "an object"
