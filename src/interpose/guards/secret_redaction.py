"""`builtin:secret-redaction`: results reach the agent without secrets, in the shape that the tool gave them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.secrets import FoundSecret, Redactor
from interpose.types import Allow, ToolOutcome, Transform

if TYPE_CHECKING:
    from interpose.secrets.stream import StreamRedactor

ID = "builtin:secret-redaction"
RULE = "secret-redaction"


class SecretRedaction:
    """Replaces secrets in results by `[redacted:<kind>:<digest>]`.

    Limits: it sees text, bytes, mappings, sequences, dataclasses, pydantic models and what a generator or an open file
    gives piece by piece; an object of another type passes as it is. A secret without a
    telling shape, name or place (a bare password in prose), one cut into several strings, and one inside an archive, an
    image or encrypted data are not found.
    """

    id = ID

    def __init__(self, key: bytes | None = None) -> None:
        self._redactor = Redactor(key)

    def intercept(self, outcome: ToolOutcome) -> Allow | Transform[ToolOutcome]:
        """The result without secrets."""
        if outcome.denied:
            return Allow()
        result, found = self._redactor.redact_value(outcome.result)
        if not found:
            return Allow()
        return Transform(replace(outcome, result=result), reason=_said(found), rule=RULE)

    def text_filter(self) -> StreamRedactor:
        """For a result that comes piece by piece: a secret may begin in one piece and end in another."""
        from interpose.secrets.stream import StreamRedactor

        return StreamRedactor(self._redactor)


def _said(found: tuple[FoundSecret, ...]) -> str:
    counts = Counter(one.kind for one in found)
    kinds = ", ".join(kind if count == 1 else f"{kind} ({count})" for kind, count in sorted(counts.items()))
    return f"hid {len(found)} secret{'s' if len(found) > 1 else ''}: {kinds}"
