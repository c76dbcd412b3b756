"""One-time codes: the server shows one on its own terminal, and whoever answers must type it."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable
from time import monotonic

from msgspec import Struct

from interpose.core.errors import NotProvenError
from interpose.people.presence.passphrase import Attempts

LASTS_SECONDS = 300.0
MOST_OPEN = 1000
_LETTERS = "23456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 8


class _Code(Struct, frozen=True):
    text: str
    until: float


class Codes:
    """A code for each question that somebody wants to answer. `show` puts it before the operator's eyes."""

    def __init__(self, show: Callable[[str, str], object], clock: Callable[[], float] = monotonic) -> None:
        self._show, self._clock = show, clock
        self._lock = threading.Lock()
        self._attempts = Attempts(clock)
        self._open: dict[str, _Code] = {}

    def prove(self, question: str, said: str) -> None:
        """Raises NotProvenError unless it is this question's code. A code counts once; one wrong try burns it."""
        with self._lock:
            now = self._clock()
            code = self._open.pop(question, None)
            if said:
                self._attempts.begin()
                if (
                    code is None
                    or code.until <= now
                    or not hmac.compare_digest(
                        code.text.encode(), said.replace("-", "").lower().encode("utf-8", "replace")
                    )
                ):
                    raise NotProvenError(
                        "the code is wrong, was used, or is over; answer without one to be shown a new one",
                        "code_wrong",
                    )
                self._attempts.succeeded()
                return
            if code is None or code.until <= now:
                if len(self._open) >= MOST_OPEN:
                    self._open.clear()
                code = _Code("".join(secrets.choice(_LETTERS) for _ in range(_LENGTH)), now + LASTS_SECONDS)
                self._show(question, f"{code.text[:4]}-{code.text[4:]}")
            self._open[question] = code
        raise NotProvenError(
            f"an answer needs the code for question {question}: the server shows it on its terminal or in its log",
            "code_needed",
        )
