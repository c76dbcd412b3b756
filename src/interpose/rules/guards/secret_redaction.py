"""`builtin:secret-redaction`: results reach the agent without secrets, in the shape that the tool gave them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from interpose.core.types import Allow, ToolCall, ToolOutcome, Transform
from interpose.reading.secrets import Redactor
from interpose.reading.secrets.session_memory import SessionMemories

if TYPE_CHECKING:
    from interpose.reading.secrets.recognised import Recognised
    from interpose.reading.secrets.stream import StreamRedactor

ID = "builtin:secret-redaction"
RULE = "secret-redaction"


class SecretRedaction:
    """Replaces secrets in results by `[redacted:<kind>:<digest>]`.

    What the call's own arguments, another part of the result or an earlier result of the session told is hidden too.
    Limits: it sees text, bytes, mappings, sequences, dataclasses, pydantic models and what iterators and open files
    give piece by piece; an object of another type passes as it is. A secret without a
    telling shape, name or place (a bare password in prose), one cut into several strings, and one inside an archive, an
    image or encrypted data are not found.
    """

    id = ID
    priority = 90
    point = "tool.after"

    def __init__(self, key: bytes | None = None) -> None:
        self._redactor, self._sessions = Redactor(key), SessionMemories(key)

    def __repr__(self) -> str:
        return "SecretRedaction()"

    def intercept(self, outcome: ToolOutcome) -> Allow | Transform[ToolOutcome]:
        """The result without secrets."""
        if outcome.denied:
            return Allow()
        known = self._known_before(outcome.call)
        result, found = self._redactor.redact_value(outcome.result, known)
        self._sessions.remember(outcome.call.context.session_id, known.values)
        if not found:
            return Allow()
        return Transform(replace(outcome, result=result), reason=_said(Counter(one.kind for one in found)), rule=RULE)

    def text_filter(self, call: ToolCall) -> SecretFilter:
        """For a result that comes piece by piece: a secret may begin in one piece and end in another."""
        from interpose.reading.secrets.stream import StreamRedactor

        known, session = self._known_before(call), call.context.session_id
        return SecretFilter(
            StreamRedactor(self._redactor, known), lambda: self._sessions.remember(session, known.values)
        )

    def _known_before(self, call: ToolCall) -> Recognised:
        """What the session has seen, and what the call's arguments tell."""
        known = self._sessions.recognised(call.context.session_id)
        if call.arguments:
            self._redactor.learn(call.arguments, known)
        return known


class SecretFilter:
    """Hides secrets in text as it passes, and counts them: a stream may have no end."""

    def __init__(self, redactor: StreamRedactor, remember: Callable[[], None]) -> None:
        self._redactor, self._remember = redactor, remember
        self._counts: Counter[str] = Counter()

    def feed(self, data: bytes, *, hurry: bool) -> bytes:
        """What can be given out now."""
        return self._counted(self._redactor.feed(data, hurry=hurry))

    def close(self) -> bytes:
        """The rest."""
        return self._counted(self._redactor.close())

    def said(self) -> tuple[str, str]:
        """The rule, and what it hid so far; empty if that is nothing."""
        return (RULE, _said(self._counts)) if self._counts else ("", "")

    def _counted(self, data: bytes) -> bytes:
        if self._redactor.found:
            self._remember()
        self._counts.update(one.kind for one in self._redactor.found)
        self._redactor.found.clear()
        return data


def _said(counts: Counter[str]) -> str:
    kinds = ", ".join(kind if count == 1 else f"{kind} ({count})" for kind, count in sorted(counts.items()))
    return f"hid {counts.total()} secret{'s' if counts.total() > 1 else ''}: {kinds}"
