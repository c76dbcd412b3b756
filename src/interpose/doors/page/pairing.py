"""A browser and a terminal find each other: the page shows a code, a person types it in their terminal.

Nothing is kept for a browser that nobody let in: its code follows from a number in its address and a secret in its
cookie. Both are needed, because each alone can get about: addresses by history and logs, and cookies because a browser
sends them to every port of a host and takes them from every port.

INVARIANT: a code that was typed lets one browser in, once, within two minutes.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from msgspec import Struct

from interpose.doors.http_server.messages import Role

OFFERED_SECONDS = 600
CONFIRMED_SECONDS = 120
MOST_CONFIRMED = 16
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 8


class Confirmed(Struct, frozen=True):
    """Who let a browser in, with which proof or by which token (its digest), and until when it may come."""

    name: str
    role: Role
    proven: str
    until: float
    token: str = ""


class Pairings:
    """Codes of this process. Safe to share by threads."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._key = clock, secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._confirmed: OrderedDict[str, Confirmed] = OrderedDict()

    def offer(self) -> tuple[str, str]:
        """The number for an address, and the secret for a cookie."""
        number = f"{int(self._clock())}-{secrets.token_urlsafe(12)}"
        return f"{number}-{self._mac('number', number)[:24]}", secrets.token_urlsafe(24)

    def code(self, number: str, secret: str) -> str:
        """What the browser shows that has both; empty if it was not offered, or too long ago."""
        begun, _, _ = number.partition("-")
        text, _, mac = number.rpartition("-")
        if not secret or not hmac.compare_digest(self._mac("number", text)[:24].encode(), mac.encode()):
            return ""
        if not 0 <= self._clock() - int(begun) < OFFERED_SECONDS:
            return ""
        digest = int(self._mac("code", number, secret), 16)
        return "".join(_LETTERS[digest >> (5 * place) & 31] for place in range(_LENGTH))

    def confirm(self, code: str, name: str, role: Role, proven: str, token: str = "") -> bool:
        """A person typed a code. False if too many others were typed just now."""
        now = self._clock()
        with self._lock:
            self._forget(now)
            if len(self._confirmed) >= MOST_CONFIRMED:
                return False
            self._confirmed[code] = Confirmed(name, role, proven, now + CONFIRMED_SECONDS, token)
        return True

    def claim(self, code: str) -> Confirmed | None:
        """Who let the browser in that shows this code; once."""
        with self._lock:
            self._forget(self._clock())
            return self._confirmed.pop(code, None)

    def waits(self, code: str) -> bool:
        """Whether no browser came yet that shows a code which was typed."""
        return code in self._confirmed

    def withdraw(self, code: str) -> None:
        """Nobody shall come with this code any more."""
        with self._lock:
            self._confirmed.pop(code, None)

    def _forget(self, now: float) -> None:
        for code in [code for code, found in self._confirmed.items() if found.until <= now]:
            del self._confirmed[code]

    def _mac(self, *words: str) -> str:
        text = "\0".join(words).encode("utf-8", "surrogatepass")
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()
