"""A judge's words as JSON, or none at all."""

from __future__ import annotations

from typing import Any

from interpose.core.formats import strict_json as shared
from interpose.rules.policy.judge.rulings import MisansweredError


def strict_json(text: bytes | str) -> Any:
    """The value of a JSON text. MisansweredError for anything else; the text is never repeated in it."""
    try:
        return shared.decode(text.encode("utf-8") if isinstance(text, str) else text)
    except ValueError:
        raise MisansweredError("the answer is no JSON, or JSON that could mean two things") from None
