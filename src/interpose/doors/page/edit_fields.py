"""The arguments of a call as fields that a person edits, and back.

A text that is seen as what it is becomes a field of text. Everything else is JSON, where every letter can be told from
every other. INVARIANT: a field that nobody touched comes back as the value that it was made from.
"""

from __future__ import annotations

import json
from typing import Any

from interpose.doors.http_server.messages import Refusal
from interpose.doors.page.html import Content, Html, exact, is_plain, tag
from interpose.doors.page.page_visits import Visit
from interpose.people.approvals.questions import Question

MOST_ARGUMENTS = 100
_LONGEST_NAME = 80


def editable(question: Question) -> dict[str, Any] | None:
    """The arguments that can be edited; None if they can't be: too long to be shown whole, or no arguments at all."""
    arguments = question.arguments
    return arguments if isinstance(arguments, dict) and 0 < len(arguments) <= MOST_ARGUMENTS else None


def edit_fields(arguments: dict[str, Any], typed: Visit | None = None) -> list[Content]:
    """One field for each argument. `typed` is what somebody tried already."""
    return [_field(at, name, value, typed) for at, (name, value) in enumerate(arguments.items())]


def edited(visit: Visit, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as they were edited. Refusal names the field that can't be read."""
    return {name: _read(visit.field(f"a{at}"), name, value) for at, (name, value) in enumerate(arguments.items())}


def _field(at: int, name: str, value: object, typed: Visit | None) -> Html:
    as_text = _is_text(value)
    text = value if isinstance(value, str) and as_text else _json(value)
    if typed is not None:
        text = _lines(typed.field(f"a{at}"))
    rows = min(12, max(1 + text.count("\n"), len(text) // 40 + 1))
    # A browser drops the first line break of such a field, so there is one more.
    inside = exact(f"\n{text}")
    label = [name[:_LONGEST_NAME], "" if as_text else tag("small", " (JSON)")]
    return tag(
        "label", label, tag("textarea", inside, name=f"a{at}", rows=rows, spellcheck="false", autocapitalize="off")
    )


def _read(text: str, name: str, value: object) -> Any:
    text = _lines(text)
    if _is_text(value):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Refusal(400, "invalid_edit", f"{name[:_LONGEST_NAME]}: this is no JSON") from None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and is_plain(value)


def _json(value: object) -> str:
    """Every letter that is not seen as what it is, is spelled out."""
    return json.dumps(value, indent=1 if isinstance(value, dict | list) else None)


def _lines(text: str) -> str:
    """Browsers send line breaks as two letters."""
    return text.replace("\r\n", "\n")
