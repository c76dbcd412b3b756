"""`builtin:input-limits`: how large may the arguments of a call be?"""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct

from interpose.core.types import Allow, Deny, ToolCall
from interpose.rules.guards.json_text import compact_json

_ALLOW = Allow()
_LONGEST_ESCAPE = len("\\u0000")
_ESTIMATED_FROM = 4 * 1024 * 1024
"""A longer text is far too large for any limit below its length: it is not encoded only to name the exact size."""


class InputLimits(Struct, frozen=True):
    """Refuses calls whose arguments, as compact JSON in UTF-8, have more than `max_bytes` bytes.

    Limits: only the size is judged, never the content. What the call makes a tool fetch or produce is not counted.
    """

    id: ClassVar[str] = "builtin:input-limits"
    priority: ClassVar[int] = 95
    guard: ClassVar[bool] = True

    max_bytes: int

    def __post_init__(self) -> None:
        given: object = self.max_bytes
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            raise ValueError(f"InputLimits needs a number of bytes of at least 0, not {given!r}")

    def intercept(self, call: ToolCall) -> Allow | Deny:
        """Exactly `max_bytes` is allowed, one more is not. What cannot be measured is refused."""
        if self._is_surely_small(call.arguments):
            return _ALLOW
        for value in call.arguments.values():
            if type(value) is str and len(value) > _ESTIMATED_FROM and len(value) > self.max_bytes:
                return self._too_large(call, len(value), "more than ")
        try:
            size = len(compact_json(call.arguments))
        except ValueError as error:
            return Deny(f"Cannot measure the input of tool '{call.original_name}': {error}", rule="input-limits")
        return _ALLOW if size <= self.max_bytes else self._too_large(call, size)

    def _is_surely_small(self, arguments: dict[str, Any]) -> bool:
        """Whether texts alone are too short for the limit, however they are escaped. Spares most calls the encoding."""
        most = 2
        for name, value in arguments.items():
            if type(value) is not str or type(name) is not str:
                return False
            most += _LONGEST_ESCAPE * (len(name) + len(value)) + len('"":"",')
        return most <= self.max_bytes

    def _too_large(self, call: ToolCall, size: int, about: str = "") -> Deny:
        limit = self.max_bytes
        over = f"{(size - limit) * 100 // limit}%" if limit else "N/A"
        return Deny(
            f"Input too large for tool '{call.original_name}': "
            f"{about}{size} bytes (max: {limit} bytes, {over} over limit)",
            rule="input-limits",
        )


InputSanitizer = InputLimits
"""What Gemicro calls it."""
