"""What a server says beside its results: how far it is, lines of its log, questions, tasks, the data of its errors.

No rule decides about it, and the ledger has none of it. But a client shows it to the model as it shows a result, so
secrets and hidden text are taken out of it as they are out of results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interpose.core.formats.nested_values import NestedWalk
from interpose.reading.secrets import Redactor

MOST_LETTERS = 64 * 1024
"""Of one such saying. It is looked at where others wait for it, so nobody gets more."""


def aside(redactor: Redactor, said: Mapping[str, Any]) -> dict[str, Any] | None:
    """It as a client may have it; None if it may have nothing of it."""
    clean, _ = redactor.redact_value(dict(said))
    seen = _Visible().replaced(clean)
    return seen if isinstance(seen, dict) else None


class _Visible(NestedWalk):
    def text(self, text: str, _name: str) -> str:
        if text.isascii() and "\x1b" not in text:
            return text
        from interpose.core.formats.unseen_text import without_unseen  # as the guard of results: few texts need it

        return without_unseen(text)[0]

    def withhold(self, _value: Any, _kind: str) -> Any:
        return None
