"""Redaction of a stream: what comes in is given out again as soon as no secret can still be growing at its end."""

from __future__ import annotations

from interpose.reading.secrets.patterns import pattern
from interpose.reading.secrets.recognised import Recognised
from interpose.reading.secrets.redact import FoundSecret, Redactor

BLOCK = 256 * 1024
"""As much is searched at once when input is plentiful."""
MAX_HELD = 4 * 1024 * 1024
"""A line or a key that is longer is cut, so that no input can make us keep it all."""
_CONTEXT = 8 * 1024
_KNOWN = 256
"""Values that are hidden wherever else they come. A stream may have no end, so the oldest are forgotten."""

# What may go on in the next line: a private key, wrapped base64, a continued command. Each reaches to the end.
_GROWING = (
    (
        r"-{4,5} ?BEGIN [0-9A-Z ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:\s*[A-Za-z-]+: [^\n]*\n)*"
        r"(?:[\s0-9A-Za-z+/=>#*|:\xe2\x86\x92]|\n-)*\z"
    ),
    r"Private-Lines: [0-9]+[\s0-9A-Za-z+/=]*\z",
    r"(?:\A|\n)(?:[ \t]*[0-9A-Za-z+/_-]{40,}={0,2}[ \t]*\r?\n)+\z",
    r"(?:\A|\n)(?:[^\n]*\\\r?\n)+\z",
)
_LONGEST_GROWTH = 64 * 1024
_SMALL = 4 * 1024
_GROWTH_SHARE = 8
"""What grows and is not small is looked at again when an eighth more of it came."""
_TOKEN_END = b" \t,;\"'<>(){}[]"


class StreamRedactor:
    """Takes parts of a stream and gives out what is finished."""

    def __init__(self, redactor: Redactor, known: Recognised | None = None) -> None:
        self._redactor, self._known = redactor, Recognised() if known is None else known
        self._held = bytearray()
        self._line_ended, self._look_at = False, 0
        self._context = b""
        self.found: list[FoundSecret] = []

    def feed(self, data: bytes, *, hurry: bool) -> bytes:
        """What can be given out now. `hurry` says that no more input waits, so finished lines should not, either."""
        self._held += data
        self._line_ended = self._line_ended or b"\n" in data
        if not self._worth_a_look(hurry=hurry):
            return b""
        given = self._take(self._safe_end())
        # Something grows: it is looked at again when there is notably more of it, or small parts would cost squares.
        self._line_ended, self._look_at = False, 0 if given else len(self._held) + len(self._held) // _GROWTH_SHARE
        return given

    def close(self) -> bytes:
        """The rest."""
        return self._take(len(self._held))

    def _worth_a_look(self, *, hurry: bool) -> bool:
        """Whether something can have been finished since the last look."""
        held = len(self._held)
        if held > MAX_HELD:
            return True
        return self._line_ended and (held >= BLOCK or hurry) and (held <= _SMALL or held >= self._look_at)

    def _safe_end(self) -> int:
        held = bytes(self._held)
        end = held.rfind(b"\n") + 1
        safe = min(_start_of_growth(held[:end], growing) for growing in _GROWING) if end else 0
        if safe or len(held) <= MAX_HELD:
            return safe
        return max(held.rfind(bytes([char]), MAX_HELD // 2) for char in _TOKEN_END) + 1 or len(held)

    def _take(self, end: int) -> bytes:
        """Hide the secrets up to there, seen together with what went out just before."""
        if not end:
            return b""
        before, data = self._context, bytes(self._held[:end])
        del self._held[:end]
        self._context = (before + data)[-_CONTEXT:]
        clean, found = self._redactor.redact_after(before, data, self._known)
        self._known.forget_oldest(_KNOWN)
        self.found += found
        return clean


def _start_of_growth(lines: bytes, growing: str) -> int:
    """The line in which something begins that may not have ended yet; the end if there is none."""
    first = max(0, len(lines) - _LONGEST_GROWTH)
    match = next(pattern(growing).matches(lines, first), None)
    if match is None:
        return len(lines)
    start = match.span()[0]
    return start + 1 if lines[start : start + 1] == b"\n" else lines.rfind(b"\n", 0, start) + 1
