"""Taking what a judge quoted out of a result. A judge can only take away: it never writes what the agent reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from interpose.core.errors import text_of


def redacted(result: Any, replacements: Mapping[str, str]) -> Any | None:
    """The result without the quoted texts. None if one of them is not there, or still there in a key or a number."""
    known: dict[str, str] = {}
    for quote, replacement in replacements.items():
        spelling = next((text for text in _spellings(quote) if _has(result, text)), None)
        if spelling is None:
            return None
        known.setdefault(spelling, replacement)
    # Longer quotes first: a quote that begins another one must not leave the rest of it.
    pattern = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True))))
    rest = _without(result, pattern, known)
    return None if _remains(rest, known) else rest


def _spellings(quote: str) -> list[str]:
    """The quote, and the text that it stands for if it was copied from the JSON that the judge was shown."""
    try:
        decoded = json.loads(f'"{quote}"', strict=False)
    except ValueError:
        return [quote]
    return [quote, decoded] if decoded else [quote]


def _has(value: Any, text: str) -> bool:
    if isinstance(value, str):
        return text in value
    if isinstance(value, dict):
        return any(_has(item, text) for item in value.values())
    return isinstance(value, list | tuple) and any(_has(item, text) for item in value)


def _without(value: Any, pattern: re.Pattern[str], known: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(lambda found: known[found[0]], value)
    if isinstance(value, dict):
        return {key: _without(item, pattern, known) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_without(item, pattern, known) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def _remains(rest: Any, known: Mapping[str, str]) -> bool:
    text = json.dumps(rest, ensure_ascii=False, default=text_of)
    return any(json.dumps(quote, ensure_ascii=False)[1:-1] in text for quote in known)
