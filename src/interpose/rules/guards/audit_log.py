"""`builtin:audit-log`: one line for each call and one for how it ended, in a log of one's choice.

    Tool invoked: exec with input: {"command":"ls -la"} [call 4f1c]
    Tool completed: exec -> total 12 [call 4f1c, 3.1 ms]

Both lines carry the call's own id, so nothing has to be remembered between them: many calls under way are told apart,
and a call whose end never comes leaves nothing behind.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from interpose.core.errors import text_of
from interpose.core.formats.plain_text import one_line
from interpose.core.types import Allow, ToolCall, ToolOutcome
from interpose.rules.guards.json_text import compact_json

if TYPE_CHECKING:
    from interpose.reading.secrets import Redactor  # its patterns are compiled when the first line is written

PREVIEW = 100
"""Characters of an input or a result that are shown."""
_REDACTED = 8192
"""Characters that are redacted before they are cut: a secret that begins in the preview must be seen to its end."""

Redact = Callable[[str], str]

_ALLOW = Allow()


class AuditLog:
    """Logs calls and outcomes, those of failed and denied calls included. Never decides.

    Register it with a negative priority: observers see every call, blocked ones too, as it would really run.
    Limits: previews only; the ledger keeps everything. What the redactor does not know is logged as it is.
    """

    id = "builtin:audit-log"
    priority = -10
    logs_denials = True

    def __init__(
        self, *, logger: logging.Logger | None = None, level: int | str = logging.INFO, redact: Redact | None = None
    ) -> None:
        """`level` is for what goes well, failures and denials are warnings. `redact` replaces the built-in one."""
        number = level if isinstance(level, int) else logging.getLevelNamesMapping().get(level.upper())
        if number is None:
            raise ValueError(f"AuditLog needs a level of `logging`, not {level!r}")
        given: object = redact
        if given is not None and not callable(given):
            raise ValueError(f"AuditLog needs a function from text to text as `redact`, not {given!r}")
        self._logger = logger or logging.getLogger("interpose.audit")
        self._level = number
        self._redact = redact or _without_secrets

    @property
    def logger(self) -> logging.Logger:
        """Where it writes."""
        return self._logger

    @property
    def level(self) -> int:
        """The level of what goes well."""
        return self._level

    def __repr__(self) -> str:
        return f"AuditLog(logger={self._logger.name!r}, level={logging.getLevelName(self._level)!r})"

    def intercept(self, call: ToolCall) -> Allow:
        """Says what was called."""
        if self._logger.isEnabledFor(self._level):
            shown = _ShownArguments(call.arguments, self._preview)
            text = "Tool invoked: %s with input: %s [call %s]"
            self._say(self._level, call, "invoked", text, printable(call.name), shown, printable(call.call_id))
        return _ALLOW

    def observe(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Says how it ended."""
        word = "denied" if outcome.denied else "failed" if outcome.is_error else "completed"
        level = self._level if word == "completed" else max(self._level, logging.WARNING)
        if self._logger.isEnabledFor(level):
            shown, took = self._preview(outcome.result), outcome.duration_ns / 1e6
            text = "Tool %s: %s -> %s [call %s, %.1f ms]"
            self._say(level, call, word, text, word, printable(call.name), shown, printable(call.call_id), took)

    def _say(self, level: int, call: ToolCall, outcome: str, text: str, *values: object) -> None:
        # Not `logger.log`: it walks the stack for a place in the code that would be this one in every line.
        logger, context = self._logger, call.context
        record = logger.makeRecord(logger.name, level, __file__, 0, text, values, None)
        vars(record).update(
            tool=call.name, call_id=call.call_id, session_id=context.session_id, agent_id=context.agent_id,
            outcome=outcome,
        )  # fmt: skip
        logger.handle(record)

    def _preview(self, value: object) -> str:
        try:
            text = value if type(value) is str else compact_json(value, text_of).decode("utf-8")
            return printable(self._redact(text[:_REDACTED]))
        except Exception as error:  # noqa: BLE001 - a redactor of one's own may raise anything
            return f"(not shown: {printable(text_of(error))})"


class _ShownArguments:
    """Arguments that are rendered when a handler writes them. They are frozen: later is the same as now."""

    __slots__ = ("_arguments", "_preview")

    def __init__(self, arguments: dict[str, Any], preview: Callable[[object], str]) -> None:
        self._arguments, self._preview = arguments, preview

    def __str__(self) -> str:
        cut = {key: value[:_REDACTED] if type(value) is str else value for key, value in self._arguments.items()}
        return self._preview(cut)

    __repr__ = __str__


def _without_secrets(text: str) -> str:
    return _redactor().redact(text).text


@cache
def _redactor() -> Redactor:
    from interpose.reading.secrets import Redactor

    return Redactor()


def printable(text: str) -> str:
    """At most PREVIEW characters, then `...`. No character of it can start a line or move a cursor."""
    shown = one_line(text[: PREVIEW + 1])
    return shown if len(shown) <= PREVIEW else f"{shown[:PREVIEW]}..."
