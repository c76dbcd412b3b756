"""What the API document can't say: JSON that is right by its schema and refused by a strict reader."""

from __future__ import annotations

from typing import Any

import schemathesis


def readable(value: Any) -> bool:
    """Whether every whole number is written without a point and has at most 64 bits: readers differ in the others."""
    match value:
        case dict():
            return all(map(readable, value.values()))
        case list():
            return all(map(readable, value))
        case bool():
            return True
        case int():
            return -(2**63) <= value < 2**64
        case float():
            return not value.is_integer()
        case _:
            return True


_YES = {
    "scope",
    "uses",
    "until",
    "kind",
    "sessions",
    "arguments",
    "comment",
    "passphrase",
    "code",
    "ids",
    "answer",
    "reason",
}
"""The fields of a yes."""


@schemathesis.hook
def filter_body(_context: object, body: Any) -> bool:
    # Whether a time lies ahead, whether a question came out of a session, what it can be widened to and what it can be
    # edited to can't be said in a schema either.
    answers = isinstance(body, dict) and body.keys() <= _YES
    depends = answers and (body.get("scope") in ("until", "session", "kind") or "arguments" in body or "until" in body)
    return readable(body) and not depends
