"""The wire log: everything in and out but secrets, for debugging. On when INTERPOSE_LOUD_WIRE is set, to stderr."""

from __future__ import annotations

import os
import sys
from itertools import count
from typing import Any, TextIO

from interpose.core.errors import text_of
from interpose.core.formats.plain_text import plain
from interpose.core.types import ToolCall, ToolOutcome

VARIABLE = "INTERPOSE_LOUD_WIRE"


class WireLog:
    """Writes calls and outcomes. A call and its outcome have the same number, also when many are under way."""

    def __init__(self, *, enabled: bool, stream: TextIO | None = None) -> None:
        self._enabled, self._stream = enabled, stream
        self._count = count(1)
        self._open: dict[str, int] = {}

    @staticmethod
    def from_environment() -> WireLog:
        """Enabled if the variable is set to anything."""
        return WireLog(enabled=VARIABLE in os.environ)

    def call(self, call: ToolCall) -> None:
        """A call comes in."""
        if self._enabled:
            number = self._open[call.call_id] = next(self._count)
            self._write(number, f">>> {call.name}", call.arguments)

    def outcome(self, outcome: ToolOutcome) -> None:
        """An answer goes out."""
        if self._enabled:
            number = self._open.pop(outcome.call.call_id, 0)
            word = "BLOCKED" if outcome.denied else "ERROR" if outcome.is_error else "OK"
            self._write(number, f"<<< {word} {outcome.call.name}", outcome.result)

    def _write(self, number: int, head: str, body: Any) -> None:
        import json
        from datetime import UTC, datetime

        from interpose.reading.secrets import Redactor

        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        try:
            hidden, _ = Redactor().redact_value(body)
            # Once more as text: what is neither a mapping nor a sequence is text only now.
            text = Redactor().redact(json.dumps(hidden, indent=2, ensure_ascii=True, default=text_of)).text
        except BaseException as error:  # noqa: BLE001 - a log for debugging must not change what happens
            text = f"({text_of(error)})"
        try:
            print(f"[LOUD_WIRE] {stamp} [TOOL#{number}] {plain(head)}\n{text}", file=self._stream or sys.stderr)
        except Exception:  # noqa: BLE001, S110 - as above: a closed or full stream
            pass
