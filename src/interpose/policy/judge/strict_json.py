"""JSON as it must be: one value, no duplicate keys, no numbers that JSON does not have."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from interpose.policy.judge.model import MisansweredError


def strict_json(text: bytes | str) -> Any:
    """The value of a JSON text. MisansweredError for anything else; the text is never repeated in it."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except MisansweredError:
        raise
    except (ValueError, RecursionError):
        raise MisansweredError("the answer is no JSON") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MisansweredError("the answer has a key twice")
    return found


def _constant(_word: str) -> NoReturn:
    raise MisansweredError("the answer has a number that JSON does not have")
